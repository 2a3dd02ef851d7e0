/* SPDX-License-Identifier: Apache-2.0 */
/* The box's string library: no dump, and big work is paid for first. */
#include "lua/box_string.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lua/box_state.h"

/* The library's own function, at the cost of the strings it is given. */
static int str_charged(lua_State *B)
{
	size_t bytes = 0;

	for (int i = lua_gettop(B); i > 0; i--)
		if (lua_type(B, i) == LUA_TSTRING)
			bytes += lua_rawlen(B, i);
	box_charge_bytes(B, bytes * 4);
	return lua_tocfunction(B, lua_upvalueindex(1))(B);
}

/* unpack(fmt, s, pos): the cost is that of the format and of the results. */
static int str_unpack(lua_State *B)
{
	size_t bytes;
	int base = lua_gettop(B), count;

	luaL_checklstring(B, 1, &bytes);
	box_charge(B, bytes / 4);
	count = lua_tocfunction(B, lua_upvalueindex(1))(B);
	bytes = 0;
	for (int i = lua_gettop(B); i > base; i--)
		if (lua_type(B, i) == LUA_TSTRING)
			bytes += lua_rawlen(B, i);
	box_charge_bytes(B, bytes);
	return count;
}

/* The half-open range that string.sub's two positions mean. */
static void range_arg(lua_State *B, int arg, size_t size, bool whole,
		      size_t *from, size_t *to)
{
	lua_Integer n = (lua_Integer)size;
	lua_Integer i = luaL_optinteger(B, arg, 1);
	lua_Integer j = luaL_optinteger(B, arg + 1, whole ? -1 : i);

	if (i < 0)
		i = i < -n ? 1 : n + i + 1;
	if (i == 0)
		i = 1;
	if (j < 0)
		j = j < -n ? 0 : n + j + 1;
	if (j > n)
		j = n;
	*from = i > j ? 0 : (size_t)i - 1;
	*to = i > j ? 0 : (size_t)j;
}

static int str_sub(lua_State *B)
{
	size_t size, from, to;
	const char *s = luaL_checklstring(B, 1, &size);

	luaL_checkinteger(B, 2);
	range_arg(B, 2, size, true, &from, &to);
	box_charge_bytes(B, to - from);
	lua_pushlstring(B, s + from, to - from);
	return 1;
}

static int str_byte(lua_State *B)
{
	size_t size, from, to;
	const char *s = luaL_checklstring(B, 1, &size);

	range_arg(B, 2, size, false, &from, &to);
	if (to - from > LUAI_MAXSTACK)
		return luaL_error(B, "string slice too long");
	box_charge(B, to - from);
	luaL_checkstack(B, (int)(to - from), "string slice too long");
	for (size_t i = from; i < to; i++)
		lua_pushinteger(B, (unsigned char)s[i]);
	return (int)(to - from);
}

/* Copies what is there already, so that small pieces cost no more. */
static void fill(char *out, size_t period, size_t total)
{
	for (size_t done = period; done < total; done *= 2)
		memcpy(out + done, out,
		       done < total - done ? done : total - done);
}

static int str_rep(lua_State *B)
{
	size_t size, gap_size, period, total;
	const char *s = luaL_checklstring(B, 1, &size);
	lua_Integer n = luaL_checkinteger(B, 2);
	const char *gap = luaL_optlstring(B, 3, "", &gap_size);
	luaL_Buffer buffer;
	char *out;

	period = size + gap_size;
	if (n <= 0 || period == 0) {
		lua_pushliteral(B, "");
		return 1;
	}
	if ((size_t)n > (size_t)INT32_MAX / period)
		return luaL_error(B, "resulting string too large");
	total = (size_t)n * period - gap_size;
	box_charge_bytes(B, total);
	/* Room for the last gap too: it is written and not used. */
	out = luaL_buffinitsize(B, &buffer, total + gap_size);
	memcpy(out, s, size);
	memcpy(out + size, gap, gap_size);
	fill(out, period, total);
	luaL_pushresultsize(&buffer, total);
	return 1;
}

static void wrap(lua_State *B, const char *name, lua_CFunction how)
{
	lua_getfield(B, -2, name);
	lua_pushcclosure(B, how, 1);
	lua_setfield(B, -2, name);
}

/*
 * The string metatable keeps the library's arithmetic ("10" + 1), but a
 * method is looked up in our table and getmetatable("") is false.
 */
static void guard_metatable(lua_State *B)
{
	lua_pushliteral(B, "");
	lua_getmetatable(B, -1);
	lua_pushvalue(B, -3);
	lua_setfield(B, -2, "__index");
	lua_pushboolean(B, 0);
	lua_setfield(B, -2, "__metatable");
	lua_pop(B, 2);
}

void box_string_open(lua_State *B)
{
	static const char *const charged[] = {
		"format", "lower", "upper", "pack", "packsize", "reverse"
	};
	static const char *const plain[] = { "char", "len" };
	static const luaL_Reg own[] = {
		{ "byte", str_byte },
		{ "rep", str_rep },
		{ "sub", str_sub },
		{ NULL, NULL },
	};

	lua_pushcfunction(B, luaopen_string);
	box_callf(B, 0, 1);
	lua_createtable(B, 0, 17); /* as many as there will be */
	luaL_setfuncs(B, own, 0);
	for (size_t i = 0; i < sizeof(charged) / sizeof(*charged); i++)
		wrap(B, charged[i], str_charged);
	wrap(B, "unpack", str_unpack);
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++) {
		lua_getfield(B, -2, plain[i]);
		lua_setfield(B, -2, plain[i]);
	}
	box_find_open(B);
	guard_metatable(B);
	lua_remove(B, -2);
}
