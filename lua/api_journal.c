/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.journal: files that grow by whole lines; see api_journal.md. */
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "core/journal.h"
#include "lua/api.h"

/* open(path, own) -> descriptor */
static int journal_lua_open(lua_State *L)
{
	return api_number(
		L, journal_open(api_absolute(L, 1), lua_toboolean(L, 2)));
}

/* append(fd, text) -> true */
static int journal_lua_append(lua_State *L)
{
	size_t size;
	const char *text = luaL_checklstring(L, 2, &size);
	int error = journal_append((int)luaL_checkinteger(L, 1), text, size);

	return api_done(L, error);
}

/* turn(path, fd, most) -> is it to be opened again? */
static int journal_lua_turn(lua_State *L)
{
	const char *path = api_absolute(L, 1);
	int turned = journal_turn(path, (int)luaL_checkinteger(L, 2),
				  (off_t)luaL_checkinteger(L, 3));

	if (turned < 0)
		return api_fail(L, -turned);
	lua_pushboolean(L, turned);
	return 1;
}

int luaopen_srt_c_journal(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "open", journal_lua_open },
		{ "append", journal_lua_append },
		{ "turn", journal_lua_turn },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
