/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.screen: the user's terminal; see api_screen.md. */
#include <lauxlib.h>
#include <lua.h>

#include "core/screen.h"
#include "lua/api.h"

static int screen_lua_begin(lua_State *L)
{
	return api_done(L, screen_begin());
}

static int screen_lua_finish(lua_State *L)
{
	(void)L;
	screen_end();
	return 0;
}

/* size() -> rows, columns */
static int screen_lua_size(lua_State *L)
{
	int rows, columns;

	screen_size(&rows, &columns);
	lua_pushinteger(L, rows);
	lua_pushinteger(L, columns);
	return 2;
}

/* wait(seconds) -> what came, keys */
static int screen_lua_wait(lua_State *L)
{
	static const char *const names[] = { "time", "keys", "resize", "end" };
	lua_Number seconds = luaL_checknumber(L, 1);
	char keys[64];
	size_t got;
	enum screen_event event;

	luaL_argcheck(L, seconds >= 0 && seconds <= 3600, 1,
		      "0 to 3600 seconds expected");
	event = screen_wait((int)(seconds * 1000), keys, sizeof(keys), &got);
	lua_pushstring(L, names[event]);
	lua_pushlstring(L, keys, got);
	return 2;
}

/* notice(text, seconds); notice() */
static int screen_lua_notice(lua_State *L)
{
	if (lua_isnoneornil(L, 1))
		notice_end();
	else
		notice_begin(luaL_checkstring(L, 1),
			     (int)(luaL_checknumber(L, 2) * 1000));
	return 0;
}

int luaopen_srt_c_screen(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "begin", screen_lua_begin },
		{ "finish", screen_lua_finish },
		{ "size", screen_lua_size },
		{ "wait", screen_lua_wait },
		{ "notice", screen_lua_notice },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
