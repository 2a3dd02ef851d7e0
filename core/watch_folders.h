/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that were writable a moment ago. Pure but for the clock. */
#ifndef SRT_WATCH_FOLDERS_H
#define SRT_WATCH_FOLDERS_H

#include <stdbool.h>
#include <stddef.h>

#define WATCH_FOLDERS 64
/* Longer paths are looked up each time. */
#define WATCH_FOLDER_SIZE 240

/**
 * struct watch_folders - absolute paths, each in the place its hash says
 * @until: when it has to be looked up anew
 */
struct watch_folders {
	struct watch_folder {
		long long until;
		size_t size;
		char path[WATCH_FOLDER_SIZE];
	} kept[WATCH_FOLDERS];
};

/** watch_folders_know() - is it one of these? @path need not end at @size */
bool watch_folders_know(const struct watch_folders *folders, const char *path,
			size_t size);

/** watch_folders_keep() - it is writable now */
void watch_folders_keep(struct watch_folders *folders, const char *path,
			size_t size);

/**
 * watch_folders_forget() - all of them
 *
 * For what may lead a path elsewhere: a link, or a folder that moves.
 */
void watch_folders_forget(struct watch_folders *folders);

#endif
