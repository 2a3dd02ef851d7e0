/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crossing from box to host takes two passes, because an error may jump out
 * of one state only when no frame of the other one is in between: the first
 * pass checks the value within a protected call of the box; the second reads
 * the box with calls that can't throw and may throw in the host.
 */
#include "lua/box_copy.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "lua/box_secret.h"
#include "lua/box_view.h"

#define PATH_TEXT 200

/* One key on the way to a value, and the tables passed on it. */
struct step {
	const struct step *up;
	const void *table;
	const char *name; /* NULL: @index is the key */
	lua_Integer index;
	int depth;
};

struct check {
	lua_State *B;
	int list;
	bool charge, *bad;
	size_t nodes, bytes;
};

static size_t write_path(const struct step *step, char *out, size_t size)
{
	size_t used = step->up ? write_path(step->up, out, size) : 0;
	int n;

	if (used >= size || !step->up)
		return used;
	if (step->name)
		n = snprintf(out + used, size - used, "%s%.60s",
			     used ? "." : "", step->name);
	else
		n = snprintf(out + used, size - used, "[%lld]",
			     (long long)step->index);
	return n < 0 ? used : used + (size_t)n;
}

static int refuse(const struct check *c, const struct step *at,
		  const char *problem)
{
	char path[PATH_TEXT] = "";

	write_path(at, path, sizeof(path));
	*c->bad = true;
	return luaL_error(c->B, "%s: %s", *path ? path : "the policy's value",
			  problem);
}

static void check_value(struct check *c, int index, const struct step *at);

static bool is_reserved(const char *key)
{
	return strcmp(key, "$answer") == 0 || strcmp(key, "$remove") == 0 ||
	       strcmp(key, "$secret") == 0;
}

/* The key at -2, its value at -1. */
static void check_pair(struct check *c, const struct step *at, bool view)
{
	struct step step = { .up = at, .depth = at->depth + 1 };
	int type = lua_type(c->B, -2);
	size_t size;

	if (type == LUA_TSTRING) {
		step.name = lua_tolstring(c->B, -2, &size);
		c->bytes += size;
		if (!view && is_reserved(step.name))
			refuse(c, &step, "this key is reserved");
	} else if (type == LUA_TNUMBER) {
		step.index = lua_tointeger(c->B, -2);
	} else {
		refuse(c, at, "a key must be a string or a number");
	}
	check_value(c, lua_gettop(c->B), &step);
}

static void check_table(struct check *c, int index, const struct step *at,
			bool view)
{
	struct step here = *at;

	here.table = lua_topointer(c->B, index);
	for (const struct step *s = at->up; s; s = s->up)
		if (s->table == here.table)
			refuse(c, at, "the table contains itself");
	if (at->depth > BOX_MAX_DEPTH)
		refuse(c, at, "nested too deeply");
	luaL_checkstack(c->B, 6, "nested too deeply");
	lua_pushnil(c->B);
	while (lua_next(c->B, index)) {
		check_pair(c, &here, view);
		lua_pop(c->B, 1);
	}
}

static void check_function(struct check *c, int index)
{
	lua_pushvalue(c->B, index);
	lua_rawseti(c->B, c->list, (lua_Integer)lua_rawlen(c->B, c->list) + 1);
}

static void check_userdata(struct check *c, int index, const struct step *at)
{
	if (!box_secret_push(c->B, index) && !box_view_push(c->B, index, false))
		refuse(c, at, "a value of type userdata can't be used here");
	check_table(c, lua_gettop(c->B), at, true);
	lua_pop(c->B, 1);
}

static void check_value(struct check *c, int index, const struct step *at)
{
	size_t size;

	if (++c->nodes > BOX_MAX_NODES)
		refuse(c, at, "too many values");
	if (c->charge)
		box_charge(c->B, 10);
	switch (lua_type(c->B, index)) {
	case LUA_TNIL:
	case LUA_TBOOLEAN:
	case LUA_TNUMBER:
		break;
	case LUA_TSTRING:
		lua_tolstring(c->B, index, &size);
		c->bytes += size;
		/* One string in many places is copied each time. */
		if (c->bytes > box_of(c->B)->cap)
			refuse(c, at, "too much text");
		break;
	case LUA_TTABLE:
		check_table(c, index, at, false);
		break;
	case LUA_TFUNCTION:
		check_function(c, index);
		break;
	case LUA_TUSERDATA:
		check_userdata(c, index, at);
		break;
	default:
		refuse(c, at, "a value of this type can't be used here");
	}
}

void box_check_out(lua_State *B, int index, int list, bool charge, bool *bad)
{
	struct check c = { .B = B, .list = list, .charge = charge, .bad = bad };
	struct step top = { .depth = 0 };

	luaL_checkstack(B, 8, NULL);
	check_value(&c, index, &top);
}

void box_keep_functions(lua_State *B, int list)
{
	lua_Integer n = (lua_Integer)lua_rawlen(B, list);

	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_functions);
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(B, list, i);
		lua_pushinteger(B, luaL_ref(B, -2));
		lua_rawseti(B, list, i);
	}
	lua_pop(B, 1);
}

static void out_function(struct box_out *out)
{
	struct box_fn *fn = lua_newuserdatauv(out->H, sizeof(*fn), 1);

	fn->box = NULL; /* not ours to release yet */
	luaL_setmetatable(out->H, BOX_FN);
	lua_pushvalue(out->H, out->owner);
	lua_setiuservalue(out->H, -2, 1);
	lua_rawgeti(out->B, out->list, ++out->next);
	fn->ref = (int)lua_tointeger(out->B, -1);
	lua_pop(out->B, 1);
	fn->box = out->box;
}

/* A key, or any value that is no table. */
static void out_scalar(struct box_out *out, int index)
{
	size_t size;
	const char *text;

	switch (lua_type(out->B, index)) {
	case LUA_TSTRING:
		text = lua_tolstring(out->B, index, &size);
		lua_pushlstring(out->H, text, size);
		break;
	case LUA_TNUMBER:
		if (lua_isinteger(out->B, index))
			lua_pushinteger(out->H, lua_tointeger(out->B, index));
		else
			lua_pushnumber(out->H, lua_tonumber(out->B, index));
		break;
	case LUA_TBOOLEAN:
		lua_pushboolean(out->H, lua_toboolean(out->B, index));
		break;
	case LUA_TFUNCTION:
		out_function(out);
		break;
	default:
		lua_pushnil(out->H);
	}
}

static void out_table(struct box_out *out, int index)
{
	luaL_checkstack(out->H, 6, "too deep for the host");
	lua_newtable(out->H);
	lua_pushnil(out->B);
	while (lua_next(out->B, index)) {
		out_scalar(out, lua_gettop(out->B) - 1);
		box_copy_out(out, lua_gettop(out->B));
		lua_rawset(out->H, -3);
		lua_pop(out->B, 1);
	}
}

void box_copy_out(struct box_out *out, int index)
{
	/* The first pass has grown the stack as far as this one needs. */
	if (!lua_checkstack(out->B, 6))
		luaL_error(out->H, "not enough memory in the box");
	if (lua_istable(out->B, index)) {
		out_table(out, index);
	} else if (box_secret_push(out->B, index) ||
		   box_view_push(out->B, index, true)) {
		out_table(out, lua_gettop(out->B));
		lua_pop(out->B, 1);
	} else {
		out_scalar(out, index);
	}
}

static void in_table(lua_State *B, lua_State *H, int index, int depth);

static void in_value(lua_State *B, lua_State *H, int index, int depth)
{
	size_t size;
	const char *text;

	switch (lua_type(H, index)) {
	case LUA_TNIL:
		lua_pushnil(B);
		break;
	case LUA_TBOOLEAN:
		lua_pushboolean(B, lua_toboolean(H, index));
		break;
	case LUA_TNUMBER:
		if (lua_isinteger(H, index))
			lua_pushinteger(B, lua_tointeger(H, index));
		else
			lua_pushnumber(B, lua_tonumber(H, index));
		break;
	case LUA_TSTRING:
		text = lua_tolstring(H, index, &size);
		lua_pushlstring(B, text, size);
		break;
	case LUA_TTABLE:
		in_table(B, H, index, depth + 1);
		break;
	default:
		luaL_error(B, "the host gave a value of type %s",
			   lua_typename(H, lua_type(H, index)));
	}
}

/* Pushes a table with room for what the host's has: it need not grow. */
static void new_like(lua_State *B, lua_State *H, int index)
{
	int listed = (int)lua_rawlen(H, index), all = 0;

	lua_pushnil(H);
	while (lua_next(H, index)) {
		all++;
		lua_pop(H, 1);
	}
	lua_createtable(B, listed, all > listed ? all - listed : 0);
}

static void in_table(lua_State *B, lua_State *H, int index, int depth)
{
	if (depth > BOX_MAX_DEPTH || !lua_checkstack(H, 4))
		luaL_error(B, "the host's value is nested too deeply");
	luaL_checkstack(B, 6, NULL);
	new_like(B, H, index);
	lua_pushnil(H);
	while (lua_next(H, index)) {
		in_value(B, H, lua_gettop(H) - 1, depth);
		in_value(B, H, lua_gettop(H), depth);
		lua_rawset(B, -3);
		lua_pop(H, 1);
	}
}

void box_copy_in(lua_State *B, lua_State *H, int index)
{
	luaL_checkstack(B, 6, NULL);
	in_value(B, H, index, 0);
}
