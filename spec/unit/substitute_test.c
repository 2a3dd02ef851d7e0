/* SPDX-License-Identifier: Apache-2.0 */
/* Replacing in texts and in streams, however the bytes arrive. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proxy/substitute.h"

/* clang-format off */

static const struct {
	const char *from, *to;
} pairs[] = {
	{ "srtMAAAA", "real/one" },
	{ "srtMAAAA-longer", "REAL+ONE&LONGER" },
	{ "srtMBBBB", "quo\"te\\s" },
	{ "srtMCCCC", "line\nend" },
	{ "srtMDDDD", "plain-._" },
	{ "aaaaaaab", "XXXXXXXY" },
};

/* clang-format on */

static struct proxy_text text(const char *string)
{
	return proxy_text_of(string);
}

static int setup(void **state)
{
	struct substitute *set = substitute_new();

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_int_equal(0, substitute_add(set, text(pairs[i].from),
						   text(pairs[i].to)));
	*state = set;
	return 0;
}

static int teardown(void **state)
{
	substitute_release(*state);
	return 0;
}

struct row {
	int line;
	enum substitute_place place;
	const char *in, *out;
};

/* clang-format off */

static const struct row rows[] = {
	{ __LINE__, SUBSTITUTE_BODY, "", "" },
	{ __LINE__, SUBSTITUTE_BODY, "srt", "srt" },
	{ __LINE__, SUBSTITUTE_BODY, "srtMAAA", "srtMAAA" },
	{ __LINE__, SUBSTITUTE_BODY, "srtMAAAA", "real/one" },
	{ __LINE__, SUBSTITUTE_BODY, "xsrtMAAAAsrtMAAAAy", "xreal/onereal/oney" },
	{ __LINE__, SUBSTITUTE_BODY, "srtMAAAA-longer", "REAL+ONE&LONGER" },
	{ __LINE__, SUBSTITUTE_BODY, "srtMAAAA-longe", "real/one-longe" },
	{ __LINE__, SUBSTITUTE_BODY, "srtMAAAA-longsrtMBBBB", "real/one-longquo\"te\\s" },
	{ __LINE__, SUBSTITUTE_BODY, "srtsrtMsrtMCCCC", "srtsrtMline\nend" },
	{ __LINE__, SUBSTITUTE_BODY, "aaaaaaaaaaab", "aaaaXXXXXXXY" },
	/* what may not stand there stays a sentinel */
	{ __LINE__, SUBSTITUTE_HEAD, "srtMCCCC srtMBBBB", "srtMCCCC quo\"te\\s" },
	{ __LINE__, SUBSTITUTE_JSON, "srtMBBBBsrtMCCCCsrtMAAAA", "srtMBBBBsrtMCCCCreal/one" },
	{ __LINE__, SUBSTITUTE_FORM, "srtMAAAA&srtMDDDD", "srtMAAAA&plain-._" },
};

/* clang-format on */

static void test_whole_texts(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char data[64];
		size_t size = strlen(rows[i].in);

		memcpy(data, rows[i].in, size + 1);
		(void)substitute_apply(*state, data, size, rows[i].place);
		if (strcmp(data, rows[i].out) != 0)
			fail_msg("line %d: %s", rows[i].line, data);
	}
}

static void stream_in_steps(struct substitute *set, const struct row *row,
			    size_t step)
{
	struct substitute_stream stream;
	size_t size = strlen(row->in), got = 0, ready;
	char out[64];

	substitute_begin(&stream, set, row->place);
	for (size_t at = 0; at <= size; at += step) {
		size_t left = size - at < step ? size - at : step;

		ready = substitute_feed(
			&stream, (struct proxy_text){ row->in + at, left },
			at + step > size);
		if (ready)
			memcpy(out + got, pbuf_text(&stream.held).data, ready);
		got += ready;
		pbuf_drop(&stream.held, ready);
	}
	assert_int_equal(0, stream.held.size);
	if (got != size || memcmp(out, row->out, size) != 0)
		fail_msg("line %d, by %zu: %.*s", row->line, step, (int)got,
			 out);
	substitute_end(&stream);
}

static void test_streams(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (size_t step = 1; step < 20; step++)
			stream_in_steps(*state, &rows[i], step);
}

/* An event that is over goes out at once. */
static void test_nothing_is_held_without_need(void **state)
{
	struct substitute_stream stream;

	substitute_begin(&stream, *state, SUBSTITUTE_BODY);
	assert_int_equal(9,
			 substitute_feed(&stream, text("data: x\n\n"), false));
	pbuf_drop(&stream.held, 9);
	assert_int_equal(1, substitute_feed(&stream, text("xsrtM"), false));
	pbuf_drop(&stream.held, 1);
	assert_int_equal(4, stream.held.size);
	assert_int_equal(6, substitute_feed(&stream, text("\n\n"), false));
	substitute_end(&stream);
}

static void test_targets(void **state)
{
	struct pbuf out = { 0 };
	static const char in[] = "/bot=srtMDDDD/x?k=srtMAAAA&j=srtMCCCC&srtM";

	assert_int_equal(3, substitute_target(*state, &out, text(in)));
	assert_int_equal(0, strncmp("/bot=plain-._/x?k=real%2Fone&j=line%0Aend"
				    "&srtM",
				    out.memory + out.start, out.size));
	pbuf_free(&out);
}

static void basic(struct substitute *set, const char *in, const char *want)
{
	char value[128];

	snprintf(value, sizeof(value), "%s", in);
	(void)substitute_basic(set, value, strlen(value));
	assert_string_equal(want, value);
}

static void test_basic(void **state)
{
	/* u:srtMDDDD, us:srtMDDDD, usr:srtMDDDD; srtMAAAA:x */
	basic(*state, "Basic dTpzcnRNRERERA==", "Basic dTpwbGFpbi0uXw==");
	basic(*state, "basic  dXM6c3J0TUREREQ=", "basic  dXM6cGxhaW4tLl8=");
	basic(*state, "Basic dXNyOnNydE1ERERE", "Basic dXNyOnBsYWluLS5f");
	basic(*state, "Basic dXNyOnNydE1ERERE  ", "Basic dXNyOnBsYWluLS5f  ");
	basic(*state, "Basic c3J0TUFBQUE6eA==", "Basic cmVhbC9vbmU6eA==");
	/* none of it */
	basic(*state, "Basic dTpzcnRNRERE", "Basic dTpzcnRNRERE");
	basic(*state, "Basic", "Basic");
	basic(*state, "Basic ", "Basic ");
	basic(*state, "Basic ===", "Basic ===");
	basic(*state, "Basic x", "Basic x");
	basic(*state, "Basic dTpz!nRNRERERA==", "Basic dTpz!nRNRERERA==");
	basic(*state, "Bearer dTpzcnRNRERERA==", "Bearer dTpzcnRNRERERA==");
}

static void test_what_can_not_be_added(void **state)
{
	static char large[SUBSTITUTE_MOST + 1];
	struct proxy_text most = { large, SUBSTITUTE_MOST };
	struct proxy_text more = { large, SUBSTITUTE_MOST + 1 };

	assert_int_equal(-EINVAL, substitute_add(*state, text("1234567"),
						 text("abcdefg")));
	assert_int_equal(-EINVAL, substitute_add(*state, text("12345678"),
						 text("123456789")));
	assert_int_equal(-EINVAL, substitute_add(*state, more, more));
	assert_int_equal(0, substitute_add(*state, most, most));
}

static void test_a_stream_outlives_the_set(void **state)
{
	struct substitute *set = substitute_new();
	struct substitute_stream stream;

	(void)state;
	assert_int_equal(
		0, substitute_add(set, text("12345678"), text("abcdefgh")));
	substitute_begin(&stream, set, SUBSTITUTE_BODY);
	substitute_release(set);
	assert_int_equal(9, substitute_feed(&stream, text("12345678."), true));
	assert_memory_equal("abcdefgh.", pbuf_text(&stream.held).data, 9);
	substitute_end(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole_texts, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_streams, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_nothing_is_held_without_need, setup, teardown),
		cmocka_unit_test_setup_teardown(test_targets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_basic, setup, teardown),
		cmocka_unit_test_setup_teardown(test_what_can_not_be_added,
						setup, teardown),
		cmocka_unit_test(test_a_stream_outlives_the_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
