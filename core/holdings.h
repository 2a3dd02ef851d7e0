/* SPDX-License-Identifier: Apache-2.0 */
/* What a run needs on the host: placeholders. */
#ifndef SRT_HOLDINGS_H
#define SRT_HOLDINGS_H

#include "core/plan.h"
#include "core/util.h"

/**
 * struct holdings - what a run has made, owned by the janitor
 * @state: the locked state file, or -1
 * @locks: one for each placeholder; NULL until something was made
 */
struct holdings {
	int state;
	int *locks;
};

/**
 * holdings_make() - hold the state file, and make the plan's placeholders
 *
 * The state file names them before they are there, and is told afterwards which
 * directories they are: "id", then "DEVICE:INODE:PATH", each ended by a NUL.
 * @state: the state file, held already, if there is nothing to tell it; taken
 *	over; or -1
 * Return: 0 or -errno, @failure filled; holdings_remove() is owed either way.
 */
int holdings_make(const struct plan *plan, struct holdings *held, int state,
		  struct failure *failure);

/**
 * holdings_remove() - remove them, but for what somebody else needs still
 *
 * Context: nothing that could write to them is alive any more.
 */
void holdings_remove(const struct plan *plan, const struct holdings *held);

/**
 * holdings_sweep() - remove a placeholder that an ended run has left behind
 *
 * Only if it is one still: empty, with its mark, and not held by another run.
 */
void holdings_sweep(const char *path);

#endif
