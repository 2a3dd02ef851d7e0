/* SPDX-License-Identifier: Apache-2.0 */
/* Pure helpers. */
#include "core/util.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int failure_set(struct failure *failure, int error, const char *format, ...)
{
	va_list args;
	size_t used;

	if (failure) {
		failure->error = error;
		va_start(args, format);
		vsnprintf(failure->text, sizeof(failure->text), format, args);
		va_end(args);
		used = strlen(failure->text);
		if (error)
			snprintf(failure->text + used,
				 sizeof(failure->text) - used, ": %s",
				 strerror(error));
	}
	return error ? -error : -EINVAL;
}

bool path_below(const char *path, const char *top)
{
	size_t size = strlen(top);

	if (size == 1 && *top == '/')
		return true;
	return strncmp(path, top, size) == 0 &&
	       (path[size] == '\0' || path[size] == '/');
}

bool list_room(void *list, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *items;

	if (count < *room)
		return true;
	memcpy(&items, list, sizeof(items));
	items = realloc(items, more * size);
	if (!items)
		return false;
	memcpy(list, &items, sizeof(items));
	*room = more;
	return true;
}
