/* SPDX-License-Identifier: Apache-2.0 */
/* A process in new namespaces, and whose ids it has there. */
#ifndef SRT_NAMESPACES_H
#define SRT_NAMESPACES_H

#include <sched.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/identity.h"
#include "core/util.h"

/* Those of PID 1. */
#define NAMESPACES_ALL                                               \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | \
	 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/**
 * namespaces_clone() - as fork(2), the child in new namespaces
 * @flags: CLONE_NEW…
 * @pidfd: set to a descriptor of the child, owned by the caller; or NULL
 * Return: the child's id, 0 in the child, or -errno.
 */
pid_t namespaces_clone(uint64_t flags, int *pidfd);

/**
 * namespaces_map() - write the id maps of a child's user namespace
 * Context: its parent.
 * Return: 0 or -errno, @failure filled.
 */
int namespaces_map(const struct identity *id, pid_t pid,
		   struct failure *failure);

#endif
