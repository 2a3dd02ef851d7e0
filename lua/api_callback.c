/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Lua that C calls back, from the loop. */
#include <lauxlib.h>
#include <lua.h>

#include "lua/api.h"

lua_State *api_main(lua_State *L)
{
	lua_State *thread;

	lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
	thread = lua_tothread(L, -1);
	lua_pop(L, 1);
	return thread;
}

struct api_callback *api_callback(lua_State *L, int index)
{
	struct api_callback *callback;

	luaL_checktype(L, index, LUA_TFUNCTION);
	callback = lua_newuserdatauv(L, sizeof(*callback), 0);
	(void)luaL_ref(L, LUA_REGISTRYINDEX);
	lua_pushvalue(L, index);
	callback->fn = luaL_ref(L, LUA_REGISTRYINDEX);
	callback->L = api_main(L);
	return callback;
}

/* Protected: (fn, number...) */
static int call(lua_State *L)
{
	lua_call(L, lua_gettop(L) - 1, 0); /* protected */
	return 0;
}

void api_call_back(const struct api_callback *callback, const int *numbers,
		   int count)
{
	lua_State *L = callback->L;
	int top = lua_gettop(L);

	if (!lua_checkstack(L, 20))
		return;
	lua_pushcfunction(L, call);
	lua_rawgeti(L, LUA_REGISTRYINDEX, callback->fn);
	for (int i = 0; i < count; i++)
		lua_pushinteger(L, numbers[i]);
	(void)lua_pcall(L, count + 1, 0, 0);
	lua_settop(L, top);
}
