/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.walk: finding entries in a tree; see api_walk.md. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "core/glob.h"
#include "core/walk.h"
#include "core/walk_globs.h"
#include "core/walk_names.h"
#include "core/walk_special.h"
#include "lua/api.h"

/* What a walk may read and keep, unless the caller says otherwise. */
#define ENTRIES 2000000
#define BYTES ((size_t)256 << 20)

/* Freed by the collector where pushing the result throws. */
static int free_result(lua_State *L)
{
	walk_result_free(lua_touserdata(L, 1));
	return 0;
}

static struct walk_result *new_result(lua_State *L)
{
	struct walk_result *result = lua_newuserdatauv(L, sizeof(*result), 0);

	*result = (struct walk_result){ 0 };
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, free_result);
	lua_setfield(L, -2, "__gc");
	lua_setmetatable(L, -2);
	return result;
}

static const char *check_text(lua_State *L, int index, int arg)
{
	size_t size;
	const char *text = lua_tolstring(L, index, &size);

	luaL_argcheck(L, text && strlen(text) == size, arg,
		      "strings without NUL bytes expected");
	return text;
}

/*
 * The strings of the list at @arg, which must stay there: they are borrowed.
 * The array is a userdata on the stack.
 */
static const char **check_list(lua_State *L, int arg, size_t *count)
{
	const char **list;

	luaL_checktype(L, arg, LUA_TTABLE);
	*count = (size_t)lua_rawlen(L, arg);
	list = lua_newuserdatauv(L, (*count + 1) * sizeof(*list), 0);
	for (size_t i = 0; i < *count; i++) {
		lua_rawgeti(L, arg, (lua_Integer)i + 1);
		luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, arg,
			      "strings expected");
		list[i] = check_text(L, -1, arg);
		lua_pop(L, 1);
	}
	return list;
}

static void push_record(lua_State *L, const struct walk_list *list, size_t i)
{
	const struct walk_record *record = &list->records[i];

	lua_createtable(L, 0, 3);
	lua_pushlstring(L, list->text + record->at, record->size);
	lua_setfield(L, -2, "path");
	if (record->error)
		lua_pushstring(L, api_error_name(record->error));
	else
		lua_pushstring(L, walk_type_name(record->type));
	lua_setfield(L, -2, record->error ? "code" : "type");
}

/* Each record with the element of the list at @wanted that it is for. */
static void push_list(lua_State *L, const struct walk_list *list, int wanted,
		      const char *field)
{
	lua_createtable(L, (int)list->count, 0);
	for (size_t i = 0; i < list->count; i++) {
		push_record(L, list, i);
		if (wanted) {
			lua_rawgeti(L, wanted,
				    (lua_Integer)list->records[i].tag + 1);
			lua_setfield(L, -2, field);
		}
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static struct walk_limits check_limits(lua_State *L, int arg)
{
	lua_Integer entries = luaL_optinteger(L, arg, ENTRIES);

	luaL_argcheck(L, entries >= 0, arg, "out of range");
	return (struct walk_limits){ .entries = (uint64_t)entries,
				     .bytes = BYTES };
}

static const char *check_root(lua_State *L)
{
	const char *root = luaL_checkstring(L, 1);

	luaL_argcheck(L, *check_text(L, 1, 1) == '/', 1,
		      "an absolute path expected");
	return root;
}

/* names(root, names, depth, skip, entries) -> found, unseen, entries left */
static int walk_lua_names(lua_State *L)
{
	const char *root = check_root(L);
	lua_Integer depth = luaL_checkinteger(L, 3);
	struct walk_limits limits = check_limits(L, 5);
	struct walk_names wanted = { .depth = (unsigned int)depth };
	struct walk_result *result;
	int error;

	luaL_argcheck(L, depth >= 0 && depth <= 0xffff, 3, "out of range");
	lua_settop(L, 4);
	wanted.names = check_list(L, 2, &wanted.count);
	if (!lua_isnil(L, 4))
		wanted.skip = check_list(L, 4, &wanted.skip_count);
	result = new_result(L);
	error = walk_names(root, &wanted, &limits, result);
	if (error) {
		walk_result_free(result);
		return api_fail(L, -error);
	}
	walk_result_sort(result);
	push_list(L, &result->taken, 2, "name");
	push_list(L, &result->blind, 0, NULL);
	lua_pushinteger(L, (lua_Integer)limits.entries);
	walk_result_free(result);
	return 3;
}

/* globs(root, patterns, avoid, entries) -> found, unseen, entries left */
static int walk_lua_globs(lua_State *L)
{
	const char *root = check_root(L);
	struct walk_limits limits = check_limits(L, 4);
	const char **patterns;
	struct walk_result *result;
	size_t count;
	int error;

	lua_settop(L, 3);
	patterns = check_list(L, 2, &count);
	luaL_argcheck(L, count < UINT32_MAX, 2, "too many");
	if (!lua_isnil(L, 3))
		limits.avoid = check_list(L, 3, &limits.avoid_count);
	result = new_result(L);
	error = walk_globs(root, patterns, count, &limits, result);
	if (error) {
		walk_result_free(result);
		return api_fail(L, -error);
	}
	walk_result_sort(result);
	push_list(L, &result->taken, 2, "pattern");
	push_list(L, &result->blind, 2, "pattern");
	lua_pushinteger(L, (lua_Integer)limits.entries);
	walk_result_free(result);
	return 3;
}

/* special(root, entries) -> found, entries left */
static int walk_lua_special(lua_State *L)
{
	const char *root = check_root(L);
	struct walk_limits limits = check_limits(L, 2);
	struct walk_result *result = new_result(L);
	int error = walk_special(root, &limits, result);

	if (error) {
		walk_result_free(result);
		return api_fail(L, -error);
	}
	walk_result_sort(result);
	push_list(L, &result->taken, 0, NULL);
	lua_pushinteger(L, (lua_Integer)limits.entries);
	walk_result_free(result);
	return 2;
}

/* fixed(pattern) -> bytes at its beginning that are plain text */
static int walk_lua_fixed(lua_State *L)
{
	size_t size;
	const char *pattern = luaL_checklstring(L, 1, &size);

	lua_pushinteger(L, (lua_Integer)glob_fixed(pattern, size));
	return 1;
}

/* matches(pattern, path) -> does it match the path, or a folder above it? */
static int walk_lua_matches(lua_State *L)
{
	size_t pattern_size, path_size;
	const char *pattern = luaL_checklstring(L, 1, &pattern_size);
	const char *path = luaL_checklstring(L, 2, &path_size);
	int found = glob_path(pattern, pattern_size, path, path_size, true);

	if (found < 0)
		return luaL_error(L, "no memory");
	lua_pushboolean(L, found);
	return 1;
}

int luaopen_srt_c_walk(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "fixed", walk_lua_fixed },	 { "globs", walk_lua_globs },
		{ "matches", walk_lua_matches }, { "names", walk_lua_names },
		{ "special", walk_lua_special }, { NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
