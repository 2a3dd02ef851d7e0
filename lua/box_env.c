/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the policy's environment from a list of what it may have. */
#include "lua/box_env.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "lua/box_host.h"
#include "lua/box_require.h"
#include "lua/box_srt.h"
#include "lua/box_state.h"
#include "lua/box_string.h"
#include "lua/box_view.h"

/* What a library function costs beyond its one instruction. */
enum cost {
	COST_NONE,
	COST_TEXT,  /* its string arguments are read once */
	COST_DATE,  /* each byte of its format may cost a strftime() */
	COST_RANGE, /* it walks from argument 2 to argument 3 */
	COST_COUNT, /* it walks argument 2 characters */
};

struct pick {
	const char *name;
	enum cost cost;
};

static const struct pick base_picks[] = {
	{ "assert", COST_NONE },       { "error", COST_NONE },
	{ "getmetatable", COST_NONE }, { "ipairs", COST_NONE },
	{ "pairs", COST_NONE },	       { "rawequal", COST_NONE },
	{ "rawget", COST_NONE },       { "rawlen", COST_NONE },
	{ "rawset", COST_NONE },       { "select", COST_NONE },
	{ "tonumber", COST_TEXT },     { "tostring", COST_NONE },
	{ "type", COST_NONE },	       { "_VERSION", COST_NONE },
	{ NULL, COST_NONE },
};

static const struct pick os_picks[] = {
	{ "clock", COST_NONE },
	{ "date", COST_DATE },
	{ "time", COST_NONE },
	{ NULL, COST_NONE },
};

static const struct pick utf8_picks[] = {
	{ "char", COST_NONE },	     { "charpattern", COST_NONE },
	{ "codepoint", COST_RANGE }, { "codes", COST_NONE },
	{ "len", COST_TEXT },	     { "offset", COST_COUNT },
	{ NULL, COST_NONE },
};

static const struct pick math_picks[] = {
	{ "abs", COST_NONE },	     { "acos", COST_NONE },
	{ "asin", COST_NONE },	     { "atan", COST_NONE },
	{ "ceil", COST_NONE },	     { "cos", COST_NONE },
	{ "deg", COST_NONE },	     { "exp", COST_NONE },
	{ "floor", COST_NONE },	     { "fmod", COST_NONE },
	{ "huge", COST_NONE },	     { "log", COST_NONE },
	{ "max", COST_NONE },	     { "maxinteger", COST_NONE },
	{ "min", COST_NONE },	     { "mininteger", COST_NONE },
	{ "modf", COST_NONE },	     { "pi", COST_NONE },
	{ "rad", COST_NONE },	     { "random", COST_NONE },
	{ "randomseed", COST_NONE }, { "sin", COST_NONE },
	{ "sqrt", COST_NONE },	     { "tan", COST_NONE },
	{ "tointeger", COST_TEXT },  { "type", COST_NONE },
	{ "ult", COST_NONE },	     { NULL, COST_NONE },
};

static uint64_t text_bytes(lua_State *B)
{
	uint64_t bytes = 0;

	for (int i = lua_gettop(B); i > 0; i--)
		if (lua_type(B, i) == LUA_TSTRING)
			bytes += lua_rawlen(B, i);
	return bytes;
}

/* How many characters of the text at 1 the arguments ask for, at most. */
static uint64_t walk_length(lua_State *B, enum cost cost)
{
	uint64_t size = lua_type(B, 1) == LUA_TSTRING ? lua_rawlen(B, 1) : 0;
	lua_Integer from = luaL_optinteger(B, 2, 1);
	lua_Integer to = luaL_optinteger(B, 3, from);
	uint64_t n;

	if (cost == COST_COUNT)
		n = from < 0 ? 0 - (uint64_t)from : (uint64_t)from;
	else if (from >= 0 && to >= from)
		n = (uint64_t)to - (uint64_t)from;
	else
		n = from == to ? 1 : size;
	return n < size ? n : size;
}

/* A library function (upvalue 1) that is paid for first (upvalue 2). */
static int charged(lua_State *B)
{
	enum cost cost = (enum cost)lua_tointeger(B, lua_upvalueindex(2));

	if (cost == COST_TEXT)
		box_charge(B, text_bytes(B) / 8);
	else if (cost == COST_DATE)
		box_charge(B, text_bytes(B) * 64);
	else
		box_charge(B, walk_length(B, cost));
	return lua_tocfunction(B, lua_upvalueindex(1))(B);
}

/* From the table on top into the one below; the upper is popped. */
static void pick_all(lua_State *B, const struct pick *pick)
{
	for (; pick->name; pick++) {
		lua_getfield(B, -1, pick->name);
		if (pick->cost != COST_NONE) {
			lua_pushinteger(B, pick->cost);
			lua_pushcclosure(B, charged, 2);
		}
		lua_setfield(B, -3, pick->name);
	}
	lua_pop(B, 1);
}

static void add_library(lua_State *B, const char *name, lua_CFunction open,
			const struct pick *picks)
{
	int count = 0;

	while (picks[count].name)
		count++;
	lua_createtable(B, 0, count);
	lua_pushcfunction(B, open);
	box_callf(B, 0, 1);
	pick_all(B, picks);
	lua_setfield(B, -2, name);
}

/*
 * In a coroutine a pcall takes no C stack, so nothing bounds how deep they
 * nest; but each error that is caught costs time by that depth.
 */
#define MAX_PCALLS 150

static int pcall_done(lua_State *B, int status, lua_KContext context)
{
	struct box *b = box_of(B);

	b->pcalls = (int)context;
	if (status == LUA_OK || status == LUA_YIELD)
		return lua_gettop(B);
	/* A spent budget ends the run, whoever wants to catch it. */
	if (b->spent)
		return box_stop(B);
	lua_pushboolean(B, 0);
	lua_insert(B, -2);
	return 2;
}

static int base_pcall(lua_State *B)
{
	struct box *b = box_of(B);
	int depth = b->pcalls, status;

	luaL_checkany(B, 1);
	if (depth == MAX_PCALLS)
		return luaL_error(B, "pcall nested too deeply");
	b->pcalls = depth + 1;
	lua_pushboolean(B, 1);
	lua_insert(B, 1);
	status = lua_pcallk(B, lua_gettop(B) - 2, LUA_MULTRET, 0, depth,
			    pcall_done);
	return pcall_done(B, status, depth);
}

/*
 * Finalizers run with hooks off, so a policy can have none. __close runs with
 * hooks on and is refused only because it reads as if it would always run.
 */
static int base_setmetatable(lua_State *B)
{
	static const char *const refused[] = { "__gc", "__close" };
	int type = lua_type(B, 2);

	luaL_checktype(B, 1, LUA_TTABLE);
	luaL_argexpected(B, type == LUA_TNIL || type == LUA_TTABLE, 2,
			 "nil or table");
	if (luaL_getmetafield(B, 1, "__metatable") != LUA_TNIL)
		return luaL_error(B, "cannot change a protected metatable");
	for (size_t i = 0; type == LUA_TTABLE && i < 2; i++) {
		lua_pushstring(B, refused[i]);
		if (lua_rawget(B, 2) != LUA_TNIL)
			return luaL_error(B, "%s is not for policies",
					  refused[i]);
		lua_pop(B, 1);
	}
	lua_settop(B, 2);
	lua_setmetatable(B, 1);
	return 1;
}

static int base_next(lua_State *B)
{
	if (lua_type(B, 1) == LUA_TUSERDATA)
		return box_view_next(B);
	luaL_checktype(B, 1, LUA_TTABLE);
	lua_settop(B, 2);
	if (lua_next(B, 1))
		return 2;
	lua_pushnil(B);
	return 1;
}

static void add_base(lua_State *B)
{
	static const luaL_Reg own[] = {
		{ "next", base_next },
		{ "pcall", base_pcall },
		{ "print", box_print },
		{ "require", box_require },
		{ "setmetatable", base_setmetatable },
		{ NULL, NULL },
	};

	luaL_setfuncs(B, own, 0);
	lua_pushcfunction(B, luaopen_base);
	box_callf(B, 0, 1);
	pick_all(B, base_picks);
	lua_pushvalue(B, -1);
	lua_setfield(B, -2, "_G");
}

/* How many there are; it makes their table at once as large. */
#define GLOBALS 26

void box_env_open(lua_State *B)
{
	lua_createtable(B, 0, GLOBALS);
	add_base(B);
	add_library(B, "math", luaopen_math, math_picks);
	add_library(B, "os", luaopen_os, os_picks);
	if (box_host_asked(B)) {
		lua_getfield(B, -1, "os");
		box_time_open(B);
		lua_pop(B, 1);
	}
	add_library(B, "utf8", luaopen_utf8, utf8_picks);
	box_string_open(B);
	lua_setfield(B, -2, "string");
	box_table_open(B);
	lua_setfield(B, -2, "table");
	lua_insert(B, -2);
	lua_setfield(B, -2, "srt");
	/* What luaopen_base filled is garbage from here. */
	lua_rawseti(B, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
}
