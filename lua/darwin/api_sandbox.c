/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srt.c.sandbox on macOS, where the system's own program makes the sandbox.
 *
 *	sandbox.begin()		a sandbox
 *	sandbox.identity(), s:identity()
 *				{}: the command's ids are the caller's
 *	sandbox.program()	path of this program | nil, message, name
 *	sandbox.reader(argv)	fd, pid | nil, message, name: a program whose
 *				output is read
 *	sandbox.finish(pid, ms)	ends it after that time
 *	sandbox.EXEC, LOG	where sandbox-exec and log are
 *	s:start(plan)		true: plan.exec is what is executed (a list),
 *				plan.env, plan.keepFds; plan.listeners are the
 *				descriptors that s:listeners() gives
 *	s:release(), s:await(), s:run(), s:listeners(), s:close()
 *				as api_sandbox.md has them
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

#include "core/caller.h"
#include "core/darwin/run.h"
#include "core/darwin/spawn.h"
#include "core/questions.h"
#include "core/signals.h"
#include "core/util.h"
#include "lua/api.h"

#define SANDBOX "srt.sandbox"

/* Never by PATH. Where this is tried without a Mac they are others. */
#ifndef SRT_SANDBOX_EXEC
#define SRT_SANDBOX_EXEC "/usr/bin/sandbox-exec"
#define SRT_LOG "/usr/bin/log"
#endif

enum { WORDS_MAX = 65536, KEEP_MAX = 64 };

struct caller host_caller;

/* Of sandbox.reader(), while it is there. */
static pid_t the_reader;

/* User value 1 is the plan, once started. */
struct object {
	pid_t pid; /* of the process in between, 0 for none */
	int socket;
};

struct questions *api_questions(lua_State *L, int index)
{
	luaL_checkudata(L, index, SANDBOX);
	return NULL;
}

static int sandbox_lua_begin(lua_State *L)
{
	struct object *object = lua_newuserdatauv(L, sizeof(*object), 1);

	*object = (struct object){ .socket = -1 };
	luaL_setmetatable(L, SANDBOX);
	return 1;
}

static int sandbox_lua_identity(lua_State *L)
{
	lua_newtable(L);
	return 1;
}

static int sandbox_lua_start(lua_State *L)
{
	luaL_checkudata(L, 1, SANDBOX);
	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	lua_setiuservalue(L, 1, 1);
	lua_pushboolean(L, 1);
	return 1;
}

static int sandbox_lua_listeners(lua_State *L)
{
	luaL_checkudata(L, 1, SANDBOX);
	lua_getiuservalue(L, 1, 1);
	lua_getfield(L, -1, "listeners");
	return 1;
}

/* A NULL-terminated list of the strings in a field of the plan at the top,
 * which keeps them; it is a userdata that stays on the stack. */
static char **words_of(lua_State *L, const char *field)
{
	lua_Integer count;
	char **words;

	lua_getfield(L, -1, field);
	luaL_checktype(L, -1, LUA_TTABLE);
	count = (lua_Integer)lua_rawlen(L, -1);
	luaL_argcheck(L, count < WORDS_MAX, 1, "too many words");
	words = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof(*words), 0);
	for (lua_Integer i = 0; i < count; i++) {
		lua_rawgeti(L, -2, i + 1);
		words[i] = (char *)(uintptr_t)luaL_checkstring(L, -1);
		lua_pop(L, 1);
	}
	words[count] = NULL;
	lua_insert(L, -3);
	lua_pop(L, 1); /* words plan */
	return words;
}

static size_t keep_of(lua_State *L, int keep[KEEP_MAX])
{
	size_t count;

	lua_getfield(L, -1, "keepFds");
	count = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
	luaL_argcheck(L, count <= KEEP_MAX, 1, "too many descriptors");
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, -1, (lua_Integer)i + 1);
		keep[i] = (int)luaL_checkinteger(L, -1);
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
	return count;
}

static int failed(lua_State *L, int error, const char *what)
{
	struct failure failure;

	failure_set(&failure, -error, "%s", what);
	lua_pushliteral(L, "failed");
	lua_pushstring(L, failure.text);
	lua_newtable(L);
	lua_pushinteger(L, 0);
	return 4;
}

static int push_end(lua_State *L, const struct spawn_message *end)
{
	int status = end->value;

	if (end->kind == SPAWN_NOT_RUN)
		return failed(L, -status,
			      SRT_SANDBOX_EXEC " can't be executed");
	if (WIFSIGNALED(status)) {
		signals_ended(WTERMSIG(status));
		lua_pushliteral(L, "signal");
		lua_pushinteger(L, WTERMSIG(status));
	} else {
		lua_pushliteral(L, "exit");
		lua_pushinteger(L, WEXITSTATUS(status));
	}
	lua_newtable(L);
	lua_pushinteger(L, 0);
	return 4;
}

static int sandbox_lua_run(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	struct spawn_message end = { .kind = SPAWN_ENDED };
	struct spawn spawn = { .caller = &host_caller, .reader = the_reader };
	int keep[KEEP_MAX], error;

	lua_getiuservalue(L, 1, 1);
	luaL_checktype(L, -1, LUA_TTABLE);
	spawn.argv = words_of(L, "exec");
	luaL_argcheck(L, spawn.argv[0], 1, "nothing to execute");
	spawn.envp = words_of(L, "env");
	spawn.keep_count = keep_of(L, keep);
	spawn.keep = keep;
	signals_hold_for_command();
	object->socket = spawn_start(&spawn, &object->pid);
	if (object->socket < 0) {
		object->pid = 0;
		return failed(L, object->socket, "cannot run the command");
	}
	caller_let_go(keep, spawn.keep_count);
	lua_gc(L, LUA_GCRESTART);
	error = run_wait(uv_default_loop(), object->socket, &end);
	return error ? failed(L, error,
			      "the process that watches over the command was "
			      "killed from outside")
		     : push_end(L, &end);
}

/* The command begins with run(). */
static int sandbox_lua_release(lua_State *L)
{
	luaL_checkudata(L, 1, SANDBOX);
	return 0;
}

static int sandbox_lua_await(lua_State *L)
{
	luaL_checkudata(L, 1, SANDBOX);
	lua_pushboolean(L, 1);
	return 1;
}

static int sandbox_lua_close(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	if (object->socket >= 0)
		close(object->socket);
	if (object->pid > 0)
		(void)waitpid(object->pid, NULL, 0);
	*object = (struct object){ .socket = -1 };
	return 0;
}

static int sandbox_lua_program(lua_State *L)
{
	char path[PATH_MAX];
	size_t size = sizeof(path);
	int error = uv_exepath(path, &size);

	if (error)
		return api_fail(L, -error);
	lua_pushlstring(L, path, size);
	return 1;
}

static int sandbox_lua_reader(lua_State *L)
{
	const char *argv[64];
	pid_t pid;
	int fd;

	api_argv(L, 1, argv, ARRAY_SIZE(argv) - 1);
	fd = spawn_reader((char *const *)argv, &host_caller, &pid);
	if (fd < 0)
		return api_fail(L, -fd);
	the_reader = pid;
	lua_pushinteger(L, fd);
	lua_pushinteger(L, pid);
	return 2;
}

static void on_late(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, NULL);
	timer->data = NULL;
}

/* What it has still to tell is read meanwhile. */
static int sandbox_lua_finish(lua_State *L)
{
	pid_t pid = (pid_t)luaL_checkinteger(L, 1);
	lua_Integer ms = luaL_checkinteger(L, 2);
	uv_loop_t *loop = uv_default_loop();
	static uv_timer_t timer;

	luaL_argcheck(L, pid > 1, 1, "no process");
	if (!uv_timer_init(loop, &timer) &&
	    !uv_timer_start(&timer, on_late, (uint64_t)ms, 0)) {
		timer.data = &timer;
		while (timer.data)
			uv_run(loop, UV_RUN_ONCE);
	}
	/* SIGTERM may be ignored, as the caller had it. */
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	the_reader = 0;
	return 0;
}

int luaopen_srt_c_sandbox(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "identity", sandbox_lua_identity },
		{ "start", sandbox_lua_start },
		{ "release", sandbox_lua_release },
		{ "await", sandbox_lua_await },
		{ "listeners", sandbox_lua_listeners },
		{ "run", sandbox_lua_run },
		{ "close", sandbox_lua_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "begin", sandbox_lua_begin },
		{ "finish", sandbox_lua_finish },
		{ "identity", sandbox_lua_identity },
		{ "program", sandbox_lua_program },
		{ "reader", sandbox_lua_reader },
		{ NULL, NULL },
	};

	api_class(L, SANDBOX, methods, sandbox_lua_close);
	luaL_newlib(L, functions);
	lua_pushliteral(L, SRT_SANDBOX_EXEC);
	lua_setfield(L, -2, "EXEC");
	lua_pushliteral(L, SRT_LOG);
	lua_setfield(L, -2, "LOG");
	return 1;
}
