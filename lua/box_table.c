/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box's table library. The library's own loops run in C for as long as
 * __len or an argument says; these pay for every element before they start.
 */
#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>
#include <stdbool.h>

#include "lua/box_state.h"
#include "lua/box_string.h"

#define PER_ELEMENT 4 /* instructions that one get and one set are worth */

static void charge_elements(lua_State *B, lua_Integer n)
{
	if (n > 0)
		box_charge(B, n > INT64_MAX / PER_ELEMENT
				      ? (uint64_t)INT64_MAX
				      : (uint64_t)n * PER_ELEMENT);
}

/* A table, or one of srt's read-only lists for functions that only read. */
static lua_Integer check_list(lua_State *B, bool writes)
{
	if (lua_type(B, 1) != LUA_TUSERDATA || writes)
		luaL_checktype(B, 1, LUA_TTABLE);
	return luaL_len(B, 1);
}

static int tab_insert(lua_State *B)
{
	lua_Integer n = check_list(B, true), at = n + 1;
	int top = lua_gettop(B);

	if (top != 2 && top != 3)
		return luaL_error(B, "wrong number of arguments to 'insert'");
	if (top == 3) {
		at = luaL_checkinteger(B, 2);
		luaL_argcheck(B, (lua_Unsigned)at - 1u < (lua_Unsigned)n + 1u,
			      2, "position out of bounds");
		charge_elements(B, n + 1 - at);
		for (lua_Integer i = n + 1; i > at; i--) {
			lua_geti(B, 1, i - 1);
			lua_seti(B, 1, i);
		}
	}
	lua_seti(B, 1, at);
	return 0;
}

static int tab_remove(lua_State *B)
{
	lua_Integer n = check_list(B, true);
	lua_Integer at = luaL_optinteger(B, 2, n);

	if (at != n)
		luaL_argcheck(B, (lua_Unsigned)at - 1u <= (lua_Unsigned)n, 2,
			      "position out of bounds");
	charge_elements(B, n - at);
	lua_geti(B, 1, at);
	for (; at < n; at++) {
		lua_geti(B, 1, at + 1);
		lua_seti(B, 1, at);
	}
	lua_pushnil(B);
	lua_seti(B, 1, at);
	return 1;
}

static int tab_move(lua_State *B)
{
	lua_Integer from = luaL_checkinteger(B, 2);
	lua_Integer end = luaL_checkinteger(B, 3);
	lua_Integer to = luaL_checkinteger(B, 4), n;
	int target = lua_isnoneornil(B, 5) ? 1 : 5;

	check_list(B, target == 1);
	luaL_checktype(B, target, LUA_TTABLE);
	lua_pushvalue(B, target);
	if (end < from)
		return 1;
	luaL_argcheck(B, from > 0 || end < LUA_MAXINTEGER + from, 3,
		      "too many elements to move");
	n = end - from + 1;
	luaL_argcheck(B, to <= LUA_MAXINTEGER - n + 1, 4,
		      "destination wrap around");
	charge_elements(B, n);
	if (to > end || to <= from || !lua_rawequal(B, 1, target)) {
		for (lua_Integer i = 0; i < n; i++) {
			lua_geti(B, 1, from + i);
			lua_seti(B, target, to + i);
		}
	} else {
		for (lua_Integer i = n; i-- > 0;) {
			lua_geti(B, 1, from + i);
			lua_seti(B, target, to + i);
		}
	}
	return 1;
}

static void add_element(lua_State *B, luaL_Buffer *out, lua_Integer i)
{
	box_charge(B, PER_ELEMENT);
	lua_geti(B, 1, i);
	if (!lua_isstring(B, -1))
		luaL_error(B, "invalid value (a %s) at index %I for 'concat'",
			   luaL_typename(B, -1), (LUAI_UACINT)i);
	if (lua_type(B, -1) == LUA_TSTRING)
		box_charge_bytes(B, lua_rawlen(B, -1));
	luaL_addvalue(out);
}

static int tab_concat(lua_State *B)
{
	lua_Integer n = check_list(B, false), i, end;
	size_t gap_size;
	const char *gap = luaL_optlstring(B, 2, "", &gap_size);
	luaL_Buffer out;

	i = luaL_optinteger(B, 3, 1);
	end = luaL_optinteger(B, 4, n);
	luaL_buffinit(B, &out);
	for (; i < end; i++) {
		add_element(B, &out, i);
		box_charge_bytes(B, gap_size);
		luaL_addlstring(&out, gap, gap_size);
	}
	if (i == end)
		add_element(B, &out, i);
	luaL_pushresult(&out);
	return 1;
}

static int tab_unpack(lua_State *B)
{
	lua_Integer i = luaL_optinteger(B, 2, 1), end;
	lua_Unsigned n;

	end = lua_isnoneornil(B, 3) ? luaL_len(B, 1) : luaL_checkinteger(B, 3);
	if (i > end)
		return 0;
	n = (lua_Unsigned)end - (lua_Unsigned)i;
	if (n >= INT_MAX || !lua_checkstack(B, (int)++n))
		return luaL_error(B, "too many results to unpack");
	charge_elements(B, (lua_Integer)n);
	for (; i < end; i++)
		lua_geti(B, 1, i);
	lua_geti(B, 1, end);
	return (int)n;
}

/* Is the value at @a before the one at @b? */
static bool before(lua_State *B, int a, int b)
{
	bool is;

	box_charge(B, 2);
	if (lua_isnoneornil(B, 2))
		return lua_compare(B, a, b, LUA_OPLT);
	a = lua_absindex(B, a);
	b = lua_absindex(B, b);
	lua_pushvalue(B, 2);
	lua_pushvalue(B, a);
	lua_pushvalue(B, b);
	box_callf(B, 2, 1);
	is = lua_toboolean(B, -1);
	lua_pop(B, 1);
	return is;
}

/* Put the value on top, which it pops, at @root of a heap of @n elements. */
static void sift(lua_State *B, lua_Integer root, lua_Integer n)
{
	lua_Integer child;

	for (; root <= n / 2; root = child) {
		child = 2 * root;
		lua_geti(B, 1, child);
		if (child < n) {
			lua_geti(B, 1, child + 1);
			if (before(B, -2, -1)) {
				lua_replace(B, -2);
				child++;
			} else {
				lua_pop(B, 1);
			}
		}
		if (!before(B, -2, -1)) {
			lua_pop(B, 1);
			break;
		}
		lua_seti(B, 1, root);
	}
	lua_seti(B, 1, root);
}

/*
 * Heapsort: n log n and within bounds whatever a hostile comparison answers.
 * The library's quicksort runs on until it hits the end of the list.
 */
void box_sort(lua_State *B, lua_Integer n)
{
	charge_elements(B, n);
	for (lua_Integer i = n / 2; i > 0; i--) {
		lua_geti(B, 1, i);
		sift(B, i, n);
	}
	for (; n > 1; n--) {
		lua_geti(B, 1, n);
		lua_geti(B, 1, 1);
		lua_seti(B, 1, n);
		sift(B, 1, n - 1);
	}
}

static int tab_sort(lua_State *B)
{
	lua_Integer n = check_list(B, true);

	if (!lua_isnoneornil(B, 2))
		luaL_checktype(B, 2, LUA_TFUNCTION);
	lua_settop(B, 2);
	box_sort(B, n);
	return 0;
}

void box_table_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "concat", tab_concat }, { "insert", tab_insert },
		{ "move", tab_move },	  { "remove", tab_remove },
		{ "sort", tab_sort },	  { "unpack", tab_unpack },
		{ NULL, NULL },
	};

	lua_pushcfunction(B, luaopen_table);
	box_callf(B, 0, 1);
	luaL_newlib(B, functions);
	lua_getfield(B, -2, "pack");
	lua_setfield(B, -2, "pack");
	lua_remove(B, -2);
}
