/* SPDX-License-Identifier: Apache-2.0 */
/* Which names may not be made: the plan's table, compiled. Pure. */
#ifndef SRT_GUARD_RULES_H
#define SRT_GUARD_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/plan.h"

/**
 * struct guard_rules - what lua/srt/create_guard.lua says, ready for asking
 * @table: borrowed
 * @paths: owned, sorted by bytes
 */
struct guard_rules {
	const struct guard_table *table;
	const char **paths;
};

/** guard_rules_compile() - Return: 0 or -ENOMEM. */
int guard_rules_compile(const struct guard_table *table,
			struct guard_rules *rules);

/** struct guard_rule - the rule that was found, by its place in the table */
struct guard_rule {
	enum { GUARD_NONE, GUARD_PATH, GUARD_NAME, GUARD_GLOB } kind;
	size_t index; /* of a GUARD_PATH: in @paths of struct guard_rules */
};

/**
 * guard_find() - the rule by which @path may not be made
 *
 * A rule holds for the path itself and all beneath it. A symbolic link may also
 * not stand where a folder on the way to a ruled path would be: through it the
 * path would lead elsewhere. Only where a pattern has nothing but stars for
 * that folder, a link is let be.
 * @path: absolute and real
 * @link: what is made is a symbolic link
 */
struct guard_rule guard_find(const struct guard_rules *rules, const char *path,
			     bool link);

/** guard_denies() - may @path not be made? As guard_find() says. */
bool guard_denies(const struct guard_rules *rules, const char *path, bool link);

/** What guard_find_moved() asks: is @rest there, beneath the moved folder? */
typedef bool guard_exists(void *data, const char *rest);

/**
 * guard_find_moved() - the rule of what a folder, moved to @path, would bring
 *
 * Looks at exact paths and names. Patterns are asked for entry by entry with
 * guard_pattern_denies().
 */
struct guard_rule guard_find_moved(const struct guard_rules *rules,
				   const char *path, guard_exists *exists,
				   void *data);

/**
 * guard_patterns_move() - can a move from @from to @to matter to a pattern?
 *
 * Not to one of which only the last component counts in both places.
 */
bool guard_patterns_move(const struct guard_rules *rules, const char *from,
			 const char *to);

/** guard_pattern_denies() - guard_denies(), of patterns only */
bool guard_pattern_denies(const struct guard_rules *rules, const char *path,
			  bool link);

#endif
