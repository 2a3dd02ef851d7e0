/* SPDX-License-Identifier: Apache-2.0 */
/* Pure helpers: owned locals, failures with a text. Nothing here asks the OS.
 */
#ifndef SRT_UTIL_H
#define SRT_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof(*(a)))

/** struct failure - what went wrong, for a person */
struct failure {
	int error;	  /* errno value, 0 when none fits */
	bool unavailable; /* this kernel or container refuses namespaces */
	char text[600];
};

/**
 * failure_set() - describe a failure
 * @failure: filled; may be NULL
 * @error: errno value; its text is appended unless it is 0
 * Return: -@error, or -EINVAL when @error is 0.
 */
int failure_set(struct failure *failure, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static inline void cleanup_free_(void *p)
{
	free(*(void **)p);
}

static inline void cleanup_fd_(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Owned locals: released when they leave scope, unless stolen. */
#define owned_ptr __attribute__((cleanup(cleanup_free_)))
#define owned_fd __attribute__((cleanup(cleanup_fd_)))

static inline int steal_fd(int *fd)
{
	int value = *fd;

	*fd = -1;
	return value;
}

/**
 * list_room() - room for one more item in a list that grows
 * @list: address of the pointer to its items; they may move
 * @count: so many there are
 * @room: for so many there is room
 * @size: of an item
 * Return: false without memory; the list is as it was.
 */
bool list_room(void *list, size_t count, size_t *room, size_t size);

/**
 * path_below() - is @path equal to @top or beneath it? Both absolute, or both
 * relative to one folder; without "." or ".." components and without a trailing
 * slash (except "/").
 */
bool path_below(const char *path, const char *top);

#endif
