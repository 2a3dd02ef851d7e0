/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and installs the seccomp program of a plan. */
#ifndef SRT_SECCOMP_H
#define SRT_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdint.h>

#include "core/plan.h"
#include "core/util.h"

/* The first system call number that the rules do not know: kernel 6.18. */
#define SECCOMP_UNKNOWN_FROM 470

/**
 * seccomp_build() - compile rules to a BPF program
 *
 * Calls that no rule names are allowed, those numbered SECCOMP_UNKNOWN_FROM and
 * up answer ENOSYS, those of a foreign ABI kill the process. Rules for calls
 * that @arch does not have are left out.
 * @arch: libseccomp's token (SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64), 0 for
 *	the machine's own
 * @out: program; @out->filter is owned by the caller (free)
 * Return: 0 or -errno, @failure filled.
 */
int seccomp_build(const struct seccomp_rule *rules, size_t count, uint32_t arch,
		  struct sock_fprog *out, struct failure *failure);

/** seccomp_name() - of a call on this machine, "" for one that it has not */
void seccomp_name(int number, char *name, size_t size);

/**
 * struct seccomp_ready - a program that was built when srt-lua was
 * @key: backends/filter_key.lua: which options; two with a "+" between are both
 *	joined
 */
struct seccomp_ready {
	const char *key;
	unsigned short len;
	const struct sock_filter *code;
};

/**
 * seccomp_ready - programs for the rules that policies come to
 *
 * libseccomp takes longer than all the rest of a start. The last one has a @len
 * of 0. Weak: what is not the program itself (tests, and the tool that writes
 * the table, tools/filters.c) is linked without, and builds each.
 */
extern const struct seccomp_ready seccomp_ready[] __attribute__((weak));

/** seccomp_find() - the ready program of a key, or NULL */
const struct seccomp_ready *seccomp_find(const char *key);

/**
 * seccomp_get() - a program of a plan: a ready one, or built now
 * @key: of the ready one, or NULL: of @rules it is built
 * @out: program, for the native architecture, to be kept until the process ends
 * Return: 0 or -errno, @failure filled.
 */
int seccomp_get(const char *key, const struct seccomp_rule *rules, size_t count,
		struct sock_fprog *out, struct failure *failure);

/**
 * seccomp_refusals() - the program of what an agent refuses of what it is told
 * @out: as of seccomp_get(): for one that refuses without an agent, and for the
 *	agent, by seccomp_eval()
 * Return: 0 or -errno, @failure filled.
 */
int seccomp_refusals(const struct notified *notified, struct sock_fprog *out,
		     struct failure *failure);

/**
 * seccomp_join() - one program that answers as two together would
 *
 * What @first allows is @second's to answer; what else @first answers stands,
 * as it would by seccomp(2)'s order of answers: it may refuse and kill, and
 * @second notifies or refuses.
 * @out: program; @out->filter is owned by the caller (free)
 * Return: 0, -ENOMEM, or -E2BIG where it would be too long.
 */
int seccomp_join(const struct sock_fprog *first,
		 const struct sock_fprog *second, struct sock_fprog *out);

/**
 * seccomp_joined() - the same of two ready ones, where that is ready as well
 * @first, @second: their keys, or NULL
 * @out: set then, as of seccomp_get()
 */
bool seccomp_joined(const char *first, const char *second,
		    struct sock_fprog *out);

/**
 * seccomp_eval() - what a program answers to a call
 *
 * Of BPF it knows what libseccomp writes; it refuses (EPERM) by anything else.
 * Return: SECCOMP_RET_ERRNO and its like.
 */
uint32_t seccomp_eval(const struct sock_fprog *program,
		      const struct seccomp_data *data);

/**
 * seccomp_install() - put the calling thread under a program for good
 * Context: no_new_privs must be set.
 * Return: 0 or -errno.
 */
int seccomp_install(const struct sock_fprog *program);

#endif
