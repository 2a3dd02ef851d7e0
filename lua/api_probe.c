/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.probe: what this machine lets the caller do; see api_probe.md. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <sched.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/capture.h"
#include "core/probe.h"
#include "lua/api.h"

#define WORDS_MAX 16
#define OUTPUT_MAX 65536

/* namespaces(name, …) -> true | nil, message, name of the error */
static int probe_lua_namespaces(lua_State *L)
{
	static const char *const names[] = { "user", "mount", "pid",	"net",
					     "ipc",  "uts",   "cgroup", NULL };
	static const uint64_t flags[] = { CLONE_NEWUSER,  CLONE_NEWNS,
					  CLONE_NEWPID,	  CLONE_NEWNET,
					  CLONE_NEWIPC,	  CLONE_NEWUTS,
					  CLONE_NEWCGROUP };
	uint64_t wanted = 0;

	for (int i = 1; i <= lua_gettop(L); i++)
		wanted |= flags[luaL_checkoption(L, i, NULL, names)];
	return api_done(L, probe_namespaces(wanted));
}

/* build() -> true | nil, message, name of the error, stage */
static int probe_lua_build(lua_State *L)
{
	struct failure failure = { 0 };
	const char *stage;
	int error = probe_build(&stage, &failure);

	if (!error)
		return api_done(L, 0);
	lua_pushnil(L);
	lua_pushstring(L, failure.text);
	lua_pushstring(L, api_error_name(-error));
	lua_pushstring(L, stage);
	return 4;
}

static int probe_lua_seccomp(lua_State *L)
{
	return api_done(L, probe_seccomp(lua_toboolean(L, 1)));
}

static int probe_lua_landlock(lua_State *L)
{
	return api_done(L, probe_landlock());
}

/* run(argv, milliseconds) -> status, text | nil, message */
static int probe_lua_run(lua_State *L)
{
	const char *argv[WORDS_MAX + 1];
	int timeout = (int)luaL_checkinteger(L, 2), status = 0;
	size_t size = OUTPUT_MAX;
	struct failure failure = { 0 };
	luaL_Buffer buffer;
	char *out;

	api_argv(L, 1, argv, WORDS_MAX);
	out = luaL_buffinitsize(L, &buffer, size);
	if (capture_all((char *const *)argv, timeout, out, &size, &status,
			&failure)) {
		lua_pushnil(L);
		lua_pushstring(L, failure.text);
		return 2;
	}
	luaL_pushresultsize(&buffer, size);
	lua_pushinteger(L, status);
	lua_insert(L, -2);
	return 2;
}

/* space(path) -> bytes, files that may still be made */
static int probe_lua_space(lua_State *L)
{
	struct statvfs at;

	if (statvfs(luaL_checkstring(L, 1), &at))
		return api_fail(L, errno);
	lua_pushinteger(L, (lua_Integer)(at.f_bavail * at.f_frsize));
	/* Some file systems (btrfs) have no such limit. */
	if (at.f_files)
		lua_pushinteger(L, (lua_Integer)at.f_favail);
	else
		lua_pushnil(L);
	return 2;
}

int luaopen_srt_c_probe(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "namespaces", probe_lua_namespaces },
		{ "build", probe_lua_build },
		{ "seccomp", probe_lua_seccomp },
		{ "landlock", probe_lua_landlock },
		{ "run", probe_lua_run },
		{ "space", probe_lua_space },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
