/* SPDX-License-Identifier: Apache-2.0 */
/* The pure parts of srt-win.exe: plans, access lists, journal, command line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <cmocka.h>

#include "core/windows/acl.h"
#include "core/windows/journal.h"
#include "core/windows/options.h"
#include "core/windows/variables.h"

static char *read_file(const char *name, size_t *size)
{
	char path[512], *text = malloc(1 << 20);
	FILE *file;

	snprintf(path, sizeof(path), SPEC_DIR "/unit/%s", name);
	file = fopen(path, "r");
	assert_true(file && text);
	*size = fread(text, 1, 1 << 20, file);
	fclose(file);
	return text;
}

static bool json_good(const char *text)
{
	owned_json struct json *value = NULL;

	return json_parse(text, strlen(text), &value) == 0;
}

static void json_is_strict(void **state)
{
	static const char *const good[] = {
		"null",
		" [1,-2,0] ",
		"{\"a\":{\"b\":[true,false]},\"c\":\"\"}",
		"\"\\u00e4\\ud83d\\ude00\\n\"",
	};
	static const char *const bad[] = {
		"",
		"{",
		"[1,]",
		"{\"a\":1,\"a\":2}",
		"{\"a\" 1}",
		"01",
		"1.5",
		"1e3",
		"\"\\u0000\"",
		"\"\\ud800\"",
		"\"\\x\"",
		"\"a",
		"nul",
		"\"\001\"",
		"1 2",
		"- 1",
		"[1 2]",
		"1234567890123456789012",
		"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
		"{1:2}",
		"\"\\",
	};
	owned_json struct json *value = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_true(json_good(good[i]));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (json_good(bad[i]))
			fail_msg("taken: %s", bad[i]);
	}
	assert_int_equal(json_parse("\"\\u00e4\\ud83d\\ude00\"", 20, &value),
			 0);
	assert_string_equal(value->text, "\xc3\xa4\xf0\x9f\x98\x80");
}

static struct ace ace_of(bool deny, uint32_t mask, const char *sid)
{
	struct ace ace = { .deny = deny, .flags = 3, .mask = mask };

	assert_true(sid_parse(&ace.sid, sid));
	return ace;
}

/* Adds, and gives the list in place of the old one. */
static void grow(struct acl_bytes *list, const struct ace *ace)
{
	struct acl_bytes out;

	assert_int_equal(acl_add(list->bytes, ace, &out), 0);
	free(list->bytes);
	*list = out;
	assert_true(acl_valid(list->bytes, list->size));
}

static void sids_are_binary(void **state)
{
	static const uint8_t users[] = { 1,  2, 0, 0, 0,    0, 0, 5,
					 32, 0, 0, 0, 0x21, 2, 0, 0 };
	static const char *const bad[] = { "",
					   "S-1-5",
					   "S-1-5-",
					   "S-2-5-1",
					   "S-1-5-4294967296",
					   "S-1-5-1x",
					   "S-1-281474976710656-1" };
	struct sid sid;

	(void)state;
	assert_true(sid_parse(&sid, "S-1-5-32-545"));
	assert_int_equal(sid.size, sizeof(users));
	assert_memory_equal(sid.bytes, users, sizeof(users));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(sid_parse(&sid, bad[i]));
}

static void lists_stay_canonical(void **state)
{
	struct ace allow = ace_of(false, 1, "S-1-5-21-1-2-3-1001");
	struct ace deny = ace_of(true, 2, "S-1-5-21-1-2-3-1001");
	struct ace inherited = ace_of(false, 4, "S-1-5-32-545");
	struct acl_bytes list = { 0 }, out;
	static const uint8_t order[] = { 1, 1, 0, 0, 0 };
	size_t at = 8;

	(void)state;
	inherited.flags |= 0x10;
	grow(&list, &inherited);
	grow(&list, &allow);
	grow(&list, &deny);
	grow(&list, &deny);
	grow(&list, &allow);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		assert_int_equal(list.bytes[at], order[i]);
		assert_int_equal(list.bytes[at + 1] & 0x10, i == 4 ? 0x10 : 0);
		at += list.bytes[at + 2];
	}
	assert_int_equal(acl_count(list.bytes, &deny), 2);
	/* What is inherited is not ours, though it says the same. */
	inherited.flags &= ~0x10;
	assert_int_equal(acl_count(list.bytes, &inherited), 0);
	assert_int_equal(acl_remove(list.bytes, &inherited, &out), -ENOENT);
	assert_int_equal(acl_remove(list.bytes, &deny, &out), 0);
	assert_true(acl_valid(out.bytes, out.size));
	assert_int_equal(acl_count(out.bytes, &deny), 1);
	assert_int_equal(acl_count(out.bytes, &allow), 2);
	free(list.bytes);
	/* Allowing before denying: somebody made it so, nothing is added. */
	assert_int_equal(out.bytes[8], 1);
	out.bytes[8 + 36 * 2] = 1;
	assert_int_equal(acl_add(out.bytes, &deny, &list), -EINVAL);
	free(out.bytes);
}

/* Whatever was added is taken back to the very bytes that were there. */
static void lists_come_back(void **state)
{
	struct acl_bytes list = { 0 }, before[40], out;
	struct ace aces[40];

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		before[i] = list;
		aces[i] = ace_of(i % 3 == 0, i + 1, "S-1-5-21-7-7-7-1001");
		assert_int_equal(acl_add(list.bytes, &aces[i], &out), 0);
		list = out;
	}
	for (unsigned i = 40; i-- > 1;) {
		assert_int_equal(acl_remove(list.bytes, &aces[i], &out), 0);
		free(list.bytes);
		list = out;
		assert_int_equal(list.size, before[i].size);
		assert_memory_equal(list.bytes, before[i].bytes, list.size);
		free(before[i].bytes);
	}
	free(list.bytes);
}

static void lists_are_checked(void **state)
{
	static const uint8_t bad[][12] = {
		{ 2, 0, 7 },
		{ 2, 0, 8, 0, 1 },
		{ 2, 0, 12, 0, 1, 0, 0, 0, 0 },
		{ 2, 0, 12, 0, 1, 0, 0, 0, 0, 0, 5, 0 },
		{ 2, 0, 12, 0, 1, 0, 0, 0, 0, 0, 3, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(acl_valid(bad[i], bad[i][2]));
	assert_false(acl_valid(bad[0], 4));
}

/* What srt-lua prints is what the helper reads: spec/lua/windows_spec.lua
 * compares the file with what is compiled.
 */
static void plans_are_read(void **state)
{
	struct win_plan plan;
	struct failure failure;
	size_t size;
	char *text = read_file("windows-plan.json", &size), *at;

	(void)state;
	if (win_plan_read(&plan, text, size, &failure))
		fail_msg("%s", failure.text);
	assert_string_equal(plan.account, "srt-sandbox");
	assert_int_equal(plan.range.low, 60080);
	assert_int_equal(plan.keep_groups,
			 GROUP_USERS | GROUP_EVERYONE | GROUP_LOGON);
	assert_int_equal(plan.restricting,
			 GROUP_ACCOUNT | GROUP_EVERYONE | GROUP_LOGON);
	assert_int_equal(plan.path_count, 3);
	assert_string_equal(plan.paths[0].path, "Q:\\work");
	assert_true(plan.paths[0].rules[0].deny);
	win_plan_free(&plan);
	/* One digit of a mask, a port, a layer: none of it is passed over. */
	at = strstr(text, "60089");
	*at = '5';
	assert_int_not_equal(win_plan_read(&plan, text, size, &failure), 0);
	assert_non_null(strstr(failure.text, "other filters"));
	free(text);
}

static void plans_are_checked(void **state)
{
	static const char *const swaps[][2] = {
		{ "\"version\":1", "\"version\":2" },
		{ "killOnClose\":true", "killOnClose\":null" },
		{ "breakaway\":false", "breakaway\":1    " },
		{ "\"everyone\"", "\"every0ne\"" },
		{ "\"permit\"", "\"permi \"" },
		{ "acceptV6", "acceptV7" },
		{ "\"owner-rights\"", "\"owner-right5\"" },
		{ "Q:\\\\work\\\\", "Q:\\\\..\\\\\\\\" },
		{ "\"fence\":true", "\"fence\":null" },
		{ "writeClipboard", "writeClipb0ard" },
	};
	struct win_plan plan;
	struct failure failure;
	size_t size;
	char *text = read_file("windows-plan.json", &size);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(swaps); i++) {
		owned_ptr char *copy = malloc(size + 1);
		char *at;

		memcpy(copy, text, size);
		copy[size] = '\0';
		at = strstr(copy, swaps[i][0]);
		if (!at)
			fail_msg("not there: %s", swaps[i][0]);
		memcpy(at, swaps[i][1], strlen(swaps[i][1]));
		if (win_plan_read(&plan, copy, size, &failure) == 0)
			fail_msg("taken: %s", swaps[i][1]);
	}
	free(text);
}

static bool is_gone(const struct holder *holder, void *data)
{
	return holder->pid == *(const uint32_t *)data;
}

static void hold_of(struct journal *journal, uint32_t pid, char *path,
		    bool deny)
{
	struct hold hold = { .holder = { pid, 5 },
			     .path = path,
			     .rule = { .deny = deny, .mask = 0x1301bf } };

	assert_int_equal(journal_hold(journal, &hold), 0);
}

static void holds_are_counted(void **state)
{
	static char path[] = "C:\\a b", folded[] = "c:\\A B";
	struct journal journal = { 0 }, again;
	struct hold hold;
	uint32_t gone = 7;
	bool last;
	char *text;

	(void)state;
	hold_of(&journal, 7, path, false);
	hold_of(&journal, 8, folded, false);
	hold_of(&journal, 7, path, true);
	text = journal_print(&journal);
	assert_int_equal(journal_parse(&again, text, strlen(text)), 0);
	assert_int_equal(again.count, 3);
	assert_string_equal(again.holds[0].path, path);
	free(text);
	/* Another process holds what it was granted; nobody what was denied. */
	for (unsigned i = 0; i < 2; i++) {
		assert_true(journal_take(&again, is_gone, &gone, &hold, &last));
		assert_int_equal(last, hold.rule.deny);
		assert_string_equal(hold.path, path);
	}
	assert_false(journal_take(&again, is_gone, &gone, &hold, &last));
	assert_int_equal(again.count, 1);
	/* Whoever asks for others begins anew. */
	gone = 8;
	assert_true(journal_take(&again, is_gone, &gone, &hold, &last));
	assert_true(last);
	/* What could not be taken back comes in again, as nobody's. */
	hold.holder.pid = 0;
	hold.made = true;
	assert_int_equal(journal_hold(&again, &hold), 0);
	assert_true(journal_made(&again, path));
	assert_false(journal_made(&journal, path));
	journal_free(&again);
	journal_free(&journal);
}

static void journals_are_checked(void **state)
{
	static const char *const bad[] = {
		"1 2 0 0 0 3 0 C:\\x",
		"1 2 0 0 0 3 C:\\x\n",
		"x\n",
		"1 2 2 0 0 3 0 C:\\x\n",
		"4294967296 2 0 0 0 3 0 C:\\x\n",
		"1 2 0 0 0 3 0 \n",
		"-1 2 0 0 0 3 0 C:\\x\n",
		"\n",
		"1 99999999999999999999999 0 0 0 3 0 C:\\x\n",
	};
	struct journal journal;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (journal_parse(&journal, bad[i], strlen(bad[i])) == 0)
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(journal_parse(&journal, "a\0b", 3), -EINVAL);
	assert_int_equal(journal_parse(&journal, "", 0), 0);
}

static void grants_are_those_of_all(void **state)
{
	static char path[] = "C:\\a", folded[] = "c:\\A", other[] = "C:\\b";
	const struct holder us = { 8, 5 };
	struct journal journal = { 0 };

	(void)state;
	hold_of(&journal, 8, path, false);
	assert_null(journal_conflict(&journal, &us));
	/* What is denied to another is none of ours. */
	hold_of(&journal, 7, other, true);
	assert_string_equal(journal_conflict(&journal, &us), path);
	hold_of(&journal, 7, folded, false);
	assert_null(journal_conflict(&journal, &us));
	journal.holds[0].rule.mask = 0x1200a9;
	assert_non_null(journal_conflict(&journal, &us));
	journal.holds[0].rule.mask = 0x1301bf;
	hold_of(&journal, 7, other, false);
	assert_string_equal(journal_conflict(&journal, &us), other);
	hold_of(&journal, 8, other, false);
	assert_null(journal_conflict(&journal, &us));
	journal_free(&journal);
}

/* Each asked about among all the others: that would take minutes. */
static void many_holds_take_no_time(void **state)
{
	enum { MANY = 40000 };
	struct journal journal = { 0 };
	const struct holder us = { 7, 5 };
	uint32_t gone = 7;
	struct hold hold;
	size_t lasts = 0;
	clock_t begun = clock();
	char path[40];
	bool last;

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "C:\\%u", i * 7919 % MANY);
		hold_of(&journal, 7, path, false);
		hold_of(&journal, i % 2 ? 8 : 9, path, false);
	}
	assert_null(journal_conflict(&journal, &us));
	for (unsigned i = 0; i < MANY; i++)
		assert_false(journal_made(&journal, path));
	for (gone = 7; gone < 10; gone++)
		while (journal_take(&journal, is_gone, &gone, &hold, &last))
			lasts += last;
	assert_int_equal(lasts, MANY);
	assert_int_equal(journal.count, 0);
	journal_free(&journal);
	assert_true(clock() - begun < 10 * CLOCKS_PER_SEC);
}

static int parse(struct win_options *out, struct failure *failure,
		 const char *line)
{
	static char copy[300];
	static char *argv[20];
	int argc = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return options_parse(out, argv, failure);
}

static void options_are_read(void **state)
{
	static const char *const bad[][2] = {
		{ "", "no command" },
		{ "instal", "unknown command" },
		{ "windows-install --proxy-port-range 61009-61000", "range" },
		{ "windows-install --proxy-port-range 80-90", "range" },
		{ "windows-install --proxy-port-range", "needs a value" },
		{ "windows-install extra", "too much" },
		{ "windows-uninstall --proxy-port-range 2000-2001", "unknown" },
		{ "trust-ca", "needs a file" },
		{ "exec p.json", "no command" },
		{ "exec --allow-write C:\\ p.json -- x", "can't be granted" },
		{ "exec p.json --allow-read C:\\ -- x", "can't be granted" },
		{ "recover --user x", "unknown option" },
	};
	struct win_options options;
	struct failure failure;

	(void)state;
	assert_int_equal(parse(&options, &failure,
			       "--srt-win windows-install --proxy-port-range "
			       "61000-61009 --skip-wfp --user bob"),
			 0);
	assert_int_equal(options.command, WIN_INSTALL);
	assert_int_equal(options.range.high, 61009);
	assert_true(options.skip_wfp && !options.skip_account);
	assert_string_equal(options.account, "bob");
	assert_int_equal(parse(&options, &failure, "exec p.json -- c --user"),
			 0);
	assert_string_equal(options.file, "p.json");
	assert_string_equal(options.argv[1], "--user");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (parse(&options, &failure, bad[i][0]) == 0)
			fail_msg("taken: %s", bad[i][0]);
		if (!strstr(failure.text, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], failure.text);
	}
}

static void lines_are_quoted(void **state)
{
	static char *const argv[] = { "C:\\a b\\", "",	 "x\"y", "a\\\"b",
				      "\\\\s\\",   "/c", NULL };
	owned_ptr char *line = command_line(argv);

	(void)state;
	assert_string_equal(line, "\"C:\\a b\\\\\" \"\" \"x\\\"y\" "
				  "\"a\\\\\\\"b\" \\\\s\\ /c");
}

static void environments_are_the_plan_s(void **state)
{
	static char *const caller[] = { "Path=C:\\x",
					"USERPROFILE=C:\\me",
					"Http_Proxy=old",
					"=C:=C:\\",
					"KEEP=1",
					"SYSTEMROOT=C:\\Windows",
					NULL };
	struct variables out = { 0 };
	struct win_plan plan;
	struct failure failure;
	size_t size;
	char *text = read_file("windows-plan.json", &size);
	bool proxy = false;

	(void)state;
	assert_int_equal(win_plan_read(&plan, text, size, &failure), 0);
	assert_int_equal(variables_plan(&out, caller, &plan), 0);
	variables_sort(&out);
	for (size_t i = 0; i < out.count; i++) {
		assert_null(strstr(out.list[i], "USERPROFILE"));
		assert_null(strstr(out.list[i], "=old"));
		proxy |= strcasecmp(out.list[i],
				    "HTTP_PROXY=http://127.0.0.1:60080") == 0;
		if (i)
			assert_true(strcasecmp(out.list[i - 1], out.list[i]) <
				    0);
	}
	assert_true(proxy);
	variables_free(&out);
	win_plan_free(&plan);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_is_strict),
		cmocka_unit_test(sids_are_binary),
		cmocka_unit_test(lists_stay_canonical),
		cmocka_unit_test(lists_come_back),
		cmocka_unit_test(lists_are_checked),
		cmocka_unit_test(plans_are_read),
		cmocka_unit_test(plans_are_checked),
		cmocka_unit_test(holds_are_counted),
		cmocka_unit_test(journals_are_checked),
		cmocka_unit_test(many_holds_take_no_time),
		cmocka_unit_test(grants_are_those_of_all),
		cmocka_unit_test(options_are_read),
		cmocka_unit_test(lines_are_quoted),
		cmocka_unit_test(environments_are_the_plan_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
