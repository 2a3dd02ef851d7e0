/* SPDX-License-Identifier: Apache-2.0 */
/* remove_tree() against what hostile code can leave behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/remove_tree.h"

static char top[64];

static int make_top(void **state)
{
	(void)state;
	strcpy(top, "/tmp/srt-remove-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int drop_top(void **state)
{
	(void)state;
	assert_int_equal(access(top, F_OK), -1);
	return 0;
}

static void touch(int dir, const char *name)
{
	int fd = openat(dir, name, O_CREAT | O_WRONLY, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void removes_a_tree_deeper_than_a_path_may_be_long(void **state)
{
	int dir = open(top, O_RDONLY | O_DIRECTORY), next;

	(void)state;
	for (int depth = 0; depth < 5000; depth++) {
		touch(dir, "file");
		assert_int_equal(mkdirat(dir, "lifted0", 0700), 0);
		next = openat(dir, "lifted0", O_RDONLY | O_DIRECTORY);
		close(dir);
		dir = next;
	}
	close(dir);
	assert_int_equal(remove_tree(top), 0);
}

static void opens_directories_without_permissions(void **state)
{
	int dir = open(top, O_RDONLY | O_DIRECTORY);

	(void)state;
	assert_int_equal(mkdirat(dir, "a", 0700), 0);
	assert_int_equal(mkdirat(dir, "a/b", 0700), 0);
	touch(dir, "a/b/c");
	assert_int_equal(fchmodat(dir, "a/b", 0, 0), 0);
	assert_int_equal(fchmodat(dir, "a", 0, 0), 0);
	assert_int_equal(fchmod(dir, 0), 0);
	close(dir);
	assert_int_equal(remove_tree(top), 0);
}

static void follows_no_link(void **state)
{
	char outside[] = "/tmp/srt-outside-XXXXXX", path[128];

	(void)state;
	assert_non_null(mkdtemp(outside));
	snprintf(path, sizeof(path), "%s/keep", outside);
	touch(AT_FDCWD, path);
	snprintf(path, sizeof(path), "%s/link", top);
	assert_int_equal(symlink(outside, path), 0);
	assert_int_equal(remove_tree(top), 0);
	snprintf(path, sizeof(path), "%s/keep", outside);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(outside), 0);
}

/* Somebody swaps a directory for a link while it is removed. */
static void never_changes_the_mode_of_what_a_link_names(void **state)
{
	char victim[] = "/tmp/srt-victim-XXXXXX", a[128], b[128];
	struct stat st;
	pid_t swapper;

	(void)state;
	assert_non_null(mkdtemp(victim));
	assert_int_equal(chmod(victim, 0755), 0);
	for (int round = 0; round < 40; round++) {
		mkdir(top, 0700);
		snprintf(a, sizeof(a), "%s/d", top);
		mkdir(a, 0700);
		snprintf(b, sizeof(b), "%s/d/e", top);
		mkdir(b, 0700);
		snprintf(b, sizeof(b), "%s/l", top);
		(void)!symlink(victim, b);
		swapper = fork();
		if (swapper == 0)
			for (;;)
				renameat2(AT_FDCWD, a, AT_FDCWD, b,
					  RENAME_EXCHANGE);
		(void)remove_tree(top);
		kill(swapper, SIGKILL);
		waitpid(swapper, NULL, 0);
		(void)remove_tree(top);
		assert_int_equal(stat(victim, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0755);
	}
	assert_int_equal(rmdir(victim), 0);
}

static void leaves_a_link_in_place_of_the_top_alone(void **state)
{
	char other[80];

	(void)state;
	snprintf(other, sizeof(other), "%s.real", top);
	assert_int_equal(rename(top, other), 0);
	assert_int_equal(symlink(other, top), 0);
	assert_int_not_equal(remove_tree(top), 0);
	assert_int_equal(access(other, F_OK), 0);
	assert_int_equal(unlink(top), 0);
	assert_int_equal(rmdir(other), 0);
}

static void says_what_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(rmdir(top), 0);
	assert_int_equal(remove_tree(top), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_top, drop_top)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(removes_a_tree_deeper_than_a_path_may_be_long),
		TEST(opens_directories_without_permissions),
		TEST(follows_no_link),
		TEST(never_changes_the_mode_of_what_a_link_names),
		TEST(leaves_a_link_in_place_of_the_top_alone),
		TEST(says_what_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
