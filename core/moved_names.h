/* SPDX-License-Identifier: Apache-2.0 */
/* Hears of names on the way to a mount that are moved away, or made again. */
#ifndef SRT_MOVED_NAMES_H
#define SRT_MOVED_NAMES_H

#include <stdbool.h>

#include "core/plan.h"

/* Of a step's state: its name is not there, and was told. */
#define MOVED_NAMES_MISSING 2

/**
 * moved_names_open() - what hears of them, as yet of none
 *
 * A mount goes along with a name that is moved away, and the kernel tells
 * nobody; so folders are watched (inotify(7)).
 * Return: descriptor owned by the caller, to poll for POLLIN; -1 where there is
 * no room for it (the limits of inotify): then one must look now and then.
 */
int moved_names_open(void);

/**
 * moved_names_watch() - watch every folder on the way to a plan's mounts
 *
 * Again: what is there by now; what was watched before stays so.
 * @state: one a step: where MOVED_NAMES_MISSING is set, names that are made
 *	count as well
 * Return: 0; -EACCES: all but what can't be read; -ENOSPC: there is no room.
 */
int moved_names_watch(int fd, const struct plan *plan,
		      const unsigned char *state);

/**
 * moved_names_await() - hear of names that are made in the folders on the way
 * to @path, those that are there
 * Return: 0, or -ENOSPC: there is no room.
 */
int moved_names_await(int fd, const char *path);

/**
 * struct moved_words - the components of a plan's paths, each once, sorted
 * @list: NULL where there was no memory: then any name is one
 */
struct moved_words {
	char *text;
	const char **list;
	size_t count;
};

/** moved_names_learn() - of a plan; @words: zeroed */
void moved_names_learn(struct moved_words *words, const struct plan *plan);

/**
 * moved_names_read() - take some of what happened: the rest is told again
 * Return: does any of it concern a path of the plan? The command's own renames
 * come here as well, as many as it likes.
 */
bool moved_names_read(int fd, const struct moved_words *words);

#endif
