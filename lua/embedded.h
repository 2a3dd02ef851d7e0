/* SPDX-License-Identifier: Apache-2.0 */
/* The Lua files that the build wrote into the binary. */
#ifndef SRT_LUA_EMBEDDED_H
#define SRT_LUA_EMBEDDED_H

#include <stddef.h>

/**
 * struct embedded - one embedded Lua file
 * @name: module name ("srt.decide"), or "text:policies.npm" where the source
 *	text is kept
 * @path: where it stood in the source tree, relative, for messages
 * @data: precompiled chunk, or source text
 * @size: bytes at @data
 */
struct embedded {
	const char *name;
	const char *path;
	const unsigned char *data;
	size_t size;
};

/* Sorted by name; embedded_count entries. Written by tools/embed.c. */
extern const struct embedded embedded_files[];
extern const size_t embedded_count;

#endif
