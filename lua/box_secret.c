/* SPDX-License-Identifier: Apache-2.0 */
/* srt.secret: what stands for values that the box never has. */
#include "lua/box_secret.h"

#include <lauxlib.h>

#include "lua/box_state.h"

#define SECRET "srt.secret"

static const char key_secrets;

bool box_secret_is(lua_State *B, int index)
{
	bool is;

	if (lua_type(B, index) != LUA_TUSERDATA || !lua_getmetatable(B, index))
		return false;
	lua_rawgetp(B, LUA_REGISTRYINDEX, &key_secrets);
	is = lua_rawequal(B, -1, -2);
	lua_pop(B, 2);
	return is;
}

bool box_secret_push(lua_State *B, int index)
{
	if (!box_secret_is(B, index))
		return false;
	lua_getiuservalue(B, index, 1);
	return true;
}

/* A part of a way: a secret, or a text. */
static void check_part(lua_State *B, int index)
{
	if (box_secret_is(B, index))
		return;
	if (lua_type(B, index) != LUA_TSTRING &&
	    lua_type(B, index) != LUA_TNUMBER)
		luaL_error(B,
			   "a secret goes together with strings only, not "
			   "with a %s",
			   luaL_typename(B, index));
	/* A number is its text from here on. */
	(void)lua_tostring(B, index);
}

int box_secret_wrap(lua_State *B, const char *way, int count)
{
	box_charge(B, 20);
	lua_newuserdatauv(B, 0, 1);
	lua_rawgetp(B, LUA_REGISTRYINDEX, &key_secrets);
	lua_setmetatable(B, -2);
	lua_createtable(B, count, 1);
	lua_pushstring(B, way);
	lua_setfield(B, -2, "$secret");
	for (int i = 1; i <= count; i++) {
		check_part(B, i);
		lua_pushvalue(B, i);
		lua_rawseti(B, -2, i);
	}
	lua_setiuservalue(B, -2, 1);
	return 1;
}

static int concat(lua_State *B)
{
	return box_secret_wrap(B, "concat", 2);
}

/* What would tell something of it. */
static int refuse(lua_State *B)
{
	return luaL_error(B, "a secret can't be read, printed or compared; it "
			     "only goes into setHeaders, setBody and setTarget "
			     "towards its hosts");
}

static int name_index(lua_State *B)
{
	luaL_checktype(B, 2, LUA_TSTRING);
	lua_remove(B, 1);
	return box_secret_wrap(B, "name", 1);
}

/* Which there are, the box does not know. */
static int name_next(lua_State *B)
{
	lua_pushnil(B);
	return 1;
}

static int name_pairs(lua_State *B)
{
	lua_pushcfunction(B, name_next);
	return 1;
}

static int name_newindex(lua_State *B)
{
	return luaL_error(B, "srt.secret is read-only");
}

/* The metatable on top can't be had by a policy. */
static void seal(lua_State *B, const char *name)
{
	lua_pushboolean(B, 0);
	lua_setfield(B, -2, "__metatable");
	lua_pushstring(B, name);
	lua_setfield(B, -2, "__name");
}

void box_secret_open(lua_State *B)
{
	static const char *const refused[] = { "__tostring", "__len", "__eq",
					       "__lt",	     "__le",  "__index",
					       "__newindex" };
	static const luaL_Reg names[] = { { "__index", name_index },
					  { "__newindex", name_newindex },
					  { "__pairs", name_pairs },
					  { NULL, NULL } };

	lua_newtable(B);
	lua_pushcfunction(B, concat);
	lua_setfield(B, -2, "__concat");
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		lua_pushcfunction(B, refuse);
		lua_setfield(B, -2, refused[i]);
	}
	seal(B, "a secret");
	lua_rawsetp(B, LUA_REGISTRYINDEX, &key_secrets);
	lua_newuserdatauv(B, 0, 0);
	luaL_newlib(B, names);
	seal(B, SECRET);
	lua_setmetatable(B, -2);
}
