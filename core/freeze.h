/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 stops everything inside for a while. */
#ifndef SRT_FREEZE_H
#define SRT_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct freeze - @asleep: those that were stopped before, and stay so; owned
 */
struct freeze {
	bool frozen;
	pid_t *asleep;
	size_t count;
};

/**
 * freeze_all() - stop every process of this PID namespace but ourselves
 *
 * kill(2) with -1 reaches each one, also those that are being forked now.
 * Returns when none runs any more, or after a moment: who is in the kernel
 * then stops before it is back in its program.
 * Context: PID 1.
 */
void freeze_all(struct freeze *freeze);

/**
 * freeze_end() - let go on what freeze_all() stopped
 *
 * Children first, so that no parent sees that its child was stopped.
 */
void freeze_end(struct freeze *freeze);

#endif
