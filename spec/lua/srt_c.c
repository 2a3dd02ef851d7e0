/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the C tables of the host state to the interpreter that runs specs. */
#include <lauxlib.h>
#include <lua.h>

#include "lua/api.h"

/* The library is static: what is named here is what the module holds. */
static const luaL_Reg tables[] = {
	{ "srt.c.sys", luaopen_srt_c_sys },
	{ "srt.c.box", luaopen_srt_c_box },
	{ "srt.c.walk", luaopen_srt_c_walk },
	{ "srt.c.guard", luaopen_srt_c_guard },
	{ "srt.c.sandbox", luaopen_srt_c_sandbox },
	{ "srt.c.task", luaopen_srt_c_task },
	{ "srt.c.tidy", luaopen_srt_c_tidy },
	{ "srt.c.screen", luaopen_srt_c_screen },
	{ "srt.c.secret", luaopen_srt_c_secret },
	{ "srt.c.journal", luaopen_srt_c_journal },
	{ NULL, NULL },
};

int luaopen_srt_c(lua_State *L);

/* preload every table, so that require() finds it */
int luaopen_srt_c(lua_State *L)
{
	luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
	luaL_setfuncs(L, tables, 0);
	return 1;
}
