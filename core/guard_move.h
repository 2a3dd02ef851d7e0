/* SPDX-License-Identifier: Apache-2.0 */
/* What would be denied of what is moved: a file, a link or a whole tree. */
#ifndef SRT_GUARD_MOVE_H
#define SRT_GUARD_MOVE_H

#include <stdbool.h>

#include "core/guard_rules.h"

/**
 * struct guard_moved - what is to be moved
 * @dir, @name: its folder, and its name in that
 * @real: its real path
 * @masks, @scaffolds: real paths of covers that a plan puts over folders, where
 *	whoever looks does not stand behind them; what a mask covers can't even
 *	be asked for
 */
struct guard_moved {
	int dir;
	const char *name;
	const char *real;
	const char *const *masks, *const *scaffolds;
	size_t mask_count, scaffold_count;
};

/**
 * guard_move() - may what is there be moved?
 *
 * Asked by the agent that carries the move out, and by `srt-lua explain`. What
 * is denied is told before what can't be looked at, in whatever order a folder
 * gives its entries.
 * @to: its real path then
 * @rule: may be NULL; filled where the answer is -EROFS
 * Return: 0, -EROFS, -EXDEV for a folder that holds more than can be looked at,
 * or -errno.
 */
int guard_move(const struct guard_rules *rules, const struct guard_moved *what,
	       const char *to, struct guard_rule *rule);

/**
 * guard_move_brings() - would a folder bring what is ruled to the real path
 * @to?
 */
bool guard_move_brings(const struct guard_rules *rules,
		       const struct guard_moved *what, const char *to);

#endif
