/* SPDX-License-Identifier: Apache-2.0 */
/* Environments and command lines as Windows has them. Pure; UTF-8. */
#ifndef SRT_WINDOWS_VARIABLES_H
#define SRT_WINDOWS_VARIABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/windows/plan.h"

/** struct variables - NAME=value, names in whatever case */
struct variables {
	char **list; /* owned, each too */
	size_t count;
};

/**
 * variables_put() - set a variable, in the place of one of that name
 * @text: NAME=value, copied; a text without a name is passed over
 * Return: 0 or -ENOMEM
 */
int variables_put(struct variables *variables, const char *text);

/** variables_drop() - take a variable out, if it is there */
void variables_drop(struct variables *variables, const char *name);

/**
 * variables_plan() - what of a caller's environment goes to the command, and
 * what the plan sets
 * @caller: NAME=value strings, ends with NULL
 * Return: 0 or -ENOMEM; @out is owned by the caller either way
 */
int variables_plan(struct variables *out, char *const *caller,
		   const struct win_plan *plan);

/** variables_sort() - in the order in which CreateProcess wants them */
void variables_sort(struct variables *variables);

/** variables_free() - free what is owned */
void variables_free(struct variables *variables);

/**
 * command_line() - words as one line that CommandLineToArgvW and the C runtime
 * split into just these
 * Return: owned by the caller; NULL without memory
 */
char *command_line(char *const *argv);

#endif
