/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the table of ready seccomp programs: filters OUT SCRIPT TREE */
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#include "lua/api.h"

/* Runs tools/filters.lua with the table that compiles rules. */
int main(int argc, char **argv)
{
	lua_State *L = luaL_newstate();

	if (argc != 4 || !L) {
		fprintf(stderr, "usage: filters OUT SCRIPT TREE\n");
		return 2;
	}
	luaL_openlibs(L);
	luaL_requiref(L, "srt.c.sandbox", luaopen_srt_c_sandbox, 0);
	if (luaL_loadfilex(L, argv[2], "t"))
		goto fail;
	lua_pushstring(L, argv[1]);
	lua_pushstring(L, argv[3]);
	if (lua_pcall(L, 2, 0, 0))
		goto fail;
	lua_close(L);
	return 0;
fail:
	fprintf(stderr, "filters: %s\n", lua_tostring(L, -1));
	return 1;
}
