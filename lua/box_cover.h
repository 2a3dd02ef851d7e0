/* SPDX-License-Identifier: Apache-2.0 */
/* Which lines of a policy were run, for the coverage of its tests. */
#ifndef SRT_LUA_BOX_COVER_H
#define SRT_LUA_BOX_COVER_H

#include <lua.h>
#include <stddef.h>

struct box;

/**
 * struct box_covered - a file: its name as of the chunk, a byte for each line
 */
struct box_covered {
	char *name;
	unsigned char *lines;
	size_t size;
};

/** struct box_cover - all files; owned by the box */
struct box_cover {
	struct box_covered *files;
	size_t count;
};

/** box_cover_start - note lines from now on; 0 or -ENOMEM */
int box_cover_start(struct box *b);

/** box_cover_line - from the hook; what can't be noted is not. Never throws. */
void box_cover_line(lua_State *B, lua_Debug *ar);

/** box_cover_free - with the box */
void box_cover_free(struct box *b);

#endif
