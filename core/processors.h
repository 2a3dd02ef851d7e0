/* SPDX-License-Identifier: Apache-2.0 */
/* Where a new process begins. */
#ifndef SRT_PROCESSORS_H
#define SRT_PROCESSORS_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

/**
 * struct processors - where a process begins, and what it may run on later
 * @move: there are others than the one it is made on
 */
struct processors {
	bool move;
	cpu_set_t others;
	cpu_set_t allowed;
};

/**
 * processors_choose() - look where a child could begin
 *
 * Both have something to do, and a scheduler that puts a child behind its
 * parent's turn may leave it there until the next tick (milliseconds) while
 * another processor is idle.
 * Context: before the child is made, which sees @processors as well.
 */
void processors_choose(struct processors *processors);

/**
 * processors_part() - have a new child begin elsewhere
 *
 * Where there is no other processor, or the kernel refuses, all stays as it is.
 * Source: sched_setaffinity(2).
 */
void processors_part(pid_t child, const struct processors *processors);

/**
 * processors_restore() - undo it, in the child, or in one of its
 *
 * Where the caller was free, or bound by its cpuset alone, the child is so
 * again, so that it may use processors that come later.
 */
void processors_restore(const struct processors *processors);

#endif
