/* SPDX-License-Identifier: Apache-2.0 */
/* The Landlock write layer: a second wall behind the mounts. */
#ifndef SRT_LANDLOCK_H
#define SRT_LANDLOCK_H

#include <stdint.h>

#include "core/plan.h"
#include "core/util.h"

/**
 * landlock_build() - a ruleset that allows writes beneath the plan's tops only
 *
 * What the mounts can't hold is what it is for: a descriptor that the command
 * was given leads, through /proc/self/fd, to the host's own mounts. Terminals,
 * pipes and files that descriptors 0-2 and the kept ones may already write stay
 * writable by name (/dev/stderr).
 * Context: in the new root, before seccomp.
 * @out: ruleset owned by the caller, -1 where the plan wants no layer
 * Return: 0 or -errno, @failure filled.
 */
int landlock_build(const struct plan *plan, int *out, struct failure *failure);

/**
 * landlock_rights() - what letters mean (struct landlock_path)
 * @abi: rights that it lacks are left out
 * @files: out: rights that make sense on a file
 * @entries: out: those that need a directory
 */
void landlock_rights(const char *letters, int abi, uint64_t *files,
		     uint64_t *entries);

/**
 * landlock_add() - allow something at a descriptor, and all below it
 * @files: rights that make sense on a file
 * @entries: further ones, where it is a directory
 * Return: 0 or -errno.
 */
int landlock_add(int ruleset, int fd, uint64_t files, uint64_t entries);

/**
 * landlock_add_written() - what descriptors 0-2 and the kept ones may write
 * already opens by name as well
 * @files: what is allowed at a file
 * @others: at a terminal, a device, a FIFO
 * Return: 0, or -errno, @failure filled.
 */
int landlock_add_written(int ruleset, const struct plan *plan, uint64_t files,
			 uint64_t others, struct failure *failure);

/** struct landlock_attr - as of ABI 6; older kernels take a prefix */
struct landlock_attr {
	uint64_t files;
	uint64_t net;
	uint64_t scoped;
};

/** landlock_create() - a ruleset that handles this; or -errno */
int landlock_create(const struct landlock_attr *attr);

/**
 * landlock_enter() - put the calling thread under a ruleset for good
 * Context: no_new_privs must be set.
 * Return: 0 or -errno.
 */
int landlock_enter(int ruleset);

#endif
