/* SPDX-License-Identifier: Apache-2.0 */
/* Values that cross between the host state and the box: plain data only. */
#ifndef SRT_LUA_BOX_COPY_H
#define SRT_LUA_BOX_COPY_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "lua/box_state.h"

#define BOX_MAX_DEPTH 64
#define BOX_MAX_NODES 1000000

/** struct box_fn - the host's handle of a policy's function */
struct box_fn {
	struct box *box;
	int ref;
};

#define BOX "srt.box" /* the host's userdata of a box */
#define BOX_FN "srt.box.fn"

/**
 * box_copy_in - push a copy of a host value in the box
 * @H: the host; only calls that can't throw are made on it
 * @index: absolute
 *
 * Throws in the box: for lack of memory, or where the host's value is no
 * plain data.
 */
void box_copy_in(lua_State *B, lua_State *H, int index);

/**
 * box_check_out - is the value at @index of the box plain data?
 * @list: index of a table of the box; functions are appended to it in the
 *	order in which box_copy_out() meets them
 * @charge: take ten instructions for each value
 *
 * Throws in the box, with a message that names the key path, where it is
 * not; *@bad is then set.
 */
void box_check_out(lua_State *B, int index, int list, bool charge, bool *bad);

/** box_keep_functions - make the functions in @list references, in place */
void box_keep_functions(lua_State *B, int list);

/**
 * struct box_out - for box_copy_out()
 * @H, @B: host and box. Calls on @B are of the kind that can't throw, so an
 *	error of @H may pass through.
 * @owner: index of the box's userdata in @H
 * @list: that box_check_out() filled
 * @next: of @list; 0 at first
 */
struct box_out {
	struct box *box;
	lua_State *H, *B;
	int owner, list;
	lua_Integer next;
};

/** box_copy_out - push a copy of a checked value in the host */
void box_copy_out(struct box_out *out, int index);

#endif
