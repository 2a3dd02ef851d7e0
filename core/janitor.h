/* SPDX-License-Identifier: Apache-2.0 */
/* Makes what a run needs on the host, and removes it however the run ends. */
#ifndef SRT_JANITOR_H
#define SRT_JANITOR_H

#include <sys/types.h>

#include "core/plan.h"
#include "core/util.h"

/** struct janitor - a running janitor */
struct janitor {
	pid_t pid;
	int pipe; /* the janitor cleans up when this closes */
};

/**
 * janitor_start() - fork the janitor, which makes the plan's temporary
 * directory and placeholders
 *
 * It lives in a session of its own with all signals blocked, so that it
 * outlives the host process, even when that is killed with SIGKILL.
 * @out: to be handed to janitor_finish(); @out->pid is 0 where the plan
 *	needs nothing
 * Return: 0 or -errno, @failure filled.
 */
int janitor_start(const struct plan *plan, struct janitor *out,
		  struct failure *failure);

/**
 * janitor_ready() - wait until the janitor has made everything
 * Return: 0 or -errno, @failure filled.
 */
int janitor_ready(struct janitor *janitor, struct failure *failure);

/** janitor_finish() - have everything removed, and wait until it is */
void janitor_finish(struct janitor *janitor);

#endif
