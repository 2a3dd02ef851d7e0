/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 stops everything inside for a while. */
#ifndef SRT_FREEZE_H
#define SRT_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/threads.h"

/**
 * struct freeze - @asleep: those that were stopped before, and stay so; owned
 * @settled: all are stopped; @still: as they were then, or at the last look
 */
struct freeze {
	bool frozen, settled;
	struct threads still;
	pid_t *asleep;
	size_t count;
};

/**
 * freeze_all() - stop every process of this PID namespace but ourselves
 *
 * kill(2) with -1 reaches each one, also those that are being forked now. A
 * process can have itself continued all the same (timer_create(2), F_SETSIG).
 * To be called again until it succeeds, and then to know that it still holds.
 * Takes up to a moment. Context: PID 1.
 * Return: true where all stand still, and have since it first said so.
 */
bool freeze_all(struct freeze *freeze);

/**
 * freeze_end() - let go on what freeze_all() stopped
 *
 * Children first, so that no parent sees that its child was stopped.
 */
void freeze_end(struct freeze *freeze);

#endif
