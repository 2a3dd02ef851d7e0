/* SPDX-License-Identifier: Apache-2.0 */
/* What the table of names that may not be made says of a path. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/guard_rules.h"
#include "core/util.h"

static const char *paths[] = { "/w/no",	 "/w/a/b/c", "/w/a-b",	 "/w/a",
			       "/w/dir", "/w/dir/x", "/q/\xff/z" };
static struct guard_glob globs[] = {
	{ "/w", "/**/.env", true },  { "/w/keys", "/*.pem", false },
	{ "/w", "/locks/?", false }, { "/", "/g/*/x", false },
	{ "/w/[x]", "/*.k", false },
};
static struct guard_name names[] = {
	{ ".bashrc", NULL, 0 }, { ".git/hooks", "/w", 0 }, { "p/q/r", NULL, 0 },
	{ "top", "/", 0 },	{ ".idea", "/d", 3 },	   { "c/d", "/d", 3 },
};
static const char *skip[] = { "node_modules" };
static const struct guard_table table = {
	.free = "/w/free",
	.skip = skip,
	.skip_count = ARRAY_SIZE(skip),
	.on = true,
	.paths = paths,
	.path_count = ARRAY_SIZE(paths),
	.globs = globs,
	.glob_count = ARRAY_SIZE(globs),
	.names = names,
	.name_count = ARRAY_SIZE(names),
};

/* @denied: of anything else, @link: of a symbolic link */
static const struct {
	int line;
	const char *path;
	bool denied, link;
} rows[] = {
#define ROW(...)                      \
	{                             \
		__LINE__, __VA_ARGS__ \
	}
	ROW("/w/no", true, true),
	ROW("/w/no/deep/er", true, true),
	ROW("/w/nope", false, false),
	ROW("/w/n", false, false),
	ROW("/w", false, true),
	ROW("/", false, true),
	ROW("/w/a", true, true),
	ROW("/w/a-b", true, true),
	ROW("/w/a-", false, false),
	ROW("/w/a-bc", false, false),
	ROW("/w/ab", false, false),
	ROW("/w/dir/x/y", true, true),
	ROW("/w/di", false, false),
	ROW("/q", false, true),
	ROW("/q/\xff", false, true),
	ROW("/q/\xff/z", true, true),
	ROW("/q/\xfe", false, false),
	ROW("/w/.env", true, true),
	ROW("/w/x/y/.env", true, true),
	ROW("/w/x/.env/y", true, true),
	ROW("/v/.env", false, false),
	ROW("/w/x/.envy", false, false),
	ROW("/w/x", false, false),
	ROW("/w/keys", false, true),
	ROW("/w/locks", false, true),
	ROW("/w/locks/1", true, true),
	ROW("/w/[x]/a.k", true, true),
	ROW("/w/x/a.k", false, false),
	ROW("/w/free", false, false),
	ROW("/w/free/.env", false, false),
	ROW("/w/free/.bashrc", false, false),
	ROW("/w/freed/.env", true, true),
	ROW("/d/.idea", true, true),
	ROW("/d/a/b/.idea", true, true),
	ROW("/d/a/b/c/.idea", false, false),
	ROW("/d/a/b/.idea/x", true, true),
	ROW("/d/node_modules/.idea", false, false),
	ROW("/d/a/node_modules/.idea", false, false),
	ROW("/d/node_modules.d/.idea", true, true),
	ROW("/d/a/c", false, true),
	ROW("/d/a/c/d", true, true),
	ROW("/d/a/a/c", false, true),
	ROW("/d/a/a/c/d", true, true),
	ROW("/d/a/a/a/c", false, false),
	ROW("/d/a/a/a/c/d", false, false),
	ROW("/d/node_modules/c", false, false),
	ROW("/w/keys/a.pem", true, true),
	ROW("/w/keys/a.pub", false, false),
	ROW("/g/anything", false, false),
	ROW("/g/anything/x", true, true),
	ROW("/home/u/.bashrc", true, true),
	ROW("/home/u/.bashrc2", false, false),
	ROW("/home/u/x.bashrc", false, false),
	ROW("/.bashrc", true, true),
	ROW("/w/.git", false, true),
	ROW("/w/sub/.git", false, true),
	ROW("/w/sub/.git/hooks", true, true),
	ROW("/w/sub/.git/hooks/pre-commit", true, true),
	ROW("/w/sub/.git/hook", false, false),
	ROW("/v/sub/.git/hooks", false, false),
	ROW("/v/sub/.git", false, false),
	ROW("/any/p", false, true),
	ROW("/any/p/q", false, true),
	ROW("/any/p/q/r", true, true),
	ROW("/any/xp", false, false),
	ROW("/top", true, true),
	ROW("/x/top/y", true, true),
#undef ROW
};

static void every_row(void **state)
{
	struct guard_rules rules;

	(void)state;
	assert_int_equal(guard_rules_compile(&table, &rules), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (guard_denies(&rules, rows[i].path, false) != rows[i].denied)
			fail_msg("line %d: %s", rows[i].line, rows[i].path);
		if (guard_denies(&rules, rows[i].path, true) != rows[i].link)
			fail_msg("line %d: link %s", rows[i].line,
				 rows[i].path);
	}
	free(rules.paths);
}

static void nothing_is_denied_by_nothing(void **state)
{
	static const struct guard_table empty = { .on = true };
	struct guard_rules rules;

	(void)state;
	assert_int_equal(guard_rules_compile(&empty, &rules), 0);
	assert_false(guard_denies(&rules, "/w/no", true));
	free(rules.paths);
}

static bool is(void *data, const char *rest)
{
	return !strcmp(data, rest);
}

static bool moved(const struct guard_rules *rules, const char *to,
		  const char *there)
{
	return guard_find_moved(rules, to, is, (void *)(uintptr_t)there).kind !=
	       GUARD_NONE;
}

static void folders_that_move(void **state)
{
	struct guard_rules rules;

	(void)state;
	assert_int_equal(guard_rules_compile(&table, &rules), 0);
	assert_true(moved(&rules, "/w", "no"));
	assert_true(moved(&rules, "/w", "a/b/c"));
	assert_false(moved(&rules, "/w", "nope"));
	assert_true(moved(&rules, "/w/a/b", "c"));
	assert_false(moved(&rules, "/w/a/bb", "c"));
	assert_true(moved(&rules, "/w/sub/.git", "hooks"));
	assert_false(moved(&rules, "/v/sub/.git", "hooks"));
	assert_true(moved(&rules, "/x/p", "q/r"));
	assert_true(moved(&rules, "/x/p/q", "r"));
	assert_false(moved(&rules, "/x/q", "r"));
	free(rules.paths);
}

static void patterns_that_float(void **state)
{
	static const struct guard_table one = { .globs = globs,
						.glob_count = 1 };
	struct guard_rules rules;

	(void)state;
	assert_int_equal(guard_rules_compile(&one, &rules), 0);
	assert_false(guard_patterns_move(&rules, "/w/a", "/w/b"));
	assert_true(guard_patterns_move(&rules, "/v/a", "/w/b"));
	free(rules.paths);
	assert_int_equal(guard_rules_compile(&table, &rules), 0);
	assert_true(guard_patterns_move(&rules, "/w/a", "/w/b"));
	assert_true(guard_pattern_denies(&rules, "/w/b/.env", false));
	assert_false(guard_pattern_denies(&rules, "/w/no", false));
	free(rules.paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row),
		cmocka_unit_test(nothing_is_denied_by_nothing),
		cmocka_unit_test(folders_that_move),
		cmocka_unit_test(patterns_that_float),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
