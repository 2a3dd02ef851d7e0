/* SPDX-License-Identifier: Apache-2.0 */
/* JSON encoding for the box. */
#include <lauxlib.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/box_json.h"
#include "lua/box_state.h"
#include "lua/box_string.h"
#include "lua/box_view.h"

/*
 * Text pieces are collected in the table at PIECES and joined at the end: a
 * luaL_Buffer would have to be on top of the stack all the time.
 */
#define PIECES 2
#define PIECE_COST 4

struct writer {
	lua_State *B;
	lua_Integer count;
	int depth;
};

static void write_value(struct writer *w, int index);

/* Takes the string on top. */
static void add_top(struct writer *w)
{
	box_charge(w->B, PIECE_COST + lua_rawlen(w->B, -1) / 8);
	lua_rawseti(w->B, PIECES, ++w->count);
}

static void add(struct writer *w, const char *text)
{
	lua_pushstring(w->B, text);
	add_top(w);
}

static void add_escaped(luaL_Buffer *out, unsigned char c)
{
	char text[8];

	if (c == '"' || c == '\\')
		snprintf(text, sizeof(text), "\\%c", c);
	else if (c == '\n')
		snprintf(text, sizeof(text), "\\n");
	else
		snprintf(text, sizeof(text), "\\u%04x", c);
	luaL_addstring(out, text);
}

static void write_string(struct writer *w, int index)
{
	size_t size, n;
	const char *text = lua_tolstring(w->B, index, &size);
	luaL_Buffer out;

	box_charge(w->B, size / 4);
	luaL_buffinit(w->B, &out);
	luaL_addchar(&out, '"');
	for (; size > 0; text += n, size -= n) {
		unsigned char c = (unsigned char)*text;

		n = box_utf8_length(text, size);
		if (n == 0)
			luaL_error(w->B, "a string is not UTF-8");
		if (c < ' ' || c == '"' || c == '\\')
			add_escaped(&out, c);
		else
			luaL_addlstring(&out, text, n);
	}
	luaL_addchar(&out, '"');
	luaL_pushresult(&out);
	add_top(w);
}

static void write_number(struct writer *w, int index)
{
	lua_Number n = lua_tonumber(w->B, index);
	char text[48];

	if (lua_isinteger(w->B, index)) {
		lua_pushvalue(w->B, index);
		lua_tostring(w->B, -1);
		add_top(w);
		return;
	}
	if (!isfinite(n))
		luaL_error(w->B, "JSON has no %f", n);
	snprintf(text, sizeof(text), "%.15g", n);
	if (strtod(text, NULL) != n)
		snprintf(text, sizeof(text), "%.17g", n);
	add(w, text);
}

/* How many values an array has, or -1 where the table is an object. */
static lua_Integer array_size(struct writer *w, int index)
{
	lua_Integer count = 0;

	lua_pushnil(w->B);
	while (lua_next(w->B, index)) {
		lua_pop(w->B, 1);
		box_charge(w->B, 1);
		count++;
	}
	return count == (lua_Integer)lua_rawlen(w->B, index) ? count : -1;
}

static void write_array(struct writer *w, int index, lua_Integer n)
{
	for (lua_Integer i = 1; i <= n; i++) {
		add(w, i == 1 ? "[" : ",");
		lua_rawgeti(w->B, index, i);
		write_value(w, lua_gettop(w->B));
		lua_pop(w->B, 1);
	}
	add(w, n ? "]" : "[]");
}

/* (keys): sorts a list, as a function of its own stack. */
static int sort_keys(lua_State *B)
{
	lua_settop(B, 2);
	box_sort(B, (lua_Integer)lua_rawlen(B, 1));
	return 0;
}

/* Pushes the sorted list of keys. */
static void push_keys(struct writer *w, int index)
{
	lua_Integer n = 0;
	int keys;

	lua_newtable(w->B);
	keys = lua_gettop(w->B);
	lua_pushnil(w->B);
	while (lua_next(w->B, index)) {
		lua_pop(w->B, 1);
		if (lua_type(w->B, -1) != LUA_TSTRING)
			luaL_error(w->B, "a key of a JSON object must be a "
					 "string, and a list has no holes");
		lua_pushvalue(w->B, -1);
		lua_rawseti(w->B, keys, ++n);
	}
	lua_pushcfunction(w->B, sort_keys);
	lua_pushvalue(w->B, keys);
	box_callf(w->B, 1, 0);
}

static void write_object(struct writer *w, int index)
{
	lua_Integer n;
	int keys;

	push_keys(w, index);
	keys = lua_gettop(w->B);
	n = (lua_Integer)lua_rawlen(w->B, keys);
	for (lua_Integer i = 1; i <= n; i++) {
		add(w, i == 1 ? "{" : ",");
		lua_rawgeti(w->B, keys, i);
		write_string(w, lua_gettop(w->B));
		add(w, ":");
		lua_rawget(w->B, index);
		write_value(w, lua_gettop(w->B));
		lua_pop(w->B, 1);
	}
	add(w, "}");
	lua_pop(w->B, 1);
}

static void write_table(struct writer *w, int index)
{
	lua_Integer n;

	if (w->depth == JSON_MAX_DEPTH)
		luaL_error(w->B, "nested too deeply for JSON");
	luaL_checkstack(w->B, 12, NULL);
	w->depth++;
	n = array_size(w, index);
	if (n >= 0)
		write_array(w, index, n);
	else
		write_object(w, index);
	w->depth--;
}

static void write_value(struct writer *w, int index)
{
	if (lua_rawequal(w->B, index, lua_upvalueindex(1))) {
		add(w, "null");
		return;
	}
	switch (lua_type(w->B, index)) {
	case LUA_TBOOLEAN:
		add(w, lua_toboolean(w->B, index) ? "true" : "false");
		break;
	case LUA_TNUMBER:
		write_number(w, index);
		break;
	case LUA_TSTRING:
		write_string(w, index);
		break;
	case LUA_TTABLE:
		write_table(w, index);
		break;
	default:
		if (!box_view_push(w->B, index, false))
			luaL_error(w->B, "JSON has no %s",
				   luaL_typename(w->B, index));
		write_table(w, lua_gettop(w->B));
		lua_pop(w->B, 1);
	}
}

int box_json_encode(lua_State *B)
{
	struct writer w = { .B = B };
	luaL_Buffer out;

	luaL_checkany(B, 1);
	lua_settop(B, 1);
	lua_newtable(B);
	write_value(&w, 1);
	luaL_buffinit(B, &out);
	for (lua_Integer i = 1; i <= w.count; i++) {
		lua_rawgeti(B, PIECES, i);
		luaL_addvalue(&out);
	}
	luaL_pushresult(&out);
	return 1;
}
