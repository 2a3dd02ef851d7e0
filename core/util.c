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

	if (size == 1)
		return true;
	return strncmp(path, top, size) == 0 &&
	       (path[size] == '\0' || path[size] == '/');
}
