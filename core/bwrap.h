/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces and mounts made by bubblewrap, with our PID 1 inside. */
#ifndef SRT_BWRAP_H
#define SRT_BWRAP_H

#include <sys/types.h>

#include "core/janitor.h"

/* Where a plan's arguments show the masks, until PID 1 has hidden them. */
#define BWRAP_MASKS "/dev/srt-masks"
/* First argument of this program when it is to be PID 1 of a bubblewrap. */
#define BWRAP_INSIDE "--inside"

/**
 * struct bwrap - a bubblewrap as the janitor has it; owned descriptors, or -1
 * @info: it tells PID 1's number there
 * @errors: what it says when it fails
 * @init: of PID 1
 */
struct bwrap {
	int info;
	int errors;
	int init;
};

/**
 * bwrap_clone() - fork the process that becomes the plan's bubblewrap
 *
 * On MESSAGE_MAPS it executes it. Bubblewrap gets the plan's arguments, the
 * base seccomp program and the plan by descriptors, and this program to execute
 * as PID 1, which goes on as setup_run(). Of our environment only the test
 * hooks are handed on.
 * Context: janitor; the plan is complete, all signals are blocked.
 * @pidfd: filled
 * Return: pid, or -errno.
 */
pid_t bwrap_clone(const struct shared *shared,
		  const struct janitor_sockets *sockets, int *pidfd,
		  struct bwrap *out);

/**
 * bwrap_masks() - make the folder of masks, on the host
 * Return: 0, or -errno with @failure filled.
 */
int bwrap_masks(const struct plan *plan, struct failure *failure);

/**
 * bwrap_note() - note what the plan's binds are to show
 * Context: janitor; all of it is there, and bubblewrap has not begun.
 * Return: 0, or -errno with @failure filled (ELOOP: a link is on the way).
 */
int bwrap_note(struct plan *plan, struct failure *failure);

/**
 * bwrap_verify() - does every step show what it is to show, at its target?
 * Context: PID 1, the root is made.
 * Return: 0, or -errno with @failure filled.
 */
int bwrap_verify(const struct plan *plan, int masks, struct failure *failure);

/**
 * bwrap_await() - until PID 1 is there, or bubblewrap has failed
 * @pidfd: of bubblewrap
 * @init: filled with PID 1's number as we see it
 * Return: 0, or -errno with @failure filled.
 */
int bwrap_await(struct bwrap *bwrap, int pidfd, pid_t *init,
		struct failure *failure);

/** bwrap_failure() - what it said on its way out; 0 where that is nothing */
int bwrap_failure(const struct bwrap *bwrap, struct failure *failure);

/** bwrap_end() - once bubblewrap is reaped: kill PID 1, reap all there is */
void bwrap_end(const struct bwrap *bwrap);

/**
 * bwrap_inside() - be PID 1: what main() does with BWRAP_INSIDE
 * Return: exit status where it could not even begin.
 */
int bwrap_inside(int argc, char **argv);

/**
 * bwrap_root() - what bubblewrap has not done for the root
 *
 * Hides the masks where they can be cloned from, makes /dev as the namespaces
 * backend does, and closes what uid 0 could write in /proc.
 * Context: PID 1, with CAP_SYS_ADMIN where its mount namespace belongs.
 * @masks: filled; owned by the caller
 * Return: 0, or -errno with @failure filled.
 */
int bwrap_root(const struct plan *plan, int *masks, struct failure *failure);

#endif
