/* SPDX-License-Identifier: Apache-2.0 */
/* srt.glob: the paths that a pattern matches, while the policy is loaded. */
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/glob.h"
#include "core/walk_globs.h"
#include "lua/box_path.h"
#include "lua/box_srt.h"
#include "lua/box_state.h"

#define NAME_COST 150 /* what reading a name costs, in VM instructions */
#define BYTES ((size_t)32 << 20)

/*
 * A pattern in two: a root that is no pattern whatever is in its name, and the
 * rest, which begins where the pattern does.
 */
struct split {
	char root[PATH_MAX];
	char rest[PATH_MAX];
};

static void set_root(lua_State *B, struct split *split, const char *root)
{
	luaL_argcheck(B, root && strlen(root) < PATH_MAX, 1,
		      "no directory to start from");
	strcpy(split->root, strcmp(root, "/") == 0 ? "" : root);
}

/* Puts a component at the end; ".." takes one away. */
static void add(lua_State *B, char *path, const char *part, size_t size)
{
	size_t used = strlen(path);
	char *slash = strrchr(path, '/');

	if (size == 0 || (size == 1 && *part == '.'))
		return;
	if (size == 2 && memcmp(part, "..", 2) == 0) {
		if (slash)
			*slash = 0;
		return;
	}
	luaL_argcheck(B, used + size + 2 < PATH_MAX, 1, "pattern too long");
	path[used] = '/';
	memcpy(path + used + 1, part, size);
	path[used + 1 + size] = 0;
}

static void split_pattern(lua_State *B, struct split *split)
{
	const struct box *b = box_of(B);
	size_t size;
	const char *p = luaL_checklstring(B, 1, &size), *end = p + size, *slash;
	bool wild = false;

	luaL_argcheck(B, size > 0 && strlen(p) == size, 1,
		      "an empty pattern, or one with a zero byte");
	if (*p == '~' && (p[1] == '/' || !p[1])) {
		set_root(B, split, b->home);
		p++;
	} else {
		set_root(B, split, *p == '/' ? "/" : b->cwd);
	}
	split->rest[0] = 0;
	for (; p < end; p = slash + 1) {
		slash = strchrnul(p, '/');
		wild |= glob_fixed(p, (size_t)(end - p)) < (size_t)(slash - p);
		luaL_argcheck(B, !wild || strncmp(p, "..", 2) || slash - p != 2,
			      1, "\"..\" can't follow a pattern");
		add(B, wild ? split->rest : split->root, p,
		    (size_t)(slash - p));
	}
}

struct outcome {
	struct walk_result result;
	uint64_t cost;
};

/* (light userdata of an outcome) to a list of paths; called protected */
static int make_list(lua_State *B)
{
	const struct outcome *outcome = lua_touserdata(B, 1);
	const struct walk_list *list = &outcome->result.taken;

	box_charge(B, outcome->cost);
	lua_createtable(B, (int)list->count, 0);
	for (size_t i = 0; i < list->count; i++) {
		lua_pushstring(B, list->text + list->records[i].at);
		lua_rawseti(B, -2, (lua_Integer)i + 1);
	}
	return 1;
}

static int push_paths(lua_State *B, struct outcome *outcome)
{
	int status;

	walk_result_sort(&outcome->result);
	lua_pushcfunction(B, make_list);
	lua_pushlightuserdata(B, outcome);
	status = lua_pcall(B, 1, 1, 0);
	walk_result_free(&outcome->result);
	return status == LUA_OK ? 1 : lua_error(B);
}

static int push_one(lua_State *B, const char *path)
{
	struct stat st;

	lua_newtable(B);
	if (lstat(*path ? path : "/", &st) == 0) {
		lua_pushstring(B, *path ? path : "/");
		lua_rawseti(B, -2, 1);
	}
	return 1;
}

static int walk(lua_State *B, const struct split *split)
{
	uint64_t granted = (uint64_t)box_of(B)->left / NAME_COST;
	struct walk_limits limits = { .entries = granted, .bytes = BYTES };
	const char *pattern = split->rest + 1;
	struct outcome outcome = { 0 };
	int error = walk_globs(*split->root ? split->root : "/", &pattern, 1,
			       &limits, &outcome.result);

	outcome.cost = (granted - limits.entries) * NAME_COST;
	if (!error || error == -ENOENT || error == -ENOTDIR)
		return push_paths(B, &outcome);
	walk_result_free(&outcome.result);
	/* Where the bound was met all is paid, and one more. */
	box_charge(B, outcome.cost);
	if (error == -E2BIG && !limits.entries)
		box_charge(B, NAME_COST);
	return luaL_error(B, "srt.glob: %s: %s", split->root,
			  error == -E2BIG ? "too many paths match"
					  : strerror(-error));
}

/* srt.glob(pattern): sorted list of paths */
static int srt_glob(lua_State *B)
{
	struct split split;

	box_check_loading(B, "srt.glob");
	split_pattern(B, &split);
	luaL_checkstack(B, 6, NULL);
	box_charge(B, NAME_COST);
	return split.rest[0] ? walk(B, &split) : push_one(B, split.root);
}

void box_glob_open(lua_State *B)
{
	lua_pushcfunction(B, srt_glob);
	lua_setfield(B, -2, "glob");
}
