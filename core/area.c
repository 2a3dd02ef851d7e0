/* SPDX-License-Identifier: Apache-2.0 */
/* Where an agent makes names though no mount holds what it may not touch. */
#include "core/area.h"

#include <string.h>

#include "core/util.h"

int area_open(const struct area_table *table, const struct guard_rules *rules,
	      struct area *area)
{
	area->table = table;
	area->rules = rules;
	area->held_table = (struct guard_table){
		.paths = table->held,
		.path_count = table->held_count,
	};
	return guard_rules_compile(&area->held_table, &area->held);
}

static bool is_in(const struct area *area, const char *path, bool top_too)
{
	for (size_t i = 0; i < area->table->top_count; i++) {
		const char *top = area->table->tops[i];

		if (path_below(path, top) &&
		    (top_too || strcmp(path, top) != 0))
			return !guard_denies(area->rules, path, false);
	}
	return false;
}

bool area_has(const struct area *area, const char *path)
{
	return is_in(area, path, false);
}

bool area_lists(const struct area *area, const char *path)
{
	return is_in(area, path, true);
}

bool area_changes(const struct area *area, const char *path)
{
	if (area_lists(area, path))
		return true;
	for (size_t i = 0; i < area->table->again_count; i++)
		if (path_below(path, area->table->again[i]))
			return true;
	return false;
}

bool area_denies(const struct area *area, const char *path)
{
	for (size_t i = 0; i < area->table->top_count; i++)
		if (path_below(path, area->table->tops[i]))
			return !area_changes(area, path);
	return false;
}

bool area_holds(const struct area *area, const char *path)
{
	for (size_t i = 0; i < area->table->held_count; i++)
		if (!strcmp(area->table->held[i], path))
			return true;
	return false;
}
