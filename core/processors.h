/* SPDX-License-Identifier: Apache-2.0 */
/* Where a new process begins. */
#ifndef SRT_PROCESSORS_H
#define SRT_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct processors - what a process may run on when it is moved no more
 * @moved: there is something to put back
 */
struct processors {
	bool moved;
	cpu_set_t allowed;
};

/**
 * processors_part() - have a new child begin on another processor than ours
 *
 * Both have something to do, and a scheduler that puts a child behind its
 * parent's turn may leave it there until the next tick (milliseconds) while
 * another processor is idle. Where there is no other one, or the kernel
 * refuses, all stays as it is.
 * @processors: filled for processors_restore()
 * Source: sched_setaffinity(2).
 */
void processors_part(pid_t child, struct processors *processors);

/**
 * processors_restore() - undo it, in the child
 *
 * Where the caller was free, or bound by its cpuset alone, the child is so
 * again, so that it may use processors that come later.
 */
void processors_restore(const struct processors *processors);

#endif
