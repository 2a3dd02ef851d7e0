/* SPDX-License-Identifier: Apache-2.0 */
/* The box: a second Lua state in which a user's policy runs. */
#ifndef SRT_LUA_BOX_H
#define SRT_LUA_BOX_H

#include <lua.h>

/**
 * luaopen_srt_c_box - the host-state table srt.c.box: new(options), isfn(v)
 *
 * All boxes of a process run on one thread, which must not block the signal
 * SIGRTMIN+6 (lua/box_watch.h). See lua/api_box.c for what Lua sees.
 */
int luaopen_srt_c_box(lua_State *L);

#endif
