/* SPDX-License-Identifier: Apache-2.0 */
/* The environment that a policy sees: an allowlist in a fresh table. */
#ifndef SRT_LUA_BOX_ENV_H
#define SRT_LUA_BOX_ENV_H

#include <lua.h>

/**
 * box_env_open - build the environment; it becomes the box's globals, so that
 * every chunk gets it as _ENV and nothing else is reachable
 *
 * The table with srt's parts is on top and is put in as it is.
 */
void box_env_open(lua_State *B);

#endif
