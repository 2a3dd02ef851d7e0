/* SPDX-License-Identifier: Apache-2.0 */
/* Builds and installs the seccomp program of a plan. */
#ifndef SRT_SECCOMP_H
#define SRT_SECCOMP_H

#include <linux/filter.h>
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

/**
 * seccomp_install() - put the calling thread under a program for good
 * Context: no_new_privs must be set.
 * Return: 0 or -errno.
 */
int seccomp_install(const struct sock_fprog *program);

#endif
