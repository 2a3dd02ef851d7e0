/* SPDX-License-Identifier: Apache-2.0 */
/* The tree walker and its two matchers, on real trees. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/glob.h"
#include "core/remove_tree.h"
#include "core/util.h"
#include "core/walk_globs.h"
#include "core/walk_names.h"

#define LIMITS                                        \
	{                                             \
		.entries = 1000000, .bytes = 64 << 20 \
	}

static char top[64];

static int make_top(void **state)
{
	(void)state;
	strcpy(top, "/tmp/srt-walk-XXXXXX");
	return mkdtemp(top) && !chmod(top, 0755) ? 0 : -1;
}

static int drop_top(void **state)
{
	(void)state;
	return remove_tree(top);
}

/* Makes a file, or with a slash at the end a directory, beneath the top. */
static void make(const char *name)
{
	char path[4200];
	size_t size = (size_t)snprintf(path, sizeof(path), "%s/%s", top, name);
	int fd;

	for (char *p = path + strlen(top) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0755);
		*p = '/';
	}
	if (path[size - 1] == '/')
		return;
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	close(fd);
}

static void make_link(const char *target, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	assert_int_equal(symlink(target, path), 0);
}

/* What is on a list, as "path:tag ", without the top. */
static char *text_of(const struct walk_list *list)
{
	size_t size = 1;
	char *text, *p;

	for (size_t i = 0; i < list->count; i++)
		size += list->records[i].size + 16;
	p = text = malloc(size);
	assert_non_null(text);
	*p = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct walk_record *record = &list->records[i];
		const char *path = list->text + record->at;

		assert_int_equal(strlen(path), record->size);
		assert_memory_equal(path, top, strlen(top));
		p += sprintf(p, "%s:%u ", path + strlen(top), record->tag);
	}
	return text;
}

static void check(struct walk_result *result, const char *taken,
		  const char *blind)
{
	owned_ptr char *got = NULL, *unseen = NULL;

	walk_result_sort(result);
	got = text_of(&result->taken);
	unseen = text_of(&result->blind);
	assert_string_equal(got, taken);
	assert_string_equal(unseen, blind);
	walk_result_free(result);
}

static void globs(const char *const *patterns, size_t count, const char *taken,
		  const char *blind)
{
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };

	assert_int_equal(walk_globs(top, patterns, count, &limits, &result), 0);
	check(&result, taken, blind);
}

#define GLOBS(taken, blind, ...)               \
	globs((const char *[]){ __VA_ARGS__ }, \
	      ARRAY_SIZE(((const char *[]){ __VA_ARGS__ })), taken, blind)

static void names(unsigned int depth, const char *const *list, size_t count,
		  const char *taken)
{
	static const char *const skip[] = { "node_modules" };
	struct walk_names wanted = { list, count, skip, 1, depth };
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };

	assert_int_equal(walk_names(top, &wanted, &limits, &result), 0);
	check(&result, taken, "");
}

#define NAMES(depth, taken, ...)                      \
	names(depth, (const char *[]){ __VA_ARGS__ }, \
	      ARRAY_SIZE(((const char *[]){ __VA_ARGS__ })), taken)

static void finds_what_patterns_match(void **state)
{
	(void)state;
	make(".env");
	make("a/.env");
	make("a/b/.env/");
	make("a/b/x.env");
	make("a/b/k.pem");
	make("src/one/x");
	make("src/two/x/");
	GLOBS("/.env:0 /a/.env:0 /a/b/.env:0 ", "", "**/.env");
	GLOBS("/a/.env:0 ", "", "*/.env");
	GLOBS("/a/b/k.pem:0 /a/b/k.pem:1 /src/one/x:2 /src/two/x:2 ", "",
	      "**/*.pem", "**.pem", "src/*/x");
	GLOBS("/a/b:0 ", "", "a[/]b");
	GLOBS("/a/b/x.env:0 ", "", "a**x.env");
	GLOBS("/.env:0 /a:0 /src:0 ", "", "*");
	GLOBS("", "", "**/nothing", "a/nothing/*", "", "/x", "a//.env");
}

static void enters_only_what_can_match(void **state)
{
	static const char *const patterns[] = { "a*/x", "b/c/x*" };
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };
	uint64_t before = limits.entries;

	(void)state;
	make("a1/deep/er/x");
	make("b/c/x1");
	make("b/d/x2");
	make("other/x/y/z");
	assert_int_equal(walk_globs(top, patterns, 2, &limits, &result), 0);
	check(&result, "/b/c/x1:1 ", "");
	/* a1 b other; deep; c d; x1 */
	assert_int_equal(before - limits.entries, 7);
}

static void follows_no_link(void **state)
{
	char through[128];
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };
	static const char *const patterns[] = { "**/x" };

	(void)state;
	make("a/x");
	make_link(".", "a/loop");
	make_link("..", "a/up");
	make_link("/", "root");
	make_link("a", "b");
	make_link("nowhere", "x");
	make_link("self", "self");
	GLOBS("/a/x:0 /x:0 ", "", "**/x");
	NAMES(9, "/a/x:0 /x:0 ", "x");
	/* The root itself may be a link. */
	snprintf(through, sizeof(through), "%s/b", top);
	assert_int_equal(walk_globs(through, patterns, 1, &limits, &result), 0);
	check(&result, "/b/x:0 ", "");
}

static void takes_any_bytes(void **state)
{
	char longest[NAME_MAX + 1];
	owned_ptr char *want = NULL;

	(void)state;
	make("new\nline/.env");
	make("\xff\xfe/.env");
	make("\xf0\x9f\x98\x80/.env");
	make(" /.env");
	make("*/[x]/.env");
	memset(longest, 'n', NAME_MAX);
	longest[NAME_MAX] = 0;
	make(longest);
	GLOBS("/ /.env:0 /*/[x]/.env:0 /new\nline/.env:0 "
	      "/\xf0\x9f\x98\x80/.env:0 "
	      "/\xff\xfe/.env:0 ",
	      "", "**/.env");
	GLOBS("/\xf0\x9f\x98\x80/.env:0 /\xff\xfe/.env:0 ", "", "\?\?/.env");
	assert_true(asprintf(&want, "/%s:0 ", longest) > 0);
	GLOBS(want, "", "nnn*n");
}

static int open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* Deeper than a path may be long, and than directories stay open. */
static void goes_as_deep_as_the_tree(void **state)
{
	static const char *const patterns[] = { "**/end", "**/side/s" };
	int dir = open(top, O_RDONLY | O_DIRECTORY), next, before, fd;
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };

	(void)state;
	for (int depth = 0; depth < 3000; depth++) {
		assert_int_equal(mkdirat(dir, "d", 0755), 0);
		if (depth % 100 == 7) {
			assert_int_equal(mkdirat(dir, "side", 0755), 0);
			fd = openat(dir, "side/s", O_CREAT | O_WRONLY, 0644);
			assert_true(fd >= 0);
			close(fd);
		}
		next = openat(dir, "d", O_RDONLY | O_DIRECTORY);
		close(dir);
		dir = next;
	}
	assert_int_equal(mkdirat(dir, "end", 0755), 0);
	close(dir);
	before = open_fds();
	assert_int_equal(walk_globs(top, patterns, 2, &limits, &result), 0);
	assert_int_equal(open_fds(), before);
	assert_int_equal(result.taken.count, 31);
	walk_result_sort(&result);
	assert_int_equal(result.taken.records[0].size,
			 strlen(top) + 2L * 3000 + 4);
	walk_result_free(&result);
}

static void starts_at_a_path_longer_than_one_may_be(void **state)
{
	static const char *const patterns[] = { "x*" };
	char long_path[9000];
	int dir = open(top, O_RDONLY | O_DIRECTORY), next;
	size_t used = (size_t)sprintf(long_path, "%s", top);
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };
	char name[201];

	(void)state;
	memset(name, 'n', 200);
	name[200] = 0;
	while (used < 8500) {
		assert_int_equal(mkdirat(dir, name, 0755), 0);
		next = openat(dir, name, O_RDONLY | O_DIRECTORY);
		close(dir);
		dir = next;
		used += (size_t)sprintf(long_path + used, "/%s", name);
	}
	next = openat(dir, "xyz", O_CREAT | O_WRONLY, 0644);
	close(next);
	close(dir);
	assert_int_equal(walk_globs(long_path, patterns, 1, &limits, &result),
			 0);
	assert_int_equal(result.taken.count, 1);
	assert_string_equal(result.taken.text + used, "/xyz");
	walk_result_free(&result);
	long_path[used - 1] = 'm';
	assert_int_equal(walk_globs(long_path, patterns, 1, &limits, &result),
			 -ENOENT);
}

/* Runs as an ordinary user, for whom modes count; the exit status says. */
static int look_without_rights(void)
{
	static const char *const patterns[] = { "**/x", "shut/*", "*/y" };
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };
	owned_ptr char *taken = NULL, *blind = NULL;

	if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
		return 2;
	if (walk_globs(top, patterns, 3, &limits, &result))
		return 3;
	walk_result_sort(&result);
	taken = text_of(&result.taken);
	blind = text_of(&result.blind);
	walk_result_free(&result);
	/* list/sub: the list can be read, but nothing in it be opened. */
	if (strcmp(taken, "/list/x:0 /open/x:0 "))
		return 4;
	if (strcmp(blind, "/list/sub:0 /open/shut:0 /shut:0 /shut:1 /shut:2 "))
		return 5;
	return 0;
}

static void change_mode(const char *name, mode_t mode)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	assert_int_equal(chmod(path, mode), 0);
}

static void tells_what_it_can_not_read(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	make("shut/x");
	make("open/x");
	make("open/shut/x");
	make("list/x");
	make("list/sub/x");
	change_mode("shut", 0);
	change_mode("open/shut", 0311);
	change_mode("list", 0444);
	pid = fork();
	if (pid == 0)
		_exit(look_without_rights());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	change_mode("shut", 0755);
	change_mode("open/shut", 0755);
	change_mode("list", 0755);
	assert_int_equal(status, 0);
}

static void tells_when_the_root_is_not_there(void **state)
{
	static const char *const patterns[] = { "*" };
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };
	char path[128];

	(void)state;
	make("file");
	snprintf(path, sizeof(path), "%s/nothing", top);
	assert_int_equal(walk_globs(path, patterns, 1, &limits, &result),
			 -ENOENT);
	snprintf(path, sizeof(path), "%s/file", top);
	assert_int_equal(walk_globs(path, patterns, 1, &limits, &result),
			 -ENOTDIR);
	assert_null(result.taken.records);
}

static void stops_at_its_bounds(void **state)
{
	static const char *const patterns[] = { "**/f*" };
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };
	char name[32];
	size_t bytes;

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "d%d/f%d", i % 10, i);
		make(name);
	}
	/* 10 directories and 200 files are just enough. */
	for (uint64_t entries = 209; entries < 211; entries++) {
		limits.entries = entries;
		assert_int_equal(walk_globs(top, patterns, 1, &limits, &result),
				 entries < 210 ? -E2BIG : 0);
		assert_int_equal(limits.entries, 0);
		walk_result_free(&result);
	}
	for (bytes = 0; bytes < 1 << 20; bytes = bytes * 2 + 1) {
		limits =
			(struct walk_limits){ .entries = 1000, .bytes = bytes };
		if (!walk_globs(top, patterns, 1, &limits, &result))
			break;
		walk_result_free(&result);
	}
	assert_int_equal(result.taken.count, 200);
	assert_true(bytes > 200 * strlen(top));
	walk_result_free(&result);
}

static void avoids_what_it_is_told_to(void **state)
{
	static const char *const patterns[] = { "**/x" };
	char path[128];
	const char *avoid[] = { path, "/elsewhere" };
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };

	(void)state;
	make("a/b/x");
	make("a/bb/x");
	make("b/x");
	limits.avoid = avoid;
	limits.avoid_count = 2;
	snprintf(path, sizeof(path), "%s/a/b", top);
	assert_int_equal(walk_globs(top, patterns, 1, &limits, &result), 0);
	check(&result, "/a/bb/x:0 /b/x:0 ", "");
}

static void finds_names_to_a_depth(void **state)
{
	(void)state;
	make(".bashrc");
	make(".git/hooks/");
	make("a/.git/hooks/");
	make("a/.bashrc/");
	make("a/b/.git/hooks/");
	make("a/b/.bashrc");
	NAMES(1, "/.bashrc:0 /.git/hooks:1 ", ".bashrc", ".git/hooks");
	NAMES(2, "/.bashrc:0 /.git/hooks:1 /a/.bashrc:0 /a/.git/hooks:1 ",
	      ".bashrc", ".git/hooks");
	NAMES(0, "", ".bashrc", ".git/hooks");
	NAMES(9, "/a/b:0 /a/b/.git/hooks:1 ", "a/b", "b/.git/hooks");
}

static void finds_names_that_overlap(void **state)
{
	(void)state;
	make("a/b/a/b/c");
	make("b/c");
	make("node_modules/b/c");
	make("x/node_modules/y/b/c");
	NAMES(9, "/a/b/a/b/c:1 /a/b/a/b/c:2 /b/c:1 ", "b/d", "b/c", "a/b/c");
	NAMES(1, "", "a/b/c");
	NAMES(9, "/node_modules:0 /node_modules/b:1 /x/node_modules:0 ",
	      "node_modules", "node_modules/b", "y");
	NAMES(9, "/x/node_modules/y/b/c:0 ", "x/node_modules/y/b/c");
}

static void refuses_names_that_are_none(void **state)
{
	static const char *const bad[] = { "", "/a", "a/", "a//b" };
	struct walk_limits limits = LIMITS;
	struct walk_result result = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct walk_names wanted = { bad + i, 1, NULL, 0, 3 };

		assert_int_equal(walk_names(top, &wanted, &limits, &result),
				 -EINVAL);
	}
}

/* Random trees and patterns: the walker against glob_path() on each path. */

static unsigned int seed;

static unsigned int below(unsigned int bound)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 12) % bound;
}

static void make_random_tree(void)
{
	static const char *const parts[] = { "a",
					     "b",
					     "ab",
					     ".a",
					     "aa",
					     "[a",
					     "b]",
					     "\xc3\xa9",
					     "*",
					     "?",
					     "\xff",
					     "a\n",
					     "\xf0\x9f\x98\x80" };

	for (int i = 0; i < 40; i++) {
		char name[128] = "";

		for (unsigned int left = 1 + below(5); left; left--) {
			strcat(name, parts[below(ARRAY_SIZE(parts))]);
			if (!below(4))
				strcat(name, parts[below(ARRAY_SIZE(parts))]);
			strcat(name, "/");
		}
		make(name);
	}
}

static void make_pattern(char *pattern)
{
	static const char *const parts[] = { "a",
					     "b",
					     "*",
					     "**",
					     "?",
					     "/",
					     "/",
					     "**/",
					     "[ab]",
					     "[a/]",
					     "[a",
					     "ab",
					     ".",
					     "\xc3\xa9",
					     "***/",
					     "*",
					     "[\xc3\xa0-\xc3\xbf]",
					     "??",
					     "]",
					     "/**/" };

	*pattern = 0;
	for (unsigned int left = 1 + below(6); left; left--)
		strcat(pattern, parts[below(ARRAY_SIZE(parts))]);
}

/* All there is, by a walk that is as simple as can be. */
static void add_all(char *path, char *const *patterns, size_t count,
		    struct walk_result *want, size_t top_size)
{
	DIR *dir = opendir(path);
	size_t size = strlen(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct walk_list *list = &want->taken;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		sprintf(path + size, "/%s", entry->d_name);
		for (size_t i = 0; i < count; i++) {
			char whole[256];
			int n = sprintf(whole, "%.*s/%s", (int)top_size, top,
					patterns[i]);

			if (!glob_path(whole, (size_t)n, path, strlen(path),
				       false))
				continue;
			list->records = realloc(list->records,
						(list->count + 1) *
							sizeof(*list->records));
			list->text = realloc(list->text, list->used + 256);
			list->records[list->count++] = (struct walk_record){
				.at = list->used,
				.size = strlen(path),
				.tag = (uint32_t)i,
			};
			strcpy(list->text + list->used, path);
			list->used += strlen(path) + 1;
		}
		add_all(path, patterns, count, want, top_size);
		path[size] = 0;
	}
	if (dir)
		closedir(dir);
}

static void compare(char *const *patterns, size_t count)
{
	struct walk_limits limits = LIMITS;
	struct walk_result got = { 0 }, want = { 0 };
	owned_ptr char *is = NULL, *should = NULL;
	char path[512];

	strcpy(path, top);
	add_all(path, patterns, count, &want, strlen(top));
	assert_int_equal(walk_globs(top, (const char *const *)patterns, count,
				    &limits, &got),
			 0);
	walk_result_sort(&got);
	walk_result_sort(&want);
	is = text_of(&got.taken);
	should = text_of(&want.taken);
	if (strcmp(is, should)) {
		for (size_t i = 0; i < count; i++)
			print_error("pattern %zu: %s\n", i, patterns[i]);
		fail_msg("seed %u: %s\nshould be %s", seed, is, should);
	}
	walk_result_free(&got);
	walk_result_free(&want);
}

static void agrees_with_the_matcher(void **state)
{
	const char *given = getenv("SRT_SEED");
	char text[5][128], *patterns[5];

	(void)state;
	seed = given ? (unsigned int)atoi(given) : (unsigned int)time(NULL);
	print_message("SRT_SEED=%u\n", seed);
	make_random_tree();
	for (int turn = 0; turn < 1500; turn++) {
		size_t count = 1 + below(5);

		for (size_t i = 0; i < count; i++) {
			make_pattern(text[i]);
			patterns[i] = text[i];
		}
		compare(patterns, count);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_top, drop_top)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(finds_what_patterns_match),
		TEST(enters_only_what_can_match),
		TEST(follows_no_link),
		TEST(takes_any_bytes),
		TEST(goes_as_deep_as_the_tree),
		TEST(starts_at_a_path_longer_than_one_may_be),
		TEST(tells_what_it_can_not_read),
		TEST(tells_when_the_root_is_not_there),
		TEST(stops_at_its_bounds),
		TEST(avoids_what_it_is_told_to),
		TEST(finds_names_to_a_depth),
		TEST(finds_names_that_overlap),
		TEST(refuses_names_that_are_none),
		TEST(agrees_with_the_matcher),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
