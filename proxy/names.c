/* SPDX-License-Identifier: Apache-2.0 */
/* Names that were asked for, each with a number for the run. */
#include "proxy/names.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * NAMES_MAX };

/*
 * @slots: by hash, places in @list plus one; 0 for free. A command that seeks
 * collisions slows down its own lookups, by microseconds: the list is short.
 */
struct names {
	char *list[NAMES_MAX];
	uint16_t slots[SLOTS];
	uint32_t count;
};

_Static_assert(NAMES_MAX < UINT16_MAX, "a place fits in a slot");

struct names *names_new(void)
{
	return calloc(1, sizeof(struct names));
}

void names_free(struct names *names)
{
	if (!names)
		return;
	for (uint32_t i = 0; i < names->count; i++)
		free(names->list[i]);
	free(names);
}

/* FNV-1a */
static uint32_t hash(const char *name)
{
	uint32_t value = 2166136261U;

	for (; *name; name++)
		value = (value ^ (unsigned char)*name) * 16777619U;
	return value;
}

/* The slot that holds @name, or the free one where it belongs. */
static uint16_t *find(struct names *names, const char *name)
{
	uint32_t at = hash(name) % SLOTS;

	while (names->slots[at] &&
	       strcmp(names->list[names->slots[at] - 1], name) != 0)
		at = (at + 1) % SLOTS;
	return &names->slots[at];
}

uint32_t names_number(struct names *names, const char *name)
{
	uint16_t *slot = find(names, name);
	char *copy;

	if (*slot)
		return NAMES_FIRST + *slot - 1U;
	if (names->count == NAMES_MAX)
		return 0;
	copy = strdup(name);
	if (!copy)
		return 0;
	names->list[names->count] = copy;
	*slot = (uint16_t)++names->count;
	return NAMES_FIRST + *slot - 1U;
}

const char *names_at(const struct names *names, uint32_t number)
{
	uint32_t place = number - NAMES_FIRST;

	return place < names->count ? names->list[place] : NULL;
}
