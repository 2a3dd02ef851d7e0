/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that the real rules (backends/seccomp.lua) compile to, call by
 * call, in a simulator: so the arm64 one is tested on x86-64 as well.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <lua.h>
#include <lualib.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/seccomp.h"
#include "spec/unit/bpf_simulator.h"
#include "spec/unit/seccomp_rules.h"

/* As the kernel would answer; and so does what the agent goes by. */
static unsigned int simulate(const struct sock_fprog *program,
			     const struct seccomp_data *data)
{
	unsigned int answer = bpf_simulate(program, data);

	assert_int_equal(seccomp_eval(program, data), answer);
	return answer;
}

#define ALLOW SECCOMP_RET_ALLOW
#define FAIL(error) (SECCOMP_RET_ERRNO | (error))
#define HIGH (UINT64_C(1) << 32)
#define MAX_RULES SECCOMP_RULES_MAX

#define NOTIFY SECCOMP_RET_USER_NOTIF

/*
 * SOCKETS: Unix sockets by path. NOTIFIED: the program of createGuard, or with
 * SOCKETS of these, which comes on top of the other one.
 */
enum options {
	PLAIN = 0,
	ROOT = 1,
	UNIX = 2,
	NESTED = 4,
	GROUP_SIGNALS = 8,
	GUARD = 16,
	NOTIFIED = 32,
	SOCKETS = 64,
};

static const struct {
	const char *name;
	uint32_t token;
	uint32_t audit;
} machines[] = {
	{ "x86_64", SCMP_ARCH_X86_64, AUDIT_ARCH_X86_64 },
	{ "aarch64", SCMP_ARCH_AARCH64, AUDIT_ARCH_AARCH64 },
};

/* One case a row; @call may be missing on a machine, then it is passed over. */
static const struct {
	int line;
	enum options options;
	const char *call;
	uint64_t args[4];
	unsigned int want;
} rows[] = {
#define ROW(...)                      \
	{                             \
		__LINE__, __VA_ARGS__ \
	}
	ROW(PLAIN, "read", { 0 }, ALLOW),
	ROW(PLAIN, "socket", { AF_INET, SOCK_STREAM, 0 }, ALLOW),
	ROW(PLAIN, "socket", { AF_INET6, SOCK_DGRAM, 0 }, ALLOW),
	ROW(PLAIN, "socket", { AF_NETLINK, SOCK_RAW, 0 }, ALLOW),
	ROW(PLAIN, "socket", { AF_NETLINK, SOCK_RAW, 9 }, FAIL(EPERM)),
	ROW(PLAIN, "socket", { AF_UNIX, SOCK_STREAM, 0 }, FAIL(EPERM)),
	ROW(PLAIN, "socket", { HIGH | AF_UNIX, SOCK_STREAM }, FAIL(EPERM)),
	ROW(UNIX, "socket", { AF_UNIX, SOCK_STREAM, 0 }, ALLOW),
	ROW(UNIX, "socket", { AF_VSOCK, SOCK_STREAM }, FAIL(EAFNOSUPPORT)),
	ROW(PLAIN, "socket", { AF_VSOCK, SOCK_STREAM }, FAIL(EAFNOSUPPORT)),
	ROW(PLAIN, "socket", { AF_PACKET, SOCK_RAW }, FAIL(EAFNOSUPPORT)),
	ROW(PLAIN, "socket", { AF_ALG, SOCK_SEQPACKET }, FAIL(EAFNOSUPPORT)),
	ROW(PLAIN, "socket", { 46 }, FAIL(EAFNOSUPPORT)),
	ROW(PLAIN, "socket", { 0x7fffffff }, FAIL(EAFNOSUPPORT)),
	ROW(PLAIN, "socket", { HIGH | AF_PACKET }, FAIL(EAFNOSUPPORT)),
	ROW(PLAIN, "socketpair", { AF_UNIX, SOCK_STREAM }, ALLOW),
	ROW(PLAIN, "socketpair", { AF_UNIX, SOCK_SEQPACKET }, ALLOW),
	ROW(PLAIN, "socketpair", { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC },
	    ALLOW),
	ROW(PLAIN, "socketpair", { AF_UNIX, SOCK_DGRAM }, FAIL(EPERM)),
	ROW(PLAIN, "socketpair", { AF_UNIX, SOCK_RAW }, FAIL(EPERM)),
	ROW(PLAIN, "socketpair", { AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK },
	    FAIL(EPERM)),
	ROW(PLAIN, "socketpair", { AF_UNIX, HIGH | SOCK_DGRAM }, FAIL(EPERM)),
	ROW(UNIX, "socketpair", { AF_UNIX, SOCK_DGRAM }, ALLOW),
	ROW(UNIX, "io_uring_setup", { 8 }, FAIL(EPERM)),
	ROW(PLAIN, "io_uring_enter", { 0 }, FAIL(EPERM)),
	ROW(PLAIN, "bpf", { 0 }, FAIL(EPERM)),
	ROW(PLAIN, "keyctl", { 0 }, FAIL(EPERM)),
	ROW(PLAIN, "open_by_handle_at", { 0 }, FAIL(EPERM)),
	ROW(PLAIN, "mount", { 0 }, FAIL(EPERM)),
	ROW(PLAIN, "move_mount", { 0 }, FAIL(EPERM)),
	ROW(PLAIN, "setns", { 0 }, FAIL(EPERM)),
	ROW(PLAIN, "clone3", { 0 }, FAIL(ENOSYS)),
	ROW(PLAIN, "openat2", { 0 }, FAIL(ENOSYS)),
	ROW(PLAIN, "unshare", { CLONE_NEWUSER }, FAIL(EPERM)),
	ROW(PLAIN, "unshare", { HIGH | CLONE_NEWNET }, FAIL(EPERM)),
	ROW(PLAIN, "unshare", { CLONE_NEWTIME }, FAIL(EPERM)),
	ROW(PLAIN, "unshare", { CLONE_FS | CLONE_FILES }, ALLOW),
	ROW(PLAIN, "clone", { CLONE_VM | CLONE_THREAD }, ALLOW),
	ROW(PLAIN, "clone", { CLONE_NEWPID | 17 }, FAIL(EPERM)),
	ROW(PLAIN, "clone", { 0xff }, ALLOW),
	ROW(NESTED, "clone", { CLONE_NEWUSER | 17 }, ALLOW),
	ROW(NESTED, "mount", { 0 }, ALLOW),
	ROW(NESTED, "clone3", { 0 }, ALLOW),
	ROW(NESTED, "io_uring_setup", { 8 }, FAIL(EPERM)),
	ROW(NESTED, "open_by_handle_at", { 0 }, FAIL(EPERM)),
	ROW(PLAIN, "chmod", { 0, 04755 }, FAIL(EPERM)),
	ROW(PLAIN, "chmod", { 0, HIGH | 04755 }, FAIL(EPERM)),
	ROW(PLAIN, "chmod", { 0, 02755 }, ALLOW),
	ROW(ROOT, "chmod", { 0, 02755 }, FAIL(EPERM)),
	ROW(PLAIN, "chmod", { 0, 01777 }, ALLOW),
	ROW(PLAIN, "fchmod", { 3, 04000 }, FAIL(EPERM)),
	ROW(PLAIN, "fchmodat", { 3, 0, 04755 }, FAIL(EPERM)),
	ROW(PLAIN, "fchmodat2", { 3, 0, 04755 }, FAIL(EPERM)),
	ROW(PLAIN, "open", { 0, O_WRONLY | O_CREAT, 04755 }, FAIL(EPERM)),
	ROW(PLAIN, "open", { 0, O_RDONLY, 04755 }, ALLOW),
	ROW(PLAIN, "openat", { 0, 0, O_CREAT, 04755 }, FAIL(EPERM)),
	ROW(PLAIN, "openat", { 0, 0, O_CREAT, 0755 }, ALLOW),
	ROW(PLAIN, "openat", { 0, 0, O_TMPFILE | O_RDWR, 04700 }, FAIL(EPERM)),
	ROW(PLAIN, "openat", { 0, 0, O_RDONLY, 0xffffffff }, ALLOW),
	ROW(PLAIN, "creat", { 0, 04755 }, FAIL(EPERM)),
	ROW(PLAIN, "mkdirat", { 0, 0, 04755 }, FAIL(EPERM)),
	ROW(PLAIN, "mknodat", { 0, 0, 0104755 }, FAIL(EPERM)),
	ROW(ROOT, "mkdirat", { 0, 0, 02755 }, FAIL(EPERM)),
	ROW(PLAIN, "ioctl", { 0, 0x5412 }, FAIL(EPERM)),
	ROW(PLAIN, "ioctl", { 0, HIGH | 0x5412 }, FAIL(EPERM)),
	ROW(PLAIN, "ioctl", { 0, 0x541c }, FAIL(EPERM)),
	ROW(PLAIN, "ioctl", { 0, 0x5413 }, ALLOW),
	ROW(PLAIN, "ioctl", { 0, 0x5423 }, FAIL(EPERM)),
	ROW(GROUP_SIGNALS, "setpriority", { 1, 0, 5 }, FAIL(EPERM)),
	ROW(PLAIN, "setpriority", { 0, 0, 5 }, ALLOW),
	ROW(PLAIN, "setpriority", { 1, 7, 5 }, ALLOW),
	ROW(PLAIN, "ioprio_set", { 2, 0, 5 }, FAIL(EPERM)),
	ROW(PLAIN, "ioprio_set", { 1, 0, 5 }, ALLOW),
	ROW(PLAIN, "kill", { 0, 15 }, FAIL(EPERM)),
	ROW(PLAIN, "kill", { HIGH, 15 }, FAIL(EPERM)),
	ROW(PLAIN, "kill", { 2, 15 }, ALLOW),
	ROW(GROUP_SIGNALS, "kill", { 0, 15 }, ALLOW),
	ROW(PLAIN, "landlock_create_ruleset", { 0 }, ALLOW),
	ROW(GUARD, "landlock_create_ruleset", { 0 }, FAIL(EOPNOTSUPP)),
	ROW(GUARD, "ioctl", { 0, HIGH | 0x5000940e }, FAIL(ENOTTY)),
	ROW(PLAIN, "ioctl", { 0, 0x5000940e }, ALLOW),
	ROW(PLAIN, "ioctl", { 0, HIGH | 0x50009417 }, FAIL(ENOTTY)),
	ROW(PLAIN, "fcntl", { 0, 1024 }, FAIL(EACCES)),
	ROW(PLAIN, "fcntl", { 0, 3 }, ALLOW),
	ROW(GUARD, "openat2", { 0 }, FAIL(ENOSYS)),
	ROW(SOCKETS, "socket", { AF_UNIX, SOCK_STREAM }, ALLOW),
	ROW(SOCKETS, "socket", { AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC }, ALLOW),
	ROW(SOCKETS, "socket", { AF_UNIX, SOCK_SEQPACKET }, ALLOW),
	ROW(SOCKETS, "socket", { AF_UNIX, SOCK_DGRAM }, FAIL(EPERM)),
	ROW(SOCKETS, "socket", { AF_UNIX, HIGH | SOCK_DGRAM }, FAIL(EPERM)),
	ROW(SOCKETS, "socket", { HIGH | AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK },
	    FAIL(EPERM)),
	/* To the kernel a datagram socket, too. */
	ROW(SOCKETS, "socket", { AF_UNIX, SOCK_RAW }, FAIL(EPERM)),
	ROW(SOCKETS, "socket", { AF_UNIX, 0 }, FAIL(EPERM)),
	ROW(SOCKETS, "socket", { AF_UNIX, 0xf }, FAIL(EPERM)),
	ROW(SOCKETS, "socket", { AF_INET, SOCK_DGRAM }, ALLOW),
	ROW(SOCKETS, "socket", { AF_VSOCK, SOCK_STREAM }, FAIL(EAFNOSUPPORT)),
	ROW(SOCKETS, "socketpair", { AF_UNIX, SOCK_STREAM }, ALLOW),
	ROW(SOCKETS, "socketpair", { AF_UNIX, SOCK_DGRAM }, FAIL(EPERM)),
	ROW(SOCKETS | UNIX, "socket", { AF_UNIX, SOCK_DGRAM }, ALLOW),
	ROW(SOCKETS, "io_uring_setup", { 0 }, FAIL(EPERM)),
	ROW(NOTIFIED | SOCKETS, "connect", { 0 }, NOTIFY),
	ROW(NOTIFIED | SOCKETS, "connect", { HIGH }, NOTIFY),
	ROW(NOTIFIED | SOCKETS, "listen", { 0 }, NOTIFY),
	ROW(NOTIFIED | SOCKETS, "bind", { 0 }, ALLOW),
	ROW(NOTIFIED | SOCKETS, "mkdir", { 0 }, ALLOW),
	ROW(NOTIFIED | SOCKETS | GUARD, "mkdir", { 0 }, NOTIFY),
	ROW(NOTIFIED | SOCKETS | GUARD, "connect", { 0 }, NOTIFY),
	ROW(NOTIFIED, "connect", { 0 }, ALLOW),
	ROW(NOTIFIED, "read", { 0 }, ALLOW),
	ROW(NOTIFIED, "open", { 0, O_RDWR, 0 }, ALLOW),
	ROW(NOTIFIED, "open", { 0, O_RDWR | O_CREAT, 0 }, NOTIFY),
	ROW(NOTIFIED, "open", { 0, O_PATH | O_CREAT, 0 }, ALLOW),
	ROW(NOTIFIED, "openat", { 0, 0, O_RDONLY | O_TRUNC, 0 }, ALLOW),
	ROW(NOTIFIED, "openat", { 0, 0, O_CREAT, 0 }, NOTIFY),
	ROW(NOTIFIED, "openat", { HIGH, 0, HIGH | O_CREAT | O_EXCL }, NOTIFY),
	ROW(NOTIFIED, "openat", { 0, 0, O_TMPFILE | O_RDWR }, ALLOW),
	ROW(NOTIFIED, "creat", { 0 }, NOTIFY),
	ROW(NOTIFIED, "mkdir", { 0 }, NOTIFY),
	ROW(NOTIFIED, "mkdirat", { 0 }, NOTIFY),
	ROW(NOTIFIED, "mknod", { 0 }, NOTIFY),
	ROW(NOTIFIED, "mknodat", { 0 }, NOTIFY),
	ROW(NOTIFIED, "symlink", { 0 }, NOTIFY),
	ROW(NOTIFIED, "symlinkat", { 0 }, NOTIFY),
	ROW(NOTIFIED, "link", { 0 }, NOTIFY),
	ROW(NOTIFIED, "linkat", { 0 }, NOTIFY),
	ROW(NOTIFIED, "rename", { 0 }, NOTIFY),
	ROW(NOTIFIED, "renameat", { 0 }, NOTIFY),
	ROW(NOTIFIED, "renameat2", { 0 }, NOTIFY),
	ROW(NOTIFIED, "unlinkat", { 0 }, ALLOW),
#undef ROW
};

static struct seccomp_rule rules[MAX_RULES];

/* Fills @rules; their names live as long as @L. */
static size_t read_rules(lua_State *L, enum options options)
{
	char call[256];
	size_t count;

	snprintf(call, sizeof(call),
		 "package.path='%s/../?.lua' "
		 "return require('backends.seccomp').%s{root=%s,"
		 "unix=%s,nested=%s,groupSignals=%s,guard=%s,sockets=%s}",
		 SPEC_DIR, options & NOTIFIED ? "notified" : "rules",
		 options & ROOT ? "true" : "false",
		 options & UNIX ? "true" : "false",
		 options & NESTED ? "true" : "false",
		 options & GROUP_SIGNALS ? "true" : "false",
		 options & GUARD || options == NOTIFIED ? "true" : "false",
		 options & SOCKETS ? "true" : "false");
	count = seccomp_rules_read(L, call, rules);
	assert_in_range(count, 1, MAX_RULES);
	return count;
}

static void build(enum options options, uint32_t token,
		  struct sock_fprog *program)
{
	struct failure failure = { 0 };
	lua_State *L = luaL_newstate();
	size_t count;

	luaL_openlibs(L);
	count = read_rules(L, options);
	if (seccomp_build(rules, count, token, program, &failure))
		fail_msg("%s", failure.text);
	lua_close(L);
}

static void every_row_on_every_machine(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct sock_fprog program;
			struct seccomp_data data = {
				.arch = machines[m].audit,
				.nr = seccomp_syscall_resolve_name_arch(
					machines[m].token, rows[i].call),
			};
			unsigned int got;

			if (data.nr < 0)
				continue;
			memcpy(data.args, rows[i].args, sizeof(rows[i].args));
			build(rows[i].options, machines[m].token, &program);
			got = simulate(&program, &data);
			free(program.filter);
			if (got != rows[i].want)
				fail_msg("line %d, %s on %s: 0x%x, not 0x%x",
					 rows[i].line, rows[i].call,
					 machines[m].name, got, rows[i].want);
		}
	}
}

/* Calls that the library may not know yet are refused by number. */
static void newer_calls(void **state)
{
	struct sock_fprog program;
	struct seccomp_data data = { .arch = machines[0].audit,
				     .nr = 452,
				     .args = { 3, 0, 04755 } };

	(void)state;
	if (seccomp_arch_native() == SCMP_ARCH_AARCH64)
		data.arch = machines[1].audit;
	build(PLAIN, 0, &program);
	assert_int_equal(simulate(&program, &data), FAIL(EPERM));
	data.args[2] = 0755;
	assert_int_equal(simulate(&program, &data), ALLOW);
	data.nr = 467;
	assert_int_equal(simulate(&program, &data), FAIL(EPERM));
	free(program.filter);
}

static unsigned int ask(const struct sock_fprog *program, uint32_t arch,
			int call)
{
	struct seccomp_data data = { .arch = arch, .nr = call };

	return simulate(program, &data);
}

static void unknown_calls_and_foreign_machines(void **state)
{
	(void)state;
	for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
		struct sock_fprog program;
		uint32_t own = machines[m].audit;

		build(PLAIN, machines[m].token, &program);
		for (int call = SECCOMP_UNKNOWN_FROM; call < 2000; call++)
			assert_int_equal(ask(&program, own, call),
					 FAIL(ENOSYS));
		assert_int_equal(ask(&program, own, SECCOMP_UNKNOWN_FROM - 1),
				 ALLOW);
		assert_int_not_equal(ask(&program, AUDIT_ARCH_I386, 1), ALLOW);
		assert_int_not_equal(ask(&program, AUDIT_ARCH_ARM, 1), ALLOW);
		assert_int_not_equal(ask(&program, machines[!m].audit, 1),
				     ALLOW);
		if (machines[m].token == SCMP_ARCH_X86_64)
			assert_int_not_equal(ask(&program, own, 0x40000029),
					     ALLOW);
		free(program.filter);
	}
}

static bool holds(const struct seccomp_rule *rule,
		  const struct seccomp_data *data)
{
	for (size_t i = 0; i < rule->arg_count; i++) {
		const struct seccomp_arg *arg = &rule->args[i];
		uint64_t value = data->args[arg->index];
		bool same = (value & arg->mask) == arg->value;

		if (arg->above	   ? value < arg->value
		    : arg->differs ? value == arg->value
				   : !same)
			return false;
	}
	return true;
}

/*
 * A call is answered as one of the rules that hold for it says.
 * @numbers: of the rules' calls
 */
static bool as_the_rules_say(const struct seccomp_data *data,
			     const int *numbers, size_t count,
			     unsigned int answer)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		unsigned int wants = FAIL((unsigned int)rules[i].error);

		if (numbers[i] != data->nr || !holds(&rules[i], data))
			continue;
		if (answer == (rules[i].notify ? NOTIFY : wants))
			return true;
		any = true;
	}
	return !any && answer == ALLOW;
}

static void every_number_as_the_rules_say(void **state)
{
	static const enum options sets[] = { PLAIN, ROOT | UNIX | GROUP_SIGNALS,
					     NESTED, GUARD | SOCKETS,
					     NOTIFIED | GUARD | SOCKETS };

	(void)state;
	srand(1);
	for (size_t m = 0; m < ARRAY_SIZE(machines); m++) {
		for (size_t s = 0; s < ARRAY_SIZE(sets); s++) {
			struct failure failure = { 0 };
			lua_State *L = luaL_newstate();
			struct sock_fprog program;
			int numbers[MAX_RULES];
			size_t count;

			luaL_openlibs(L);
			count = read_rules(L, sets[s]);
			for (size_t i = 0; i < count; i++)
				numbers[i] = seccomp_syscall_resolve_name_arch(
					machines[m].token, rules[i].call);
			assert_int_equal(seccomp_build(rules, count,
						       machines[m].token,
						       &program, &failure),
					 0);
			for (int i = 0; i < 300 * 450; i++) {
				struct seccomp_data data = {
					.arch = machines[m].audit,
					.nr = i % 450,
				};
				unsigned int got;

				for (size_t a = 0; a < 6; a++)
					data.args[a] = seccomp_rules_argument(
						rules, count);
				got = simulate(&program, &data);
				if (!as_the_rules_say(&data, numbers, count,
						      got))
					fail_msg("call %d on %s: 0x%x", data.nr,
						 machines[m].name, got);
			}
			free(program.filter);
			lua_close(L);
		}
	}
}

/* What the first allows is the second's to answer, and nothing else is. */
static void two_joined_answer_as_two(void **state)
{
	struct sock_fprog first, second, joined;

	(void)state;
	build(SOCKETS, machines[0].token, &first);
	build(NOTIFIED | SOCKETS | GUARD, machines[0].token, &second);
	assert_int_equal(seccomp_join(&first, &second, &joined), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct seccomp_data data = {
			.arch = machines[0].audit,
			.nr = seccomp_syscall_resolve_name_arch(
				machines[0].token, rows[i].call),
		};
		unsigned int want;

		memcpy(data.args, rows[i].args, sizeof(rows[i].args));
		want = bpf_simulate(&first, &data);
		if (want == ALLOW)
			want = bpf_simulate(&second, &data);
		assert_int_equal(bpf_simulate(&joined, &data), want);
	}
	free(first.filter);
	free(second.filter);
	free(joined.filter);
	first.len = BPF_MAXINSNS;
	second.len = 1;
	assert_int_equal(seccomp_join(&first, &second, &joined), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_on_every_machine),
		cmocka_unit_test(newer_calls),
		cmocka_unit_test(unknown_calls_and_foreign_machines),
		cmocka_unit_test(every_number_as_the_rules_say),
		cmocka_unit_test(two_joined_answer_as_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
