/* SPDX-License-Identifier: Apache-2.0 */
/* Names that were asked for, each with a number for the run. */
#ifndef SRT_PROXY_NAMES_H
#define SRT_PROXY_NAMES_H

#include <stdint.h>

/* The numbers: of addresses that nobody gives away, from the first on. */
enum { NAMES_FIRST = 256, NAMES_MAX = 32768 };

struct names;

/** names_new() - an empty table; NULL without memory */
struct names *names_new(void);
void names_free(struct names *names);

/**
 * names_number() - the number of a name, a new one where it had none
 * @name: canonical; copied
 * Return: NAMES_FIRST or more, or 0: there is no room.
 */
uint32_t names_number(struct names *names, const char *name);

/** names_at() - the name of a number, or NULL; borrowed */
const char *names_at(const struct names *names, uint32_t number);

#endif
