/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.guard: which names may not be made; see api_guard.md. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>

#include "core/guard_rules.h"
#include "lua/api.h"
#include "lua/plan_reader.h"

#define GUARD "srt.guard"

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
	reader.shared = object->shared = shared_new();
	if (!object->shared)
		return luaL_error(L, "no memory");
	plan_read_guard(&reader, 1, &object->table);
	if (guard_rules_compile(&object->table, &object->rules))
		return luaL_error(L, "no memory");
	return 1;
}

/* object:find(path, link) -> "path", text | "name", index | "glob", index |
 * nothing */
static int guard_lua_find(lua_State *L)
{
	static const char *const kinds[] = { [GUARD_PATH] = "path",
					     [GUARD_NAME] = "name",
					     [GUARD_GLOB] = "glob" };
	struct object *object = luaL_checkudata(L, 1, GUARD);
	struct guard_rule rule = guard_find(
		&object->rules, luaL_checkstring(L, 2), lua_toboolean(L, 3));

	if (rule.kind == GUARD_NONE)
		return 0;
	lua_pushstring(L, kinds[rule.kind]);
	if (rule.kind == GUARD_PATH)
		lua_pushstring(L, object->rules.paths[rule.index]);
	else
		lua_pushinteger(L, (lua_Integer)rule.index + 1);
	return 2;
}

int luaopen_srt_c_guard(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "find", guard_lua_find },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "compile", guard_lua_compile },
		{ NULL, NULL },
	};

	api_class(L, GUARD, methods, guard_lua_gc);
	luaL_newlib(L, functions);
	return 1;
}
