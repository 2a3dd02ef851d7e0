/* SPDX-License-Identifier: Apache-2.0 */
/* What a run needs on the host: its temporary directory and placeholders. */
#ifndef SRT_HOLDINGS_H
#define SRT_HOLDINGS_H

#include "core/plan.h"
#include "core/util.h"

/**
 * holdings_make() - make the plan's temporary directory and placeholders
 * @locks: filled with a lock for each placeholder; plan->placeholder_count long
 * Return: 0 or -errno, @failure filled; holdings_remove() is owed either way.
 */
int holdings_make(const struct plan *plan, int *locks, struct failure *failure);

/**
 * holdings_remove() - remove them, but for what somebody else needs still
 *
 * Context: nothing that could write to them is alive any more.
 */
void holdings_remove(const struct plan *plan, const int *locks);

#endif
