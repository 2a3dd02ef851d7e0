/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pattern matcher by rows, and its budget. That it equals Lua's own is
 * shown by comparing the two: spec/lua/box_pattern_spec.lua.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "lua/pattern.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define PLENTY 1000000

/* @first, @size: of the match, or @size -1 for none. */
struct row {
	int line;
	const char *pattern, *subject;
	int first, size;
	enum pattern_error error;
};

static const struct row rows[] = {
	{ __LINE__, "", "", 0, 0, 0 },
	{ __LINE__, "b", "abc", 1, 1, 0 },
	{ __LINE__, "^b", "abc", 0, -1, 0 },
	{ __LINE__, "a$", "aba", 2, 1, 0 },
	{ __LINE__, "a$b", "a$b", 0, 3, 0 },
	{ __LINE__, "a*", "aaab", 0, 3, 0 },
	{ __LINE__, "a-b", "aaab", 0, 4, 0 },
	{ __LINE__, "a+b?", "xaac", 1, 2, 0 },
	{ __LINE__, "[%a_][%w_]*", "  x_1 ", 2, 3, 0 },
	{ __LINE__, "[^%s]+", "  ab ", 2, 2, 0 },
	{ __LINE__, "[]]", "a]", 1, 1, 0 },
	{ __LINE__, "[^]]", "]a", 1, 1, 0 },
	{ __LINE__, "[a-]", "-", 0, 1, 0 },
	{ __LINE__, "[%]]", "]", 0, 1, 0 },
	{ __LINE__, "%b()", "f(a(b)c)d", 1, 7, 0 },
	{ __LINE__, "%f[%w]%w+", "  the end", 2, 3, 0 },
	{ __LINE__, "%f[%z]", "ab", 2, 0, 0 },
	{ __LINE__, "(a)%1", "baa", 1, 2, 0 },
	{ __LINE__, "()b()", "ab", 1, 1, 0 },
	{ __LINE__, "(.)(.)%2%1", "xabbay", 1, 4, 0 },
	{ __LINE__, "%", "a", 0, 0, PATTERN_PERCENT_END },
	{ __LINE__, "[a", "a", 0, 0, PATTERN_NO_BRACKET },
	{ __LINE__, "[]", "a", 0, 0, PATTERN_NO_BRACKET },
	{ __LINE__, "[%", "a", 0, 0, PATTERN_NO_BRACKET },
	{ __LINE__, "%b(", "a", 0, 0, PATTERN_BALANCE },
	{ __LINE__, "%fa", "a", 0, 0, PATTERN_FRONTIER },
	{ __LINE__, "%1", "a", 0, 0, PATTERN_BACK_INDEX },
	{ __LINE__, "(a%1)", "a", 0, 0, PATTERN_BACK_INDEX },
	{ __LINE__, "a)", "a", 0, 0, PATTERN_CLOSE },
};

static void test_rows(void **state)
{
	const char *start, *end;
	struct pattern m;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *r = &rows[i];
		int found;

		pattern_init(&m, r->pattern, strlen(r->pattern), r->subject,
			     strlen(r->subject), true);
		m.steps = PLENTY;
		found = pattern_find(&m, r->subject, &start, &end);
		if (m.error != r->error ||
		    found != (r->error ? -1 : r->size >= 0) ||
		    (found > 0 && (start - r->subject != r->first ||
				   end - start != r->size)))
			fail_msg("row of line %d: %s on %s: %d, %s", r->line,
				 r->pattern, r->subject, found,
				 pattern_strerror(m.error));
	}
}

static void test_captures(void **state)
{
	const char *subject = "key = value", *start, *end;
	const char *pattern = "(%w+)%s*=()%s*(%w+)";
	struct pattern_capture capture;
	struct pattern m;

	(void)state;
	pattern_init(&m, pattern, strlen(pattern), subject, strlen(subject),
		     true);
	m.steps = PLENTY;
	assert_int_equal(pattern_find(&m, subject, &start, &end), 1);
	assert_int_equal(pattern_captures(&m), 3);
	assert_true(pattern_capture(&m, 0, start, end, &capture));
	assert_int_equal(capture.size, 3);
	assert_true(pattern_capture(&m, 1, start, end, &capture));
	assert_int_equal(capture.kind, PATTERN_POSITION);
	assert_ptr_equal(capture.start, subject + 5);
	assert_true(pattern_capture(&m, 2, start, end, &capture));
	assert_memory_equal(capture.start, "value", capture.size);
	assert_false(pattern_capture(&m, 3, start, end, &capture));
	assert_int_equal(m.error, PATTERN_CAPTURE_INDEX);
}

static void test_too_many(void **state)
{
	const char *start, *end, *subject = "";
	char pattern[2 * (PATTERN_CAPTURES + 1) + 1];
	struct pattern m;

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "()", 2);
	pattern_init(&m, pattern, sizeof(pattern) - 1, subject, 0, true);
	m.steps = PLENTY;
	assert_int_equal(pattern_find(&m, subject, &start, &end), -1);
	assert_int_equal(m.error, PATTERN_MANY);
	pattern_init(&m, pattern, 2 * PATTERN_CAPTURES, subject, 0, true);
	m.steps = PLENTY;
	assert_int_equal(pattern_find(&m, subject, &start, &end), 1);
}

/* Patterns that take seconds or for ever without a budget. */
static void test_budget(void **state)
{
	static const char *const patterns[] = {
		".-.-.-.-b$",
		".*.*.*.*.*b",
		"(.-)(.-)(.-)(.-)%1b",
		"%b()",
		"[a-z0-9%s]*[a-z]*[a-z]*c",
		"a?a?a?a?a?a?a?a?a*a*a*b",
	};
	static char subject[10000];
	const char *start, *end;
	clock_t begin = clock();
	struct pattern m;

	(void)state;
	memset(subject, 'a', sizeof(subject));
	for (size_t i = 0; i < COUNT(patterns); i++) {
		pattern_init(&m, patterns[i], strlen(patterns[i]), subject,
			     sizeof(subject), true);
		m.steps = 10 * PLENTY;
		if (pattern_find(&m, subject, &start, &end) == 0)
			continue; /* "%b()" is linear here */
		assert_int_equal(m.error, PATTERN_BUDGET);
		assert_int_equal(m.steps, 0);
	}
	assert_true(clock() - begin < 2 * CLOCKS_PER_SEC);
}

static void test_depth(void **state)
{
	static char pattern[100000];
	const char *start, *end, *subject = "aaaa";
	struct pattern m;

	(void)state;
	for (size_t i = 0; i < sizeof(pattern); i += 2)
		memcpy(pattern + i, "a-", 2);
	pattern_init(&m, pattern, sizeof(pattern), subject, 4, true);
	m.steps = PLENTY;
	assert_int_equal(pattern_find(&m, subject, &start, &end), -1);
	assert_int_equal(m.error, PATTERN_DEEP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_captures),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_depth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
