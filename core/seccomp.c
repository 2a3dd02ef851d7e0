/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and installs the seccomp program of a plan. */
#include "core/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/system.h"

/* seccomp_export_bpf() writes to a descriptor only. */
static int export_program(scmp_filter_ctx context, struct sock_filter *head,
			  size_t head_count, struct sock_fprog *out)
{
	owned_fd int fd = memfd_create("seccomp", MFD_CLOEXEC);
	owned_ptr struct sock_filter *code = NULL;
	struct stat st;
	int error;

	if (fd < 0)
		return -errno;
	error = seccomp_export_bpf(context, fd);
	if (error)
		return error;
	if (fstat(fd, &st))
		return -errno;
	code = malloc(sizeof(*head) * head_count + (size_t)st.st_size);
	if (!code)
		return -ENOMEM;
	memcpy(code, head, sizeof(*head) * head_count);
	if (pread(fd, code + head_count, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	out->len = (unsigned short)(head_count +
				    (size_t)st.st_size / sizeof(*code));
	out->filter = code;
	code = NULL;
	return 0;
}

/* Calls that libseccomp may have no name for; everywhere the same numbers. */
static const struct {
	const char *name;
	int number;
} newer[] = { { "fchmodat2", 452 },
	      { "setxattrat", 463 },
	      { "removexattrat", 466 },
	      { "open_tree_attr", 467 },
	      { "file_setattr", 469 } };

/*
 * Numbers are the machine's own; libseccomp translates them to a foreign
 * architecture, unless it has no name for them.
 */
static int resolve(const char *name, bool foreign)
{
	int number = seccomp_syscall_resolve_name(name);

	if (number != __NR_SCMP_ERROR || foreign)
		return number;
	for (size_t i = 0; i < ARRAY_SIZE(newer); i++)
		if (!strcmp(newer[i].name, name))
			return newer[i].number;
	return number;
}

void seccomp_name(int number, char *name, size_t size)
{
	char *found =
		seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
	const char *known = found ? found : "";

	for (size_t i = 0; !found && i < ARRAY_SIZE(newer); i++)
		if (newer[i].number == number)
			known = newer[i].name;
	snprintf(name, size, "%s", known);
	free(found);
}

static int add_rule(scmp_filter_ctx context, bool foreign,
		    const struct seccomp_rule *rule)
{
	struct scmp_arg_cmp args[ARRAY_SIZE(rule->args)];
	int call = resolve(rule->call, foreign);

	/* A name of other architectures only. */
	if (call == __NR_SCMP_ERROR)
		return 0;
	for (size_t i = 0; i < rule->arg_count; i++) {
		const struct seccomp_arg *arg = &rule->args[i];
		enum scmp_compare op = arg->above     ? SCMP_CMP_GE
				       : arg->differs ? SCMP_CMP_NE
						      : SCMP_CMP_MASKED_EQ;

		args[i] = op == SCMP_CMP_MASKED_EQ
				  ? SCMP_CMP64(arg->index, op, arg->mask,
					       arg->value)
				  : SCMP_CMP64(arg->index, op, arg->value, 0);
	}
	return seccomp_rule_add_array(
		context,
		rule->notify ? SCMP_ACT_NOTIFY
			     : SCMP_ACT_ERRNO((uint16_t)rule->error),
		call, (unsigned int)rule->arg_count, args);
}

/*
 * Runs before libseccomp's code: what is newer than the rules answers ENOSYS.
 * libseccomp of Debian 12 has no names for all of these calls. The x32 range
 * (bit 30) and foreign architectures fall through to libseccomp, which kills.
 */
static const struct sock_filter *unknown_calls(uint32_t arch, size_t *count)
{
	static struct sock_filter code[6];
	uint32_t audit = arch == SCMP_ARCH_X86_64 ? AUDIT_ARCH_X86_64
						  : AUDIT_ARCH_AARCH64;

	code[0] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, audit,
					       0, 4);
	code[2] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	code[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K,
					       0x40000000, 2, 0);
	code[4] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K,
					       SECCOMP_UNKNOWN_FROM, 0, 1);
	code[5] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					       SECCOMP_RET_ERRNO | ENOSYS);
	*count = ARRAY_SIZE(code);
	return code;
}

int seccomp_build(const struct seccomp_rule *rules, size_t count, uint32_t arch,
		  struct sock_fprog *out, struct failure *failure)
{
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
	const struct sock_filter *head;
	size_t head_count;
	int error = context ? 0 : -ENOMEM;
	const char *at = "program";

	if (!arch)
		arch = seccomp_arch_native();
	/* A tree: the kernel asks the program about each number at install. */
	if (!error)
		error = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!error && arch != seccomp_arch_native()) {
		error = seccomp_arch_remove(context, SCMP_ARCH_NATIVE);
		if (!error)
			error = seccomp_arch_add(context, arch);
	}
	for (size_t i = 0; !error && i < count; i++) {
		at = rules[i].call;
		error = add_rule(context, arch != seccomp_arch_native(),
				 &rules[i]);
	}
	head = unknown_calls(arch, &head_count);
	if (!error)
		error = export_program(context, (struct sock_filter *)head,
				       head_count, out);
	if (context)
		seccomp_release(context);
	return error ? failure_set(failure, -error,
				   "cannot build the seccomp filter (%s)", at)
		     : 0;
}

const struct seccomp_ready *seccomp_find(const char *key)
{
	const struct seccomp_ready *ready = seccomp_ready;

	while (ready && ready->len && strcmp(ready->key, key))
		ready++;
	return ready && ready->len ? ready : NULL;
}

/* It is never written to. */
static struct sock_fprog program_of(const struct seccomp_ready *ready)
{
	return (struct sock_fprog){
		.len = ready->len,
		.filter = (struct sock_filter *)(uintptr_t)ready->code
	};
}

bool seccomp_joined(const char *first, const char *second,
		    struct sock_fprog *out)
{
	const struct seccomp_ready *ready;
	char key[256];

	if (!first || !second)
		return false;
	snprintf(key, sizeof(key), "%s+%s", first, second);
	ready = seccomp_find(key);
	if (ready)
		*out = program_of(ready);
	return ready;
}

int seccomp_get(const char *key, const struct seccomp_rule *rules, size_t count,
		struct sock_fprog *out, struct failure *failure)
{
	const struct seccomp_ready *ready = key ? seccomp_find(key) : NULL;

	if (!key)
		return seccomp_build(rules, count, 0, out, failure);
	if (!ready)
		return failure_set(failure, EINVAL, "no seccomp program \"%s\"",
				   key);
	*out = program_of(ready);
	return 0;
}

int seccomp_refusals(const struct notified *notified, struct sock_fprog *out,
		     struct failure *failure)
{
	owned_ptr struct seccomp_rule *rules = NULL;
	size_t count = 0;
	char key[128];

	if (notified->key) {
		/* "notify:…" and "refuse:…" (tools/filters.lua) */
		snprintf(key, sizeof(key), "refuse%s",
			 strchr(notified->key, ':'));
		return seccomp_get(key, NULL, 0, out, failure);
	}
	rules = calloc(notified->count + 1, sizeof(*rules));
	if (!rules)
		return failure_set(failure, ENOMEM, "no memory");
	for (size_t i = 0; i < notified->count; i++) {
		if (!notified->rules[i].error)
			continue;
		rules[count] = notified->rules[i];
		rules[count++].notify = false;
	}
	return seccomp_build(rules, count, 0, out, failure);
}

int seccomp_join(const struct sock_fprog *first,
		 const struct sock_fprog *second, struct sock_fprog *out)
{
	static const uint16_t allows = BPF_RET | BPF_K,
			      jumps = BPF_JMP | BPF_JA;
	unsigned int length = (unsigned int)first->len + second->len;
	struct sock_filter *code;

	if (length > BPF_MAXINSNS)
		return -E2BIG;
	code = malloc(length * sizeof(*code));
	if (!code)
		return -ENOMEM;
	memcpy(code, first->filter, first->len * sizeof(*code));
	memcpy(code + first->len, second->filter, second->len * sizeof(*code));
	/* Jumps lead forward only, from the instruction behind them. */
	for (unsigned int i = 0; i < first->len; i++)
		if (code[i].code == allows && code[i].k == SECCOMP_RET_ALLOW)
			code[i] = (struct sock_filter)BPF_STMT(
				jumps, first->len - i - 1);
	*out = (struct sock_fprog){ .len = (unsigned short)length,
				    .filter = code };
	return 0;
}

int seccomp_install(const struct sock_fprog *program)
{
	if (sys_missing("seccomp"))
		return -ENOSYS;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0UL, program)
		       ? -errno
		       : 0;
}
