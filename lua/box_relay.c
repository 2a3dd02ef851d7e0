/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where srt.ask asks; the part that the host sees:
 *
 *	b:asker(sandbox)	on the terminal of its command
 *	b:asker(fn, who)	from then on calls begin for that integer, and
 *				fn(who, number, text, ms, yes, choices) is told
 *				what they ask. It runs within the box, which it
 *				may not call; then b:answered() has to follow
 *	b:answered(number, how, choice)
 *				how: of question_words; choice:
 *				which of the words, from 1
 */
#include "lua/box_relay.h"

#include <errno.h>
#include <lauxlib.h>

#include "lua/api.h"
#include "lua/box_copy.h"
#include "lua/box_state.h"
#include "lua/box_wait.h"

struct relayed {
	lua_Integer who, number;
	const char *text;
	size_t size;
	const struct question_terms *terms;
};

/* Protected: (function, relayed) */
static int tell(lua_State *H)
{
	const struct relayed *relayed = lua_touserdata(H, 2);

	lua_settop(H, 1);
	lua_pushinteger(H, relayed->who);
	lua_pushinteger(H, relayed->number);
	lua_pushlstring(H, relayed->text, relayed->size);
	lua_pushinteger(H, (lua_Integer)relayed->terms->ms);
	lua_pushboolean(H, relayed->terms->yes);
	lua_pushstring(H, relayed->terms->choices);
	lua_call(H, 6, 0); /* protected */
	return 0;
}

int box_relay_ask(const struct box_wait *wait, lua_Integer number,
		  const char *text, size_t size,
		  const struct question_terms *terms)
{
	struct relayed relayed = { wait->asker, number, text, size, terms };
	lua_State *H = wait->box->host;
	int top = lua_gettop(H), status;

	if (!lua_checkstack(H, 12))
		return -ENOMEM;
	lua_pushcfunction(H, tell);
	lua_getiuservalue(H, 1, BOX_UV_ASKER);
	lua_pushlightuserdata(H, &relayed);
	status = lua_pcall(H, 2, 0, 0);
	lua_settop(H, top);
	return status == LUA_OK ? 0 : -EIO;
}

static int relay_asker(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	luaL_argcheck(L, !b->host, 1, "the box is running");
	b->relays = lua_isfunction(L, 2);
	b->questions = b->relays ? NULL : api_questions(L, 2);
	b->asker = luaL_optinteger(L, 3, 0);
	lua_settop(L, 2);
	lua_setiuservalue(L, 1, BOX_UV_ASKER);
	return 0;
}

static int relay_answered(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	box_ask_answered(b, luaL_checkinteger(L, 2),
			 (enum question_answer)luaL_checkoption(L, 3, NULL,
								question_words),
			 luaL_optinteger(L, 4, 0));
	return 0;
}

void box_relay_methods(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "answered", relay_answered },
		{ "asker", relay_asker },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, methods, 0);
}
