/* SPDX-License-Identifier: Apache-2.0 */
/* What a callback may answer, and srt.remove for lists. */
#include <lauxlib.h>
#include <string.h>

#include "lua/box_srt.h"
#include "lua/box_view.h"

struct answer {
	const char *name;
	const char *const *fields;
};

static const char *const allow_fields[] = { "setHeaders", "removeHeaders",
					    "setBody",	  "setTarget",
					    "onResponse", "status",
					    "session",	  NULL };
static const char *const deny_fields[] = { "reason", "status", "headers",
					   "body", NULL };
static const char *const respond_fields[] = { "status", "headers", "body",
					      NULL };

/* Copies the table at 1 into the one at 2, field by field. */
static void copy_fields(lua_State *B, const struct answer *answer)
{
	lua_pushnil(B);
	while (lua_next(B, 1)) {
		const char *key = lua_type(B, -2) == LUA_TSTRING
					  ? lua_tostring(B, -2)
					  : NULL;
		const char *const *field = answer->fields;
		const char *near;

		while (*field && (!key || strcmp(*field, key) != 0))
			field++;
		if (*field) {
			lua_pushvalue(B, -2);
			lua_insert(B, -2);
			lua_rawset(B, 2);
			continue;
		}
		near = key ? box_nearest(B, 2, answer->fields, key) : NULL;
		luaL_error(B, "srt.%s has no field '%s'%s%s%s", answer->name,
			   luaL_tolstring(B, -2, NULL),
			   near ? "; did you mean " : "", near ? near : "",
			   near ? "?" : "");
	}
}

/* Pushes the answer; what it was made from is at 1, or nothing. */
static int make_answer(lua_State *B, const struct answer *answer)
{
	lua_settop(B, 1);
	lua_createtable(B, 0, 4);
	if (lua_type(B, 1) == LUA_TSTRING &&
	    strcmp(answer->fields[0], "reason") == 0) {
		lua_pushvalue(B, 1);
		lua_setfield(B, 2, "reason");
	} else if (!lua_isnil(B, 1)) {
		luaL_checktype(B, 1, LUA_TTABLE);
		copy_fields(B, answer);
	}
	lua_pushstring(B, answer->name);
	lua_setfield(B, 2, "$answer");
	box_view_new(B, "the answer", 0, NULL);
	return 1;
}

static int srt_allow(lua_State *B)
{
	static const struct answer answer = { "allow", allow_fields };

	return make_answer(B, &answer);
}

/* srt.deny "reason" is short for srt.deny{reason=}. */
static int srt_deny(lua_State *B)
{
	static const struct answer answer = { "deny", deny_fields };

	return make_answer(B, &answer);
}

static int srt_respond(lua_State *B)
{
	static const struct answer answer = { "respond", respond_fields };

	luaL_checktype(B, 1, LUA_TTABLE);
	return make_answer(B, &answer);
}

static int srt_remove(lua_State *B)
{
	luaL_checktype(B, 1, LUA_TSTRING);
	lua_createtable(B, 0, 1);
	lua_pushvalue(B, 1);
	lua_setfield(B, -2, "$remove");
	box_view_new(B, "the removal", 0, NULL);
	return 1;
}

void box_answers_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "allow", srt_allow },
		{ "deny", srt_deny },
		{ "respond", srt_respond },
		{ "remove", srt_remove },
		{ NULL, NULL },
	};

	luaL_setfuncs(B, functions, 0);
	lua_createtable(B, 0, 1);
	lua_pushliteral(B, "pass");
	lua_setfield(B, -2, "$answer");
	box_view_new(B, "srt.pass", 0, NULL);
	lua_setfield(B, -2, "pass");
}
