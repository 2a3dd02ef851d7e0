/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs that are built in (tools/filters.lua) are made smaller: each
 * answers as what libseccomp makes of its rules.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <linux/audit.h>
#include <lua.h>
#include <lualib.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/seccomp.h"
#include "spec/unit/bpf_simulator.h"
#include "spec/unit/seccomp_rules.h"

#define TRIES 24 /* of arguments, for each number */

#ifdef __aarch64__
#define OURS AUDIT_ARCH_AARCH64
#else
#define OURS AUDIT_ARCH_X86_64
#endif

static struct seccomp_rule rules[2 * SECCOMP_RULES_MAX];
static int numbers[2 * SECCOMP_RULES_MAX];

/* What a key stands for, of "", "notify:" and "refuse:". */
static const char chunk[] =
	"package.path = '%s/../?.lua'\n"
	"local key, seccomp = '%.*s', require 'backends.seccomp'\n"
	"local what, names = key:match '^(%%l*):(.*)$'\n"
	"local options = {}\n"
	"for name in (names or key):gmatch '%%a+' do options[name] = true end\n"
	"if not what then return seccomp.rules(options) end\n"
	"local list, refused = seccomp.notified(options), {}\n"
	"if what == 'notify' then return list end\n"
	"for _, rule in ipairs(list) do\n"
	"  if rule.errno then\n"
	"    refused[#refused + 1] = { call = rule.call, errno = rule.errno,\n"
	"      args = rule.args }\n"
	"  end\n"
	"end\n"
	"return refused\n";

/* Adds to @rules from @count on, which is set to how many there are. */
static void build(lua_State *L, const char *key, size_t size, size_t *count,
		  struct sock_fprog *program)
{
	struct seccomp_rule *own = rules + *count;
	struct failure failure = { 0 };
	char text[2048];
	size_t more;

	snprintf(text, sizeof(text), chunk, SPEC_DIR, (int)size, key);
	more = seccomp_rules_read(L, text, own);
	if (seccomp_build(own, more, 0, program, &failure))
		fail_msg("%s: %s", key, failure.text);
	for (size_t i = 0; i < more; i++)
		numbers[*count + i] = seccomp_syscall_resolve_name(own[i].call);
	*count += more;
}

/* Those of one call. Return: how many. */
static size_t rules_of(int number, size_t count, struct seccomp_rule *own)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (numbers[i] == number)
			own[found++] = rules[i];
	}
	return found;
}

static void compare(const struct seccomp_ready *ready,
		    const struct sock_fprog *built, size_t count,
		    const struct seccomp_data *call)
{
	const struct sock_fprog program = {
		.len = ready->len,
		.filter = (struct sock_filter *)(uintptr_t)ready->code
	};
	static struct seccomp_rule own[ARRAY_SIZE(rules)];
	size_t found = rules_of(call->nr, count, own);
	struct seccomp_data data = *call;

	for (int i = 0; i < TRIES; i++) {
		unsigned int want, got;
		uint64_t args[6];

		seccomp_rules_arguments(own, found, args);
		for (size_t a = 0; a < 6; a++)
			data.args[a] = args[a];
		want = bpf_simulate(built, &data);
		got = bpf_simulate(&program, &data);
		if (got != want)
			fail_msg("%s, call %d on 0x%x: 0x%x, not 0x%x",
				 ready->key, data.nr, data.arch, got, want);
		assert_int_equal(seccomp_eval(&program, &data), want);
	}
}

static void every_program(void **state)
{
	static const uint32_t far[] = { 0x1d5,	    0x1d6,	0x200,
					0x3fffffff, 0x40000000, 0x40000001,
					0x7fffffff, 0x80000000, 0xfffffffe,
					0xffffffff };
	static const uint32_t machines[] = { OURS, OURS ^ 1, AUDIT_ARCH_I386,
					     AUDIT_ARCH_ARM, 0 };
	size_t programs = 0;

	(void)state;
	srand(1);
	for (const struct seccomp_ready *r = seccomp_ready; r->len; r++) {
		const char *plus = strchr(r->key, '+');
		size_t size = plus ? (size_t)(plus - r->key) : strlen(r->key);
		struct sock_fprog built, second = { 0 }, both = { 0 };
		lua_State *L = luaL_newstate();
		size_t count = 0;

		luaL_openlibs(L);
		build(L, r->key, size, &count, &built);
		if (plus) {
			build(L, plus + 1, strlen(plus + 1), &count, &second);
			assert_int_equal(seccomp_join(&built, &second, &both),
					 0);
		}
		for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
			struct seccomp_data data = { .arch = machines[m] };

			for (data.nr = 0; data.nr < 480; data.nr++)
				compare(r, plus ? &both : &built, count, &data);
			for (size_t i = 0; i < ARRAY_SIZE(far); i++) {
				data.nr = (int)far[i];
				compare(r, plus ? &both : &built, count, &data);
			}
		}
		free(built.filter);
		free(second.filter);
		free(both.filter);
		lua_close(L);
		programs++;
	}
	assert_in_range(programs, 100, 1000);
}

/* Each is there to be found, and two are found by their keys. */
static void by_key(void **state)
{
	struct sock_fprog program;

	(void)state;
	assert_null(seccomp_find("no such"));
	assert_non_null(seccomp_find("root,groupSignals,observe"));
	assert_true(seccomp_joined("root,groupSignals,observe",
				   "notify:observe,exclusive", &program));
	assert_false(seccomp_joined("guard", "notify:guard", &program));
	assert_false(seccomp_joined(NULL, "notify:observe", &program));
	assert_false(seccomp_joined("observe", NULL, &program));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_program),
		cmocka_unit_test(by_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
