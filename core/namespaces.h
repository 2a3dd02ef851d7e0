/* SPDX-License-Identifier: Apache-2.0 */
/* A process in new namespaces, and whose ids it has there. */
#ifndef SRT_NAMESPACES_H
#define SRT_NAMESPACES_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/identity.h"
#include "core/util.h"

/*
 * Those of PID 1. A network namespace takes most of the time that all take, so
 * PID 1 makes it, and who clones PID 1 can go on.
 */
#define NAMESPACES_CLONED                                            \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | \
	 CLONE_NEWUTS | CLONE_NEWCGROUP)
#define NAMESPACES_ENTERED CLONE_NEWNET

/**
 * namespaces_clone() - as fork(2), the child in new namespaces
 * @flags: CLONE_NEW…; with CLONE_PARENT it is the caller's sibling
 * @pidfd: set to a descriptor of the child, owned by the caller; or NULL
 * Return: the child's id, 0 in the child, or -errno.
 */
pid_t namespaces_clone(uint64_t flags, int *pidfd);

/**
 * namespaces_refused() - is an error of these calls for good?
 * Return: false for want of processes, descriptors or memory.
 */
bool namespaces_refused(int error);

/**
 * namespaces_enter() - make NAMESPACES_ENTERED, and be in them
 * Context: a child of namespaces_clone() with NAMESPACES_CLONED; the user
 * namespace that it is in owns them then, be it mapped or not.
 * Return: 0 or -errno, @failure filled.
 */
int namespaces_enter(struct failure *failure);

/**
 * namespaces_map() - write the id maps of another process's user namespace
 * Context: whoever cloned it.
 * Return: 0 or -errno, @failure filled.
 */
int namespaces_map(const struct identity *id, pid_t pid,
		   struct failure *failure);

#endif
