/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of srt.c.channel share. */
#ifndef SRT_LUA_CHANNEL_H
#define SRT_LUA_CHANNEL_H

#include <lauxlib.h>
#include <lua.h>
#include <sys/types.h>

#include "core/system.h"

/** channel_calls - the functions that need no loop */
extern const luaL_Reg channel_calls[];

/** channel_push_fds() - a list of descriptors */
void channel_push_fds(lua_State *L, const int *fds, size_t count);

/** channel_read_fds() - those of an optional list. Return: how many. */
size_t channel_read_fds(lua_State *L, int index, int fds[SYS_MAX_FDS]);

#endif
