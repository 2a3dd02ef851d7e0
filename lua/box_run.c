/* SPDX-License-Identifier: Apache-2.0 */
/* One run of the box: compile or fetch, resume, check what comes out. */
#include "lua/box_run.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/box_wait.h"

#define MESSAGE_MAX 4096

/*
 * Policies run in a coroutine: its stack outlives an error, so that the
 * traceback is made here and not in a message handler, where hooks are off.
 * It is used again; after an error it is dropped and never closed, because
 * closing would run __close functions with hooks off.
 */
static lua_State *take_thread(lua_State *B)
{
	lua_State *co;

	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_thread);
	co = lua_tothread(B, -1);
	if (co)
		return co;
	lua_pop(B, 1);
	co = lua_newthread(B);
	return co;
}

static void keep_thread(lua_State *B, bool keep)
{
	if (keep)
		lua_pushvalue(B, 2);
	else
		lua_pushnil(B);
	lua_rawsetp(B, LUA_REGISTRYINDEX, &box_key_thread);
}

/* Error values are shown without calling anything of theirs. */
static void push_message(lua_State *B, lua_State *co)
{
	size_t size;
	const char *text;

	if (lua_type(co, -1) == LUA_TNUMBER) {
		lua_pushvalue(co, -1);
		lua_xmove(co, B, 1);
		lua_tostring(B, -1);
	} else if (lua_type(co, -1) == LUA_TSTRING) {
		text = lua_tolstring(co, -1, &size);
		lua_pushlstring(B, text,
				size < MESSAGE_MAX ? size : MESSAGE_MAX);
	} else {
		lua_pushfstring(B, "(error object is a %s value)",
				lua_typename(B, lua_type(co, -1)));
	}
}

/* The innermost Lua line that was running. Pushes its file, or nil. */
static void push_place(lua_State *B, lua_State *co, int *line)
{
	lua_Debug ar;

	for (int level = 0; lua_getstack(co, level, &ar); level++) {
		lua_getinfo(co, "Sl", &ar);
		if (ar.currentline <= 0)
			continue;
		*line = ar.currentline;
		lua_pushstring(B, ar.source + (*ar.source == '@' ||
					       *ar.source == '='));
		return;
	}
	lua_pushnil(B);
}

/* Leaves message, traceback and file. */
static void collect_error(struct box_task *task, lua_State *B, lua_State *co)
{
	/* What is told is bounded, and must be told when memory is full. */
	task->box->cap = SIZE_MAX;
	push_message(B, co);
	luaL_traceback(B, co, NULL, 0);
	push_place(B, co, &task->line);
}

/* "chunk:LINE: message" of the compiler; the name as Lua shortened it. */
static void collect_syntax(struct box_task *task, lua_State *B)
{
	const char *name = task->chunk_name, *message = lua_tostring(B, -1);
	lua_Debug ar;
	size_t size;

	task->fault = BOX_SYNTAX;
	lua_pushnil(B);
	if (box_compile(B, "", 0, name) != LUA_OK) {
		lua_settop(B, 4);
		lua_pushnil(B);
		return;
	}
	lua_getinfo(B, ">S", &ar);
	size = strlen(ar.short_src);
	if (strncmp(message, ar.short_src, size) == 0 && message[size] == ':')
		task->line = atoi(message + size + 1);
	lua_pushstring(B, name + (*name == '@' || *name == '='));
}

/* Pushes the function to run; or false, with the three values of a failure. */
static bool push_function(struct box_task *task, lua_State *B)
{
	int status;

	if (task->preset) {
		status = box_preset(B, task->preset, task->preset_chunk,
				    sizeof(task->preset_chunk));
		task->chunk_name = task->preset_chunk;
	} else if (task->source) {
		status = box_compile(B, task->source, task->size,
				     task->chunk_name);
	} else {
		lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_functions);
		lua_rawgeti(B, -1, task->ref);
		lua_remove(B, -2);
		return true;
	}
	if (status == LUA_OK)
		return true;
	if (status == LUA_ERRMEM)
		lua_error(B);
	if (status != -1) {
		/* Also what the compiler's own recursion ended. */
		collect_syntax(task, B);
		return false;
	}
	task->fault = BOX_IO;
	lua_pushnil(B);
	lua_pushnil(B);
	return false;
}

/* Leaves the results at 1 and so on, and then the list of functions. */
static void take_results(struct box_task *task, lua_State *B, lua_State *co,
			 int count)
{
	int n = task->results, list = n + 1;

	lua_pop(co, count > n ? count - n : 0);
	lua_settop(B, 2);
	keep_thread(B, true);
	lua_settop(B, 0);
	lua_xmove(co, B, count < n ? count : n);
	lua_settop(co, 0);
	lua_settop(B, n);
	lua_newtable(B);
	for (int i = 1; i <= n; i++)
		box_check_out(B, i, list, task->ref != 0, &task->bad);
	box_keep_functions(B, list);
	task->done = true;
}

/* Pushes the coroutine at 2; its function and arguments are on it. */
static int prepare(struct box_task *task, lua_State *B)
{
	lua_State *co = take_thread(B), *H = task->box->host;

	if (!push_function(task, B))
		return -1;
	if (!lua_checkstack(co, BOX_MAX_ARGS + 2))
		return luaL_error(B, "not enough memory");
	lua_xmove(B, co, 1);
	for (int i = 0; i < task->arg_count; i++) {
		box_copy_subject(B, H, task->first_arg + i, task->shape[i]);
		lua_xmove(B, co, 1);
	}
	return task->arg_count;
}

/* The same for a run that was suspended, with what it waited for. */
static int prepare_again(struct box_task *task, lua_State *B)
{
	int count = box_wait_push(task->wait, B);
	lua_State *co = lua_tothread(B, 2);

	if (task->wait->spent) {
		task->fault = BOX_BUDGET;
		task->box->cap = SIZE_MAX;
		lua_pushfstring(B,
				"limits.callbackTotalSeconds: %d seconds "
				"spent, the last of them in %s",
				(int)(task->box->limits.total_ms / 1000),
				task->wait->op->name);
		luaL_traceback(B, co, NULL, 0);
		push_place(B, co, &task->line);
		return -1;
	}
	if (!lua_checkstack(co, count))
		return luaL_error(B, "not enough memory");
	lua_xmove(B, co, count);
	return count;
}

/* A thread that was suspended may have made way for another. */
static void suspend(struct box_task *task, lua_State *B, int count)
{
	if (!task->wait)
		keep_thread(B, false);
	task->wait = box_wait_begin(B, count);
	task->waits = true;
}

/* Protected; index 1 is the task. */
static int body(lua_State *B)
{
	struct box_task *task = lua_touserdata(B, 1);
	int count = task->wait ? prepare_again(task, B) : prepare(task, B);
	int status;
	lua_State *co;

	if (count < 0)
		return 3;
	co = lua_tothread(B, 2);
	box_arm(task->box, co);
	status = lua_resume(co, B, count, &count);
	if (status == LUA_OK) {
		/* The check below pays too, from the main thread. */
		take_results(task, B, co, count);
		return lua_gettop(B);
	}
	if (status == LUA_YIELD) {
		suspend(task, B, count);
		return 0;
	}
	keep_thread(B, false);
	task->fault = status == LUA_ERRMEM ? BOX_MEMORY : BOX_RUNTIME;
	collect_error(task, B, co);
	return 3;
}

/* After an error of our own code in body(): only its message is there. */
static void own_error(struct box_task *task, lua_State *B, int status)
{
	task->done = false;
	task->fault = status == LUA_ERRMEM ? BOX_MEMORY
		      : task->bad	   ? BOX_VALUE
					   : BOX_RUNTIME;
	lua_settop(B, 3);
}

void box_run(struct box_task *task)
{
	struct box *b = task->box;
	lua_State *B = b->L;
	int status;

	lua_pushcfunction(B, body);
	lua_pushlightuserdata(B, task);
	status = lua_pcall(B, 1, LUA_MULTRET, 0);
	if (status != LUA_OK)
		own_error(task, B, status);
	if (!task->done && !task->waits && b->spent)
		task->fault = BOX_BUDGET;
	b->running = B;
}
