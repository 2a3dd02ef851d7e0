/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings: what each comes to, and that none goes beyond its bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <zlib.h>

#include "proxy/decode.h"

enum { GZIP = 31, ZLIB = 15, BARE = -15 };

static struct proxy_header coding(const char *value)
{
	return (struct proxy_header){ proxy_text_of("content-Encoding"),
				      proxy_text_of(value) };
}

/* Packs @size bytes of @data, or zeros, at the end of @out. */
static void pack(struct pbuf *out, int window, const char *data, size_t size)
{
	char zeros[65536] = "", piece[65536];
	z_stream stream = { 0 };

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, window, 9,
				      Z_DEFAULT_STRATEGY),
			 Z_OK);
	do {
		size_t some = size < sizeof(zeros) ? size : sizeof(zeros);

		stream.next_in = (unsigned char *)(data ? data : zeros);
		stream.avail_in = (unsigned int)some;
		size -= some;
		data = data ? data + some : NULL;
		do {
			stream.next_out = (unsigned char *)piece;
			stream.avail_out = sizeof(piece);
			deflate(&stream, size ? Z_NO_FLUSH : Z_FINISH);
			pbuf_add(out, piece, sizeof(piece) - stream.avail_out);
		} while (!stream.avail_out);
	} while (size);
	deflateEnd(&stream);
}

static void want(const char *codings, const struct pbuf *data, size_t max,
		 const char *text, const char *wrong)
{
	const struct proxy_header header = coding(codings);
	struct pbuf out = { 0 };
	const char *got = decode_body(&header, 1, pbuf_text(data), max, &out);

	if (wrong) {
		assert_non_null(got);
		assert_string_equal(got, wrong);
	} else {
		assert_null(got);
		assert_int_equal(out.size, strlen(text));
		assert_memory_equal(pbuf_text(&out).data ?: "", text, out.size);
	}
	/* One piece beyond the bound at most is ever there. */
	assert_true(out.size <= max + max / 256 + 1024 + 16384);
	pbuf_free(&out);
}

static void test_formats(void **state)
{
	static const struct {
		int window;
		const char *name;
	} rows[] = { { GZIP, "gzip" },
		     { GZIP, "X-GZIP" },
		     { ZLIB, "deflate" },
		     { BARE, "Deflate" },
		     { GZIP, " , identity,, gzip ," } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pbuf data = { 0 };

		pack(&data, rows[i].window, "some text", 9);
		want(rows[i].name, &data, 9, "some text", NULL);
		want(rows[i].name, &data, 8, NULL, decode_too_long);
		/* Every cut shows; but nothing at all is an empty body. */
		while (data.size > 1) {
			data.size--;
			want(rows[i].name, &data, 100, NULL,
			     "it ends within its content coding");
		}
		data.size = 0;
		want(rows[i].name, &data, 100, "", NULL);
		pbuf_free(&data);
	}
}

static void test_members(void **state)
{
	struct pbuf data = { 0 };

	(void)state;
	pack(&data, GZIP, "one ", 4);
	pack(&data, GZIP, "two", 3);
	want("gzip", &data, 7, "one two", NULL);
	want("gzip", &data, 6, NULL, decode_too_long);
	pbuf_add(&data, "\0", 1);
	want("gzip", &data, 100, NULL, "it ends within its content coding");
	pbuf_add(&data, "xyz", 3);
	want("gzip", &data, 100, NULL, "its content coding is broken");
	pbuf_free(&data);
	pack(&data, ZLIB, "one", 3);
	pbuf_add(&data, "x", 1);
	want("deflate", &data, 100, NULL,
	     "something follows the end of its coding");
	pbuf_free(&data);
}

static void test_unknown(void **state)
{
	const struct proxy_header plain = { proxy_text_of("Content-Type"),
					    proxy_text_of("gzip") };
	const struct proxy_header same = coding("identity");
	const struct proxy_header other = coding("br");
	struct pbuf data = { 0 };

	(void)state;
	pbuf_add(&data, "text", 4);
	want("br", &data, 9, NULL,
	     "its content coding is none of gzip and deflate");
	want("gzip;q=1", &data, 9, NULL,
	     "its content coding is none of gzip and deflate");
	want("gzip,gzip,gzip,gzip,gzip", &data, 9, NULL,
	     "it has too many content codings");
	want("identity", &data, 4, "text", NULL);
	want("identity", &data, 3, NULL, decode_too_long);
	assert_false(decode_is_coded(&plain, 1));
	assert_false(decode_is_coded(&same, 1));
	assert_true(decode_is_coded(&other, 1));
	pbuf_free(&data);
}

/* What can't be packed is no longer than it was, for who asks. */
static void test_random(void **state)
{
	enum { SIZE = 300000 };
	char *noise = malloc(SIZE);
	const struct proxy_header header = coding("gzip");
	struct pbuf data = { 0 }, out = { 0 };

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		noise[i] = (char)random();
	pack(&data, GZIP, noise, SIZE);
	assert_true(data.size > SIZE);
	assert_true(data.size <= decode_wire_max(&header, 1, SIZE));
	assert_null(decode_body(&header, 1, pbuf_text(&data), SIZE, &out));
	assert_int_equal(out.size, SIZE);
	assert_memory_equal(pbuf_text(&out).data, noise, SIZE);
	pbuf_free(&data);
	pbuf_free(&out);
	free(noise);
}

/* A gibibyte in one layer, and that in another. */
static void test_bombs(void **state)
{
	struct pbuf inner = { 0 }, outer = { 0 };

	(void)state;
	pack(&inner, GZIP, NULL, (size_t)1 << 30);
	want("gzip", &inner, inner.size, NULL, decode_too_long);
	pack(&outer, GZIP, pbuf_text(&inner).data, inner.size);
	want("gzip, gzip", &outer, outer.size, NULL, decode_too_long);
	want("gzip", &inner, 1, NULL, decode_too_long);
	want("gzip, gzip", &outer, inner.size, NULL, decode_too_long);
	pbuf_free(&inner);
	pbuf_free(&outer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats), cmocka_unit_test(test_members),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_random),
		cmocka_unit_test(test_bombs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
