/* SPDX-License-Identifier: Apache-2.0 */
/* What would be denied of what is moved: a file, a link or a whole tree. */
#ifndef SRT_GUARD_MOVE_H
#define SRT_GUARD_MOVE_H

#include <stdbool.h>

#include "core/guard_rules.h"

/**
 * guard_move() - may what is there be moved?
 *
 * Asked by the agent that carries the move out, and by `srt-lua explain`.
 * @dir, @name: what is there: its folder, and its name in that
 * @from, @to: its real path now and then
 * @rule: may be NULL; filled where the answer is -EROFS
 * Return: 0, -EROFS, -EXDEV for a folder that holds more than can be looked at,
 * or -errno.
 */
int guard_move(const struct guard_rules *rules, int dir, const char *name,
	       const char *from, const char *to, struct guard_rule *rule);

/**
 * guard_move_brings() - would a folder bring what is ruled to the real path
 * @to?
 * @dir, @name: of the folder as it is now
 */
bool guard_move_brings(const struct guard_rules *rules, int dir,
		       const char *name, const char *to);

#endif
