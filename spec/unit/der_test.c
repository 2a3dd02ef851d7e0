/* SPDX-License-Identifier: Apache-2.0 */
/* DER and PEM: what is read, what is refused, and that what we write is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "proxy/der.h"
#include "proxy/der_write.h"
#include "proxy/pem.h"

/* clang-format off */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BYTES(text) __LINE__, (const unsigned char *)(text), sizeof(text) - 1

struct row {
	int line;
	const unsigned char *bytes;
	size_t size;
	int64_t want; /* BAD: refused */
};

#define BAD INT64_MIN

static const struct row times[] = {
	{ BYTES("\x17\x0d" "700101000000Z"), 0 },
	{ BYTES("\x17\x0d" "691231235959Z"), -1 },
	{ BYTES("\x17\x0d" "500101000000Z"), -631152000 },
	{ BYTES("\x17\x0d" "491231235959Z"), 2524607999 },
	{ BYTES("\x17\x0d" "000229120000Z"), 951825600 },
	{ BYTES("\x18\x0f" "20500101000000Z"), 2524608000 },
	{ BYTES("\x18\x0f" "99991231235959Z"), 253402300799 },
	{ BYTES("\x18\x0f" "00000101000000Z"), -62167219200 },
	{ BYTES("\x18\x0f" "00000301000000Z"), -62162035200 },
	{ BYTES("\x18\x0f" "21000228235959Z"), 4107542399 },
	{ BYTES("\x18\x0f" "21000229000000Z"), BAD },
	{ BYTES("\x17\x0d" "230229000000Z"), BAD },
	{ BYTES("\x17\x0d" "231301000000Z"), BAD },
	{ BYTES("\x17\x0d" "230001000000Z"), BAD },
	{ BYTES("\x17\x0d" "230100000000Z"), BAD },
	{ BYTES("\x17\x0d" "230132000000Z"), BAD },
	{ BYTES("\x17\x0d" "230101240000Z"), BAD },
	{ BYTES("\x17\x0d" "230101006000Z"), BAD },
	{ BYTES("\x17\x0d" "230101000060Z"), BAD },
	{ BYTES("\x17\x0b" "2301010000Z"), BAD },
	{ BYTES("\x17\x11" "230101000000+0100"), BAD },
	{ BYTES("\x18\x12" "20500101000000.00Z"), BAD },
	{ BYTES("\x17\x0d" "23010100000 Z"), BAD },
	{ BYTES("\x17\x0d" "230101000000"), BAD },
	{ BYTES("\x16\x0d" "230101000000Z"), BAD },
};

/* The size of the value of an element that ends where the bytes end. */
static const struct row elements[] = {
	{ BYTES("\x04\x00"), 0 },
	{ BYTES("\x04\x01x"), 1 },
	{ BYTES("\x04\x02x"), BAD },
	{ BYTES("\x04\x80x\0\0"), BAD },       /* indefinite */
	{ BYTES("\x04\x81\x01x"), BAD },       /* not the shortest */
	{ BYTES("\x04\x82\x00\x80x"), BAD },
	{ BYTES("\x04\x84\x00\x00\x00\x01x"), BAD },
	{ BYTES("\x04\x84\xff\xff\xff\xff"), BAD },
	{ BYTES("\x04\x83\xff\xff\xff"), BAD },
	{ BYTES("\x04\xff"), BAD },
	{ BYTES("\x1f\x01x"), BAD },           /* a tag of more bytes */
	{ BYTES("\x04"), BAD },
	{ BYTES(""), BAD },
};

static const struct row numbers[] = {
	{ BYTES("\x02\x01\x00"), 0 },
	{ BYTES("\x02\x01\x7f"), 127 },
	{ BYTES("\x02\x02\x00\x80"), 128 },
	{ BYTES("\x02\x04\x7f\xff\xff\xff"), 2147483647 },
	{ BYTES("\x02\x05\x00\x80\x00\x00\x00"), BAD },
	{ BYTES("\x02\x01\x80"), BAD },        /* negative */
	{ BYTES("\x02\x02\x00\x7f"), BAD },    /* a zero too many */
	{ BYTES("\x02\x00"), BAD },
};

static const struct row flags[] = {
	{ BYTES("\x03\x02\x07\x80"), 1 },
	{ BYTES("\x03\x02\x01\x06"), 1 << 5 | 1 << 6 },
	{ BYTES("\x03\x03\x07\x00\x80"), 1 << 8 },
	{ BYTES("\x03\x01\x00"), 0 },
	{ BYTES("\x03\x01\x01"), BAD },
	{ BYTES("\x03\x02\x08\x00"), BAD },
	{ BYTES("\x03\x02\x01\x07"), BAD },    /* an unused bit is set */
	{ BYTES("\x03\x00"), BAD },
};

/* Bodies of PEM, and the size that they have; -1 where they are refused. */
static const struct { int line; const char *body; int want; } bodies[] = {
	{ __LINE__, "", -1 }, { __LINE__, "Q", -1 }, { __LINE__, "QQ", -1 },
	{ __LINE__, "QQ=", -1 }, { __LINE__, "QQ==", 1 }, { __LINE__, "QQ===", -1 },
	{ __LINE__, "QUI=", 2 }, { __LINE__, "QUJD", 3 }, { __LINE__, "QUJD=", -1 },
	{ __LINE__, "QU\r\nJD\n", 3 }, { __LINE__, " QQ = =\n", 1 },
	{ __LINE__, "QQ==QQ==", -1 }, { __LINE__, "Q*==", -1 },
	{ __LINE__, "QU-_", -1 }, { __LINE__, "QUJ\xff", -1 },
};

/* clang-format on */

static void check_rows(const struct row *rows, size_t count,
		       int64_t (*read)(struct der *from))
{
	for (size_t i = 0; i < count; i++) {
		struct der from = { rows[i].bytes, rows[i].size };
		int64_t got = read(&from);

		if (got != rows[i].want)
			fail_msg("line %d: %lld", rows[i].line, (long long)got);
		if (got != BAD && from.size)
			fail_msg("line %d: not all was taken", rows[i].line);
	}
}

static int64_t read_time(struct der *from)
{
	int64_t value;

	return der_time(from, &value) ? value : BAD;
}

static int64_t read_element(struct der *from)
{
	struct der value;
	unsigned int tag;

	return der_any(from, &tag, &value) ? (int64_t)value.size : BAD;
}

static int64_t read_number(struct der *from)
{
	uint32_t value;

	return der_small(from, &value) ? value : BAD;
}

static int64_t read_flags(struct der *from)
{
	uint32_t value;

	return der_flags(from, &value) ? value : BAD;
}

static void test_rows(void **state)
{
	(void)state;
	check_rows(times, COUNT(times), read_time);
	check_rows(elements, COUNT(elements), read_element);
	check_rows(numbers, COUNT(numbers), read_number);
	check_rows(flags, COUNT(flags), read_flags);
}

static void test_written_times_are_read(void **state)
{
	unsigned char memory[32];

	(void)state;
	/* 1950 to 2120 in steps that meet all days and hours. */
	for (int64_t time = -631152000; time < 4733510400; time += 86399 * 3) {
		struct der_out out = { memory, memory + sizeof(memory), false };
		int64_t found;
		struct der from;

		der_put_time(&out, time);
		assert_false(out.failed);
		from = (struct der){ out.at, (size_t)(memory + sizeof(memory) -
						      out.at) };
		assert_int_equal(from.data[0], time < 2524608000 ? 0x17 : 0x18);
		assert_true(der_time(&from, &found));
		assert_true(found == time);
	}
}

/* Each length's first form, and memory that is a byte short. */
static void test_written_lengths_are_read(void **state)
{
	static const size_t sizes[] = {
		0, 1, 127, 128, 255, 256, 65535, 65536
	};
	static unsigned char memory[70000], content[65536];

	(void)state;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		unsigned char *end = memory + sizeof(memory);
		struct der_out out = { memory, end, false };
		struct der from, value;

		der_put_all(&out, DER_OCTETS, content, sizes[i]);
		from = (struct der){ out.at, (size_t)(end - out.at) };
		assert_true(der_take(&from, DER_OCTETS, &value));
		assert_int_equal(value.size, sizes[i]);
		out = (struct der_out){ out.at + 1, end, false };
		der_put_all(&out, DER_OCTETS, content, sizes[i]);
		assert_true(out.failed);
	}
}

static void test_pem_bodies(void **state)
{
	unsigned char bytes[64];
	size_t size;

	(void)state;
	for (size_t i = 0; i < COUNT(bodies); i++) {
		bool good =
			pem_decode(proxy_text_of(bodies[i].body), bytes, &size);

		if ((good ? (int)size : -1) != bodies[i].want)
			fail_msg("line %d", bodies[i].line);
		if (good)
			assert_memory_equal(bytes, "ABC", size);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_written_times_are_read),
		cmocka_unit_test(test_written_lengths_are_read),
		cmocka_unit_test(test_pem_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
