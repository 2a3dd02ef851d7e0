/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.guard: what the agent inside asks; see api_guard.md. */
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>

#include "core/guard_move.h"
#include "core/identity.h"
#include "core/socket_rules.h"
#include "lua/api.h"
#include "lua/plan_reader.h"

#define GUARD "srt.guard"
#define SOCKETS "srt.sockets"

/* struct object - the userdata; owns all it points to */
struct object {
	struct shared *shared;
	struct guard_table table;
	struct guard_rules rules;
};

static int guard_lua_gc(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, GUARD);

	free(object->rules.paths);
	shared_free(object->shared);
	*object = (struct object){ 0 };
	return 0;
}

/* compile(guard) -> object: of a plan's guard */
static int guard_lua_compile(lua_State *L)
{
	struct plan_reader reader = { .L = L };
	struct object *object;

	luaL_checktype(L, 1, LUA_TTABLE);
	object = lua_newuserdatauv(L, sizeof(*object), 0);
	*object = (struct object){ 0 };
	luaL_setmetatable(L, GUARD);
	reader.shared = object->shared = shared_new(false);
	if (!object->shared)
		return luaL_error(L, "no memory");
	plan_read_guard(&reader, 1, &object->table);
	if (guard_rules_compile(&object->table, &object->rules))
		return luaL_error(L, "no memory");
	return 1;
}

/* Its kind and its place: two values, or none. */
static int push_rule(lua_State *L, const struct guard_rules *rules,
		     struct guard_rule rule)
{
	static const char *const kinds[] = { [GUARD_PATH] = "path",
					     [GUARD_NAME] = "name",
					     [GUARD_GLOB] = "glob" };

	if (rule.kind == GUARD_NONE)
		return 0;
	lua_pushstring(L, kinds[rule.kind]);
	if (rule.kind == GUARD_PATH)
		lua_pushstring(L, rules->paths[rule.index]);
	else
		lua_pushinteger(L, (lua_Integer)rule.index + 1);
	return 2;
}

/* object:find(path, link) -> "path", text | "name", index | "glob", index |
 * nothing */
static int guard_lua_find(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, GUARD);

	return push_rule(L, &object->rules,
			 guard_find(&object->rules, luaL_checkstring(L, 2),
				    lua_toboolean(L, 3)));
}

/* The strings of a list in a field of @index, which stay where they are. */
static const char *const *strings_of(lua_State *L, int index, const char *field,
				     size_t *count)
{
	const char **list;

	lua_getfield(L, index, field);
	luaL_checktype(L, -1, LUA_TTABLE);
	*count = lua_rawlen(L, -1);
	list = lua_newuserdatauv(L, *count * sizeof(*list) + 1, 0);
	for (size_t i = 0; i < *count; i++) {
		lua_rawgeti(L, -2, (lua_Integer)i + 1);
		list[i] = luaL_checkstring(L, -1);
		lua_pop(L, 1);
	}
	return list;
}

/* object:move(from, to, sight) -> code, as of find | code | nothing */
static int guard_lua_move(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, GUARD);
	const char *from = luaL_checkstring(L, 2);
	const char *to = luaL_checkstring(L, 3);
	struct guard_moved what = { .dir = AT_FDCWD,
				    .name = from,
				    .real = from };
	struct guard_rule rule = { 0 };
	uint64_t ours;
	int error;

	luaL_checktype(L, 4, LUA_TTABLE);
	lua_getfield(L, 4, "caps");
	what.masks = strings_of(L, 4, "masks", &what.mask_count);
	what.scaffolds = strings_of(L, 4, "scaffolds", &what.scaffold_count);
	error = identity_act((uint64_t)luaL_checkinteger(L, 5), &ours);
	if (!error) {
		error = guard_move(&object->rules, &what, to, &rule);
		(void)identity_act(ours, NULL);
	}
	if (!error)
		return 0;
	lua_pushstring(L, api_error_name(-error));
	return 1 + push_rule(L, &object->rules, rule);
}

/* struct sockets - the userdata; owns all it points to */
struct sockets {
	struct shared *shared;
	struct socket_table table;
};

static int sockets_lua_gc(lua_State *L)
{
	struct sockets *sockets = luaL_checkudata(L, 1, SOCKETS);

	shared_free(sockets->shared);
	*sockets = (struct sockets){ 0 };
	return 0;
}

/* sockets(sockets) -> object: of a plan's sockets */
static int sockets_lua_compile(lua_State *L)
{
	struct plan_reader reader = { .L = L };
	struct sockets *sockets;

	luaL_checktype(L, 1, LUA_TTABLE);
	sockets = lua_newuserdatauv(L, sizeof(*sockets), 0);
	*sockets = (struct sockets){ 0 };
	luaL_setmetatable(L, SOCKETS);
	reader.shared = sockets->shared = shared_new(false);
	if (!sockets->shared)
		return luaL_error(L, "no memory");
	plan_read_sockets(&reader, 1, &sockets->table);
	return 1;
}

/* object:find(path) -> "path", text | "glob", index | nothing */
static int sockets_lua_find(lua_State *L)
{
	struct sockets *sockets = luaL_checkudata(L, 1, SOCKETS);
	struct socket_rule rule =
		socket_rules_find(&sockets->table, luaL_checkstring(L, 2));

	if (rule.kind == SOCKET_NONE)
		return 0;
	lua_pushstring(L, rule.kind == SOCKET_PATH ? "path" : "glob");
	if (rule.kind == SOCKET_PATH)
		lua_pushstring(L, sockets->table.paths[rule.index]);
	else
		lua_pushinteger(L, (lua_Integer)rule.index + 1);
	return 2;
}

/* searchable(path, caps) -> is it a folder whose names can be looked up? */
static int guard_lua_searchable(lua_State *L)
{
	const char *path = api_absolute(L, 1);
	lua_Integer caps = luaL_checkinteger(L, 2);
	bool searchable = false;
	uint64_t ours;

	if (!identity_act((uint64_t)caps, &ours)) {
		searchable = !faccessat(AT_FDCWD, path, X_OK, AT_EACCESS);
		(void)identity_act(ours, NULL);
	}
	lua_pushboolean(L, searchable);
	return 1;
}

int luaopen_srt_c_guard(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "find", guard_lua_find },
		{ "move", guard_lua_move },
		{ NULL, NULL },
	};
	static const luaL_Reg of_sockets[] = {
		{ "find", sockets_lua_find },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "compile", guard_lua_compile },
		{ "searchable", guard_lua_searchable },
		{ "sockets", sockets_lua_compile },
		{ NULL, NULL },
	};

	api_class(L, GUARD, methods, guard_lua_gc);
	api_class(L, SOCKETS, of_sockets, sockets_lua_gc);
	luaL_newlib(L, functions);
	return 1;
}
