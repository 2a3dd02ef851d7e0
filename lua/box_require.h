/* SPDX-License-Identifier: Apache-2.0 */
/* Where the box's code comes from: the policy's folder, and presets. */
#ifndef SRT_LUA_BOX_REQUIRE_H
#define SRT_LUA_BOX_REQUIRE_H

#include <lua.h>
#include <stddef.h>

#define BOX_CHUNK_NAME 256 /* bytes that are kept of a preset's name */

/** box_require - require(name) of the box */
int box_require(lua_State *B);

/**
 * box_compile - push a chunk made from text
 * @name: as a file's chunk name, "@/abs/path"
 *
 * A first line that starts with '#' and a byte order mark are skipped.
 * Binary chunks are refused. Never throws.
 *
 * Return: LUA_OK, or Lua's status with the message pushed.
 */
int box_compile(lua_State *B, const char *source, size_t size,
		const char *name);

/**
 * box_preset - push the chunk of a ready-made policy
 * @chunk_name: @size bytes, for the name that the host gave it; "" where it
 *	gave none
 *
 * Return: as box_compile(), or -1 with a message pushed where there is none.
 * May throw for lack of memory.
 */
int box_preset(lua_State *B, const char *name, char *chunk_name, size_t size);

#endif
