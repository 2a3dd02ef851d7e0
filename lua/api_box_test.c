/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests and explanations of policies have of a box beside the others.
 *
 *	box.body(text, most)	keep, source: the body of a message, for the
 *				body field of what a callback is asked about;
 *				keep is to be held as long
 *	b:clock(seconds)	the box's time stands there, also in a run
 *	b:cover()		note from now on which lines are run
 *	b:covered()		{[file] = {[line] = true}}
 *	b:lines(fn)		the lines of a function that have code, sorted
 */
#include "lua/api_box_test.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/api.h"
#include "lua/body.h"
#include "lua/box_copy.h"
#include "lua/box_cover.h"
#include "lua/box_state.h"

struct text_body {
	struct body_source source;
	const char *text; /* user value 1 */
	size_t size;
};

static bool begin(struct body_source *source, size_t max)
{
	(void)source;
	(void)max;
	return true;
}

/* It is over when it begins. */
static void watch(struct body_source *source, void (*done)(void *context),
		  void *context)
{
	(void)source;
	(void)done;
	(void)context;
}

static const char *take(struct body_source *source, size_t max,
			const char **data, size_t *size)
{
	/* It is the first member. */
	const struct text_body *body = (const struct text_body *)source;

	if (body->size > max)
		return BODY_TOO_LONG;
	*data = body->text;
	*size = body->size;
	return NULL;
}

int api_box_body(lua_State *L)
{
	lua_Integer most = luaL_checkinteger(L, 2);
	struct text_body *body;

	luaL_checktype(L, 1, LUA_TSTRING);
	luaL_argcheck(L, most > 0, 2, "must be more than 0");
	body = lua_newuserdatauv(L, sizeof(*body), 1);
	*body = (struct text_body){ .source = { .most = (size_t)most,
						.begin = begin,
						.watch = watch,
						.take = take } };
	body->text = lua_tolstring(L, 1, &body->size);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	lua_pushlightuserdata(L, &body->source);
	return 2;
}

static int api_clock(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	b->now = luaL_checknumber(L, 2);
	b->clocked = true;
	return 0;
}

static int api_cover(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	return box_cover_start(b) ? luaL_error(L, "out of memory") : 0;
}

static int api_covered(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	lua_newtable(L);
	for (size_t i = 0; b->cover && i < b->cover->count; i++) {
		const struct box_covered *file = &b->cover->files[i];

		lua_pushstring(L, file->name + (*file->name == '@' ||
						*file->name == '='));
		lua_newtable(L);
		for (size_t line = 1; line < file->size; line++) {
			if (!file->lines[line])
				continue;
			lua_pushboolean(L, 1);
			lua_rawseti(L, -2, (lua_Integer)line);
		}
		lua_rawset(L, -3);
	}
	return 1;
}

/* In the box, protected: a function to the set of its lines */
static int active_lines(lua_State *B)
{
	lua_Debug ar;

	lua_settop(B, 1);
	lua_getinfo(B, ">L", &ar);
	return 1;
}

static int compare(const void *a, const void *b)
{
	lua_Integer x = *(const lua_Integer *)a, y = *(const lua_Integer *)b;

	return (x > y) - (x < y);
}

/* The set on top of the box as a sorted list; it throws in neither state. */
static size_t sorted(lua_State *B, lua_Integer *list, size_t room)
{
	size_t count = 0;

	lua_pushnil(B);
	while (lua_next(B, -2)) {
		lua_pop(B, 1);
		if (count < room)
			list[count++] = lua_tointeger(B, -1);
	}
	qsort(list, count, sizeof(*list), compare);
	return count;
}

static int api_lines(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);
	const struct box_fn *fn = luaL_checkudata(L, 2, BOX_FN);
	enum { ROOM = 4096 };
	lua_Integer *list;
	size_t count = 0;

	luaL_argcheck(L, b->L && !b->host && fn->box == b, 2,
		      "a function of another box, or it runs");
	list = lua_newuserdatauv(L, ROOM * sizeof(*list), 0);
	lua_settop(b->L, 0);
	lua_pushcfunction(b->L, active_lines);
	lua_rawgetp(b->L, LUA_REGISTRYINDEX, &box_key_functions);
	lua_rawgeti(b->L, -1, fn->ref);
	lua_remove(b->L, -2);
	if (lua_pcall(b->L, 1, 1, 0) == LUA_OK && lua_istable(b->L, -1))
		count = sorted(b->L, list, ROOM);
	lua_settop(b->L, 0);
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		lua_pushinteger(L, list[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

void api_box_test_methods(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "clock", api_clock },
		{ "cover", api_cover },
		{ "covered", api_covered },
		{ "lines", api_lines },
		{ NULL, NULL },
	};

	luaL_setfuncs(L, methods, 0);
}
