/* SPDX-License-Identifier: Apache-2.0 */
/* What a callback is given: objects that it reads and that end with it. */
#ifndef SRT_LUA_BOX_SUBJECT_H
#define SRT_LUA_BOX_SUBJECT_H

#include <lua.h>

/** How an argument of a callback looks to it. */
enum box_shape {
	BOX_PLAIN, /* a read-only table */
	BOX_CONN,
	BOX_REQUEST,
	BOX_RESPONSE,
	BOX_HEADERS, /* a list of {name=, value=}, read by name */
};

/**
 * box_subject_names - push the names of all fields that there may be
 *
 * Each of the two states keeps such a table: the box in its registry, and the
 * host in a user value of the box.
 */
void box_subject_names(lua_State *L);

/**
 * box_copy_subject - box_copy_in() for an argument of a callback
 *
 * What the host's table has beside the fields of its @shape stays there. The
 * box must be at 1 of the host's stack.
 */
void box_copy_subject(lua_State *B, lua_State *H, int index,
		      enum box_shape shape);

#endif
