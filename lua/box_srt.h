/* SPDX-License-Identifier: Apache-2.0 */
/* The srt table of the box and its parts. */
#ifndef SRT_LUA_BOX_SRT_H
#define SRT_LUA_BOX_SRT_H

#include <lua.h>

/**
 * box_srt_open - push the read-only srt object
 *
 * The table of facts (platform, cwd, home, user, env, here) is on top and
 * becomes its content.
 */
void box_srt_open(lua_State *B);

/** box_print - print(...): a line for srt.log.info */
int box_print(lua_State *B);

/* Each pushes one part, a table; the caller makes a view of it. */
void box_base64_open(lua_State *B);
void box_git_open(lua_State *B);
void box_json_open(lua_State *B);
void box_log_open(lua_State *B);
void box_url_open(lua_State *B);

/* Each adds functions to the srt table on top. */
void box_answers_open(lua_State *B);
void box_files_open(lua_State *B);
void box_glob_open(lua_State *B);
void box_hash_open(lua_State *B);
void box_rate_open(lua_State *B);

#endif
