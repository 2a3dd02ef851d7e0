/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the glob matcher: no bad access, and "beneath" is what it says:
 * the path, or a directory above it, matches. Input: pattern, newline, path.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/glob.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 4096 };

static bool some_above(const char *pattern, size_t n, const char *path,
		       size_t size)
{
	if (size && path[0] == '/' && glob_path(pattern, n, path, 1, false))
		return true;
	for (size_t i = 1; i < size; i++)
		if (path[i] == '/' && glob_path(pattern, n, path, i, false))
			return true;
	return glob_path(pattern, n, path, size, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *pattern = (const char *)data, *path;
	size_t n;

	if (size > INPUT_MAX)
		return 0;
	path = size ? memchr(pattern, '\n', size) : NULL;
	n = path ? (size_t)(path - pattern) : size;
	path = path ? path + 1 : pattern + size;
	size -= (size_t)(path - pattern);
	if (glob_path(pattern, n, path, size, true) !=
	    some_above(pattern, n, path, size))
		abort();
	if (glob_string(pattern, n, path, size) < 0)
		abort();
	return 0;
}
