/* SPDX-License-Identifier: Apache-2.0 */
/* srt.secret: what stands for values that the box never has. */
#ifndef SRT_LUA_BOX_SECRET_H
#define SRT_LUA_BOX_SECRET_H

#include <lua.h>
#include <stdbool.h>

/**
 * box_secret_open() - push srt.secret
 *
 * srt.secret.NAME is an opaque object. What is made of it (with .., and by the
 * functions that box_secret_wrap() is called for) is one as well, and says
 * only how it is made: crossing to the host it is a table, with "$secret" the
 * way ("name", "concat", "base64", …) and the parts as a list. The value is put
 * in there, or not at all (lua/srt/secrets.lua).
 */
void box_secret_open(lua_State *B);

/** box_secret_is() - is that argument such an object? Never throws. */
bool box_secret_is(lua_State *B, int index);

/** box_secret_wrap() - push what @way makes of arguments 1 to @count */
int box_secret_wrap(lua_State *B, const char *way, int count);

/**
 * box_secret_push() - push the table behind one
 *
 * Return: false, with nothing pushed, for another value. Never throws; the
 * caller has three stack slots free.
 */
bool box_secret_push(lua_State *B, int index);

#endif
