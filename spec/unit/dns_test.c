/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages, byte by byte, and the table of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "proxy/dns.h"
#include "proxy/names.h"

/* Header: id, flags, counts of question, answer, authority, additional. */
#define HEAD(flags, q, an, ns, ar) \
	"\x12\x34" flags "\0" q "\0" an "\0" ns "\0" ar
#define PLAIN HEAD("\1\0", "\1", "\0", "\0", "\0")
#define WITH_OPT HEAD("\1\0", "\1", "\0", "\0", "\1")
#define NAME "\1A\4tEst\0"
#define A "\0\1\0\1"
#define OPT "\0\0\51\4\xd0\0\0\0\0\0\0"

struct row {
	int line;
	int code;
	const char *bytes;
	size_t size;
	const char *name;
};
#define ROW(code, bytes, name)                                 \
	{                                                      \
		__LINE__, code, bytes, sizeof(bytes) - 1, name \
	}

static void test_read(void **state)
{
	static const struct row rows[] = {
		ROW(DNS_OK, PLAIN NAME A, "a.test"),
		ROW(DNS_OK, PLAIN "\0" A, ""),
		ROW(DNS_OK, WITH_OPT NAME A OPT, "a.test"),
		ROW(DNS_OK, WITH_OPT NAME A "\0\0\51\4\xd0\0\0\0\0\0\2xy",
		    "a.test"),
		ROW(-1, "", NULL),
		ROW(-1, "\x12\x34\1\0\0\1\0\0\0\0\0", NULL),
		ROW(-1, HEAD("\x81\0", "\1", "\0", "\0", "\0") NAME A, NULL),
		ROW(DNS_NOT_KNOWN,
		    HEAD("\x29\0", "\1", "\0", "\0", "\0") NAME A, NULL),
		ROW(DNS_BAD_FORMAT, HEAD("\3\0", "\1", "\0", "\0", "\0") NAME A,
		    NULL),
		ROW(DNS_BAD_FORMAT, HEAD("\1\0", "\0", "\0", "\0", "\0"), NULL),
		ROW(DNS_BAD_FORMAT,
		    HEAD("\1\0", "\2", "\0", "\0", "\0") NAME A NAME A, NULL),
		ROW(DNS_BAD_FORMAT, HEAD("\1\0", "\1", "\1", "\0", "\0") NAME A,
		    NULL),
		ROW(DNS_BAD_FORMAT, HEAD("\1\0", "\1", "\0", "\1", "\0") NAME A,
		    NULL),
		ROW(DNS_BAD_FORMAT, PLAIN, NULL),
		ROW(DNS_BAD_FORMAT, PLAIN "\1a", NULL),
		ROW(DNS_BAD_FORMAT, PLAIN "\5a", NULL),
		ROW(DNS_BAD_FORMAT, PLAIN NAME "\0\1\0", NULL),
		ROW(DNS_BAD_FORMAT, PLAIN NAME A "x", NULL),
		ROW(DNS_BAD_FORMAT, PLAIN "\xc0\x0c" A, NULL),
		ROW(DNS_BAD_FORMAT,
		    PLAIN "\x40"
			  "a\0" A,
		    NULL),
		ROW(DNS_BAD_FORMAT, WITH_OPT NAME A, NULL),
		ROW(DNS_BAD_FORMAT, WITH_OPT NAME A OPT "x", NULL),
		ROW(DNS_BAD_FORMAT,
		    WITH_OPT NAME A "\1a\0\0\51\4\xd0\0\0\0\0\0\0", NULL),
		ROW(DNS_BAD_FORMAT,
		    HEAD("\1\0", "\1", "\0", "\0", "\2") NAME A OPT OPT, NULL),
		ROW(DNS_BAD_VERSION,
		    WITH_OPT NAME A "\0\0\51\4\xd0\0\1\0\0\0\0", "a.test"),
		ROW(DNS_REFUSED, PLAIN NAME "\0\1\0\3", "a.test"),
		ROW(DNS_REFUSED, PLAIN NAME "\0\xff\0\1", "a.test"),
		ROW(DNS_REFUSED, PLAIN NAME "\0\xfc\0\1", "a.test"),
		ROW(DNS_OK, PLAIN NAME "\1\1\0\1", "a.test"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dns_query query;
		int code = dns_read(&query, (const uint8_t *)rows[i].bytes,
				    rows[i].size);

		if (code != rows[i].code ||
		    (rows[i].name && strcmp(query.name, rows[i].name) != 0))
			fail_msg("row of line %d: %d \"%s\"", rows[i].line,
				 code, query.name);
	}
}

static void test_names_that_are_no_hosts(void **state)
{
	static const struct row rows[] = {
		ROW(true, PLAIN "\3a-_\0" A, "a-_"),
		ROW(false, PLAIN "\3a.b\0" A, "a.b"),
		ROW(false, PLAIN "\3a b\0" A, "a b"),
		ROW(false, PLAIN "\1\xff\0" A, "\xff"),
		ROW(false, PLAIN "\2\0a\1b\0" A, NULL),
		ROW(false, PLAIN "\1[\0" A, "["),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct dns_query query;

		assert_int_equal(
			DNS_OK, dns_read(&query, (const uint8_t *)rows[i].bytes,
					 rows[i].size));
		assert_int_equal(rows[i].code, query.plain);
	}
}

/* A name of @total bytes on the wire, labels of 63 and what is left. */
static size_t long_query(uint8_t *out, size_t total)
{
	size_t at = 12;

	memcpy(out, PLAIN, 12);
	for (total--; total;) {
		size_t label = total > 64 ? 63 : total - 1;

		/* No empty label: the last two share. */
		if (total - 1 - label == 1)
			label--;
		out[at++] = (uint8_t)label;
		memset(out + at, 'x', label);
		at += label;
		total -= label + 1;
	}
	out[at++] = 0;
	memcpy(out + at, A, 4);
	return at + 4;
}

static void test_long_names(void **state)
{
	uint8_t bytes[400];
	struct dns_query query;

	(void)state;
	assert_int_equal(DNS_OK,
			 dns_read(&query, bytes, long_query(bytes, 255)));
	assert_int_equal(253, strlen(query.name));
	assert_int_equal(DNS_BAD_FORMAT,
			 dns_read(&query, bytes, long_query(bytes, 256)));
	assert_int_equal(DNS_BAD_FORMAT,
			 dns_read(&query, bytes, long_query(bytes, 300)));
}

static void test_every_cut_is_refused(void **state)
{
	static const char whole[] = WITH_OPT NAME A OPT;
	struct dns_query query;

	(void)state;
	for (size_t size = 12; size < sizeof(whole) - 1; size++)
		assert_int_equal(
			DNS_BAD_FORMAT,
			dns_read(&query, (const uint8_t *)whole, size));
}

static void check_answer(const char *query_bytes, size_t query_size,
			 struct dns_answer with, const char *wanted,
			 size_t wanted_size)
{
	uint8_t out[DNS_ANSWER_MAX];
	struct dns_query query;
	int code = dns_read(&query, (const uint8_t *)query_bytes, query_size);
	size_t size;

	assert_true(code >= 0);
	size = dns_write(out, &query, &with);
	assert_int_equal(wanted_size, size);
	assert_memory_equal(wanted, out, size);
}
#define ANSWER(query, wanted, ...)                               \
	check_answer(query, sizeof(query) - 1,                   \
		     (struct dns_answer){ __VA_ARGS__ }, wanted, \
		     sizeof(wanted) - 1)

static void test_answers(void **state)
{
	(void)state;
	ANSWER(PLAIN NAME A,
	       "\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME A
	       "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\1\0",
	       .address = { 198, 18, 1, 0 }, .address_size = 4);
	ANSWER(PLAIN NAME A,
	       "\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME A
	       "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10\xfd\0\0\0\0\0\0\0\0\0\0\0\0"
	       "\0\1\0",
	       .address = { [0] = 0xfd, [14] = 1 }, .address_size = 16);
	ANSWER(PLAIN NAME A,
	       "\x12\x34\x81\x80\0\1\0\1\0\0\0\0" NAME A
	       "\xc0\x0c\0\x0c\0\1\0\0\0\x3c\0\5\1b\1c\0",
	       .pointer = "b.c");
	ANSWER(PLAIN NAME A, "\x12\x34\x81\x83\0\1\0\0\0\0\0\0" NAME A,
	       .code = DNS_NO_NAME, .detail = DNS_DETAIL_BLOCKED, .text = "no");
	ANSWER(WITH_OPT NAME A OPT,
	       "\x12\x34\x81\x83\0\1\0\0\0\0\0\1" NAME A
	       "\0\0\51\4\xd0\0\0\0\0\0\x8\0\xf\0\4\0\xfno",
	       .code = DNS_NO_NAME, .detail = DNS_DETAIL_BLOCKED, .text = "no");
	ANSWER(WITH_OPT NAME A "\0\0\51\4\xd0\0\1\0\0\0\0",
	       "\x12\x34\x81\x80\0\1\0\0\0\0\0\1" NAME A
	       "\0\0\51\4\xd0\1\0\0\0\0\0",
	       .code = DNS_BAD_VERSION);
	/* What was not read is not told back. */
	ANSWER(HEAD("\1\0", "\2", "\0", "\0", "\0") NAME A,
	       "\x12\x34\x81\x81\0\0\0\0\0\0\0\0", .code = DNS_BAD_FORMAT);
}

static void test_reversed(void **state)
{
	static const struct {
		const char *name;
		size_t size;
		const char *address;
	} rows[] = {
		{ "0.1.18.198.in-addr.arpa", 4, "\xc6\x12\1\0" },
		{ "1.18.198.in-addr.arpa", 0, NULL },
		{ "00.1.18.198.in-addr.arpa", 0, NULL },
		{ "256.1.18.198.in-addr.arpa", 0, NULL },
		{ "9.0.1.18.198.in-addr.arpa", 0, NULL },
		{ "in-addr.arpa", 0, NULL },
		{ "", 0, NULL },
		{ "0.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5.7.c.6.4.7.2.7.3."
		  "7.d.f.ip6.arpa",
		  16, "\xfd\x73\x72\x74\x6c\x75\0\0\0\0\0\0\0\0\0\x10" },
		{ "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5.7.c.6.4.7.2.7.3."
		  "7.d.f.ip6.arpa",
		  0, NULL },
		{ "1.ip6.arpa", 0, NULL },
		{ "g.ip6.arpa", 0, NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t address[16];

		assert_int_equal(rows[i].size,
				 dns_reversed(address, rows[i].name));
		if (rows[i].size)
			assert_memory_equal(rows[i].address, address,
					    rows[i].size);
	}
}

static void test_names_keep_their_numbers(void **state)
{
	struct names *names = names_new();
	char name[32];

	(void)state;
	assert_non_null(names);
	assert_null(names_at(names, NAMES_FIRST));
	for (int turn = 0; turn < 2; turn++) {
		for (uint32_t i = 0; i < NAMES_MAX; i++) {
			snprintf(name, sizeof(name), "n%u.test", i);
			assert_int_equal(NAMES_FIRST + i,
					 names_number(names, name));
			assert_string_equal(name,
					    names_at(names, NAMES_FIRST + i));
		}
	}
	assert_int_equal(0, names_number(names, "one.more.test"));
	assert_null(names_at(names, NAMES_FIRST + NAMES_MAX));
	assert_null(names_at(names, NAMES_FIRST - 1));
	assert_null(names_at(names, 0));
	assert_null(names_at(names, UINT32_MAX));
	names_free(names);
	names_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_names_that_are_no_hosts),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_every_cut_is_refused),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_reversed),
		cmocka_unit_test(test_names_keep_their_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
