/* SPDX-License-Identifier: Apache-2.0 */
/* The host state: runs our own modules, which are embedded in the binary. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/program.h"
#include "core/system.h"
#include "lua/api.h"
#include "lua/arena.h"
#include "lua/embedded.h"

#ifndef SRT_VERSION
#error "SRT_VERSION comes from the build"
#endif

static int by_name(const void *key, const void *entry)
{
	return strcmp(key, ((const struct embedded *)entry)->name);
}

static const struct embedded *find(const char *name)
{
	return bsearch(name, embedded_files, embedded_count,
		       sizeof(*embedded_files), by_name);
}

/* SRT_LUA_PATH names a source tree whose files come before the embedded. */
static int load_from_tree(lua_State *L, const struct embedded *file)
{
	const char *tree = getenv("SRT_LUA_PATH");

	if (!tree || !*tree || !strncmp(file->name, "text:", 5))
		return LUA_ERRFILE;
	lua_pushfstring(L, "%s/%s", tree, file->path); /* path */
	if (access(lua_tostring(L, -1), R_OK)) {
		lua_pop(L, 1);
		return LUA_ERRFILE;
	}
	if (luaL_loadfilex(L, lua_tostring(L, -1), "t"))
		return lua_error(L);
	lua_remove(L, -2); /* chunk */
	return LUA_OK;
}

/* searcher(name) -> loader, path */
static int search_embedded(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const struct embedded *file = find(name);

	if (!file) {
		lua_pushfstring(L, "no embedded module '%s'", name);
		return 1;
	}
	if (load_from_tree(L, file) != LUA_OK &&
	    luaL_loadbufferx(L, (const char *)file->data, file->size,
			     file->path, "b"))
		return lua_error(L);
	lua_pushstring(L, file->path);
	return 2;
}

/* embedded(name) -> source text or nil: ready-made policies */
static int embedded_text(lua_State *L)
{
	const struct embedded *file;

	lua_pushfstring(L, "text:%s", luaL_checkstring(L, 1));
	file = find(lua_tostring(L, -1));
	if (!file)
		return 0;
	lua_pushlstring(L, (const char *)file->data, file->size);
	return 1;
}

/* embedded_names(prefix) -> list of the text files below a prefix */
static int embedded_names(lua_State *L)
{
	const char *prefix = luaL_checkstring(L, 1);
	lua_Integer count = 0;

	lua_newtable(L);
	for (size_t i = 0; i < embedded_count; i++) {
		const char *name = embedded_files[i].name;

		if (strncmp(name, "text:", 5) ||
		    strncmp(name + 5, prefix, strlen(prefix)))
			continue;
		lua_pushstring(L, name + 5);
		lua_rawseti(L, -2, ++count);
	}
	return 1;
}

/* On every system; host_modules has the rest. */
static const luaL_Reg common_modules[] = {
	{ "srt.c.box", luaopen_srt_c_box },
	{ "srt.c.carry", luaopen_srt_c_carry },
	{ "srt.c.feed", luaopen_srt_c_feed },
	{ "srt.c.gate", luaopen_srt_c_gate },
	{ "srt.c.interrupt", luaopen_srt_c_interrupt },
	{ "srt.c.journal", luaopen_srt_c_journal },
	{ "srt.c.process", luaopen_srt_c_process },
	{ "srt.c.proxy", luaopen_srt_c_proxy },
	{ "srt.c.publish", luaopen_srt_c_publish },
	{ "srt.c.sandbox", luaopen_srt_c_sandbox },
	{ "srt.c.screen", luaopen_srt_c_screen },
	{ "srt.c.secret", luaopen_srt_c_secret },
	{ "srt.c.sys", luaopen_srt_c_sys },
	{ "srt.c.task", luaopen_srt_c_task },
	{ "srt.c.tidy", luaopen_srt_c_tidy },
	{ "srt.c.tls", luaopen_srt_c_tls },
	{ "srt.c.walk", luaopen_srt_c_walk },
	{ NULL, NULL },
};

/* Opened when first asked for: a usual run takes one of them. */
static const luaL_Reg rare_libraries[] = {
	{ LUA_COLIBNAME, luaopen_coroutine },
	{ LUA_DBLIBNAME, luaopen_debug },
	{ LUA_IOLIBNAME, luaopen_io },
	{ LUA_MATHLIBNAME, luaopen_math },
	{ LUA_OSLIBNAME, luaopen_os },
	{ LUA_UTF8LIBNAME, luaopen_utf8 },
	{ NULL, NULL },
};

/* __index(globals, name) -> that library */
static int open_rare(lua_State *L)
{
	const char *name = lua_tostring(L, 2);

	for (const luaL_Reg *l = rare_libraries; name && l->name; l++)
		if (!strcmp(l->name, name)) {
			luaL_requiref(L, l->name, l->func, 1);
			return 1;
		}
	return 0;
}

static void open_libraries(lua_State *L)
{
	luaL_requiref(L, LUA_LOADLIBNAME, luaopen_package, 1);
	luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
	luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
	luaL_requiref(L, LUA_GNAME, luaopen_base, 1); /* ... globals */
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, open_rare);
	lua_setfield(L, -2, "__index");
	lua_setmetatable(L, -2);
	lua_pop(L, 4);
}

static lua_CFunction find_module(const luaL_Reg *modules, const char *name)
{
	while (modules->name && strcmp(modules->name, name) != 0)
		modules++;
	return modules->func;
}

/* searcher(name) -> loader of what is ours: written in C, or embedded */
static int search(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	lua_CFunction open = find_module(common_modules, name);

	if (!open)
		open = find_module(host_modules, name);
	if (!open)
		return search_embedded(L);
	lua_pushcfunction(L, open);
	return 1;
}

/* Nothing of the user's package path is ours to run. */
static void set_searchers(lua_State *L)
{
	lua_getglobal(L, LUA_LOADLIBNAME);
	lua_createtable(L, 1, 0);
	lua_pushcfunction(L, search);
	lua_rawseti(L, -2, 1);
	lua_setfield(L, -2, "searchers");
	lua_pop(L, 1);
}

/* Runs protected: main(argc, argv) -> exit status */
static int run_main(lua_State *L)
{
	int argc = (int)lua_tointeger(L, 1);
	char **argv = lua_touserdata(L, 2);

	/* What start-up allocates stays: collecting it would find nothing. */
	lua_gc(L, LUA_GCSTOP);
	open_libraries(L);
	set_searchers(L);
	lua_getglobal(L, "require");
	lua_pushliteral(L, "srt.cli.main");
	lua_call(L, 1, 1); /* protected: run_main is called by lua_pcall */
	lua_createtable(L, argc, 4);
	for (int i = 0; i < argc; i++) {
		lua_pushstring(L, argv[i]);
		lua_rawseti(L, -2, i);
	}
	lua_pushcfunction(L, embedded_text);
	lua_setfield(L, -2, "embedded");
	lua_pushcfunction(L, embedded_names);
	lua_setfield(L, -2, "embeddedNames");
	lua_pushliteral(L, SRT_VERSION);
	lua_setfield(L, -2, "version");
	lua_call(L, 1, 1); /* protected: as above */
	return 1;
}

static int with_traceback(lua_State *L)
{
	const char *text = lua_tostring(L, 1);

	luaL_traceback(L, L, text ? text : "an error that is no text", 1);
	return 1;
}

/* A closed descriptor 0-2 would be taken by a file of ours. */
static int fill_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) == 0);
	return fd < 0 ? -errno : close(fd);
}

/* Will most likely a command be run? As srt, that is all there is. */
static bool runs_command(int argc, char **argv)
{
	const char *name = argc ? strrchr(argv[0], '/') : NULL;

	if (argc < 2)
		return false;
	if (!strcmp(name ? name + 1 : argv[0], "srt"))
		return true;
	return !strcmp(argv[1], "run") || !strcmp(argv[1], "learn") ||
	       !strcmp(argv[1], "exec");
}

int program_main(int argc, char **argv)
{
	/* Static: kept until the process ends, which frees it faster. */
	static lua_State *L;
	int status;

	sys_note_arguments(argc, argv);
	if (host_inside(argc, argv, &status))
		return status;
	caller_save(&host_caller);
	/* A file that may not grow is an error, which has a message. */
	(void)signal(SIGXFSZ, SIG_IGN);
	status = fill_standard_descriptors();
	if (status) {
		fprintf(stderr, "srt-lua: cannot open /dev/null: %s\n",
			strerror(-status));
		return 125;
	}
	if (runs_command(argc, argv))
		host_fork();
	L = lua_newstate(arena_alloc, NULL);
	if (!L) {
		fprintf(stderr, "srt-lua: out of memory\n");
		return 125;
	}
	lua_pushcfunction(L, with_traceback);
	lua_pushcfunction(L, run_main);
	lua_pushinteger(L, argc);
	lua_pushlightuserdata(L, argv);
	if (lua_pcall(L, 2, 1, 1)) {
		const char *text = lua_tostring(L, -1);

		fprintf(stderr, "srt-lua: internal error: %s\n",
			text ? text : "?");
		status = 125;
	} else {
		status = (int)lua_tointeger(L, -1);
	}
	/* Nothing runs any more; the kernel takes it apart while others end. */
	arena_leave();
	host_join();
	return status;
}
