/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.tidy: state files of runs, and what they left; see api_tidy.md. */
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/aside.h"
#include "core/holdings.h"
#include "core/remove_tree.h"
#include "core/state.h"
#include "lua/api.h"

static int tidy_lua_create(lua_State *L)
{
	const char *path = api_absolute(L, 1);
	size_t size;
	const char *text = luaL_checklstring(L, 2, &size);

	return api_number(L, state_create(path, text, size));
}

/* claim(path, milliseconds) -> descriptor: waits so long for the last process
 */
static int tidy_lua_claim(lua_State *L)
{
	static const struct timespec pause = { .tv_nsec = 2000000 };
	const char *path = api_absolute(L, 1);
	lua_Integer left = luaL_optinteger(L, 2, 0);
	int fd = state_claim(path);

	for (; fd == -EWOULDBLOCK && left > 0; left -= 2) {
		(void)nanosleep(&pause, NULL);
		fd = state_claim(path);
	}
	return api_number(L, fd);
}

/* hold(path) -> descriptor: holds what another has made */
static int tidy_lua_hold(lua_State *L)
{
	return api_number(L, state_hold(api_absolute(L, 1), false));
}

static int tidy_lua_close(lua_State *L)
{
	close((int)luaL_checkinteger(L, 1));
	return 0;
}

static int tidy_lua_unlink(lua_State *L)
{
	return api_done(L, unlink(api_absolute(L, 1)) ? -errno : 0);
}

static int tidy_lua_mkdir(lua_State *L)
{
	const char *path = api_absolute(L, 1);

	return api_done(L, mkdir(path, 0700) ? -errno : 0);
}

static int tidy_lua_rmdir(lua_State *L)
{
	return api_done(L, rmdir(api_absolute(L, 1)) ? -errno : 0);
}

static int tidy_lua_place(lua_State *L)
{
	holdings_sweep(api_absolute(L, 1));
	return 0;
}

static int tidy_lua_tree(lua_State *L)
{
	return api_done(L, remove_tree(api_absolute(L, 1)));
}

static int tidy_lua_aside(lua_State *L)
{
	const char *path = api_absolute(L, 1);
	const char *suffix = luaL_checkstring(L, 2);
	char name[NAME_MAX + 1];
	int error;

	luaL_argcheck(L, strlen(suffix) < NAME_MAX / 2, 2, "too long");
	error = aside_move(path, suffix, name, sizeof(name));
	if (error)
		return api_fail(L, -error);
	lua_pushstring(L, name);
	return 1;
}

static int tidy_lua_put(lua_State *L)
{
	const char *path = api_absolute(L, 1);
	size_t size;
	const char *text = luaL_checklstring(L, 2, &size);

	return api_done(L, aside_write(path, text, size,
				       (mode_t)luaL_checkinteger(L, 3)));
}

static int tidy_lua_replace(lua_State *L)
{
	const char *path = api_absolute(L, 1);
	size_t size;
	const char *text = luaL_checklstring(L, 2, &size);

	return api_done(L, aside_replace(path, text, size));
}

static int tidy_lua_open(lua_State *L)
{
	return api_number(L, aside_open_up(api_absolute(L, 1),
					   (mode_t)luaL_optinteger(L, 2, 0)));
}

int luaopen_srt_c_tidy(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "create", tidy_lua_create }, { "claim", tidy_lua_claim },
		{ "close", tidy_lua_close },   { "unlink", tidy_lua_unlink },
		{ "mkdir", tidy_lua_mkdir },   { "rmdir", tidy_lua_rmdir },
		{ "place", tidy_lua_place },   { "tree", tidy_lua_tree },
		{ "aside", tidy_lua_aside },   { "put", tidy_lua_put },
		{ "open", tidy_lua_open },     { "replace", tidy_lua_replace },
		{ "hold", tidy_lua_hold },     { NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
