/* SPDX-License-Identifier: Apache-2.0 */
/* Where an agent makes names though no mount holds what it may not touch. */
#ifndef SRT_AREA_H
#define SRT_AREA_H

#include "core/guard_rules.h"
#include "core/plan.h"

/**
 * struct area - what may be written, told by paths alone
 * @table: borrowed
 * @rules: borrowed; what may be neither made nor written
 * @held: what is to stay where it is, to be asked with guard_find_moved()
 */
struct area {
	const struct area_table *table;
	const struct guard_rules *rules;
	struct guard_table held_table;
	struct guard_rules held;
};

/** area_open() - Return: 0 or -ENOMEM. */
int area_open(const struct area_table *table, const struct guard_rules *rules,
	      struct area *area);

/**
 * area_has() - may a name be made, and its file be written?
 *
 * It lies beneath a top, which is none itself, and no rule denies it.
 * @path: absolute and real
 */
bool area_has(const struct area *area, const char *path);

/** area_lists() - may a folder be listed? A top may, too. */
bool area_lists(const struct area *area, const char *path);

/**
 * area_changes() - may what is there be written, or its mode changed?
 *
 * A top may, too, and what is allowed again within something denied.
 */
bool area_changes(const struct area *area, const char *path);

/** area_denies() - does a path lie beneath a top, and is not to be written? */
bool area_denies(const struct area *area, const char *path);

/** area_holds() - may @path, which is there, be neither removed nor replaced?
 */
bool area_holds(const struct area *area, const char *path);

#endif
