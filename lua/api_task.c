/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.task: functions that may wait, which nobody waits for; see api_task.md.
 */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <uv.h>

#include "core/attend.h"
#include "core/signals.h"
#include "lua/api.h"
#include "lua/await.h"

/* All functions have it as their upvalue, and package.loaded has them. */
struct task_list {
	LIST_HEAD(tasks, task) waiting;
};

struct task {
	LIST_ENTRY(task) link;
	struct task_list *list;
	lua_State *L; /* the main thread */
	lua_State *co;
	int ref;
	struct await *await;
};

static void on_wake(void *context);

static void end(struct task *task)
{
	luaL_unref(task->L, LUA_REGISTRYINDEX, task->ref);
	free(task);
}

/* Runs it until it ends, in whatever way, or has to wait. */
static void go_on(struct task *task, lua_State *from, int arguments)
{
	int count;
	bool yields =
		lua_resume(task->co, from, arguments, &count) == LUA_YIELD;

	task->await =
		yields && count == 1 ? lua_touserdata(task->co, -1) : NULL;
	if (!task->await) {
		end(task);
		return;
	}
	lua_pop(task->co, count);
	task->await->context = task;
	task->await->wake = on_wake;
	LIST_INSERT_HEAD(&task->list->waiting, task, link);
}

static void on_wake(void *context)
{
	struct task *task = context;

	LIST_REMOVE(task, link);
	go_on(task, task->L, 0);
}

/* start(fn, ...) */
static int task_lua_start(lua_State *L)
{
	int count = lua_gettop(L), ref;
	struct task *task;
	lua_State *co;

	luaL_checktype(L, 1, LUA_TFUNCTION);
	co = lua_newthread(L);
	luaL_argcheck(L, lua_checkstack(co, count + 20), 2, "too many");
	for (int i = 1; i <= count; i++)
		lua_pushvalue(L, i);
	lua_xmove(L, co, count);
	/* Only the reference can throw, and it is made before there is more. */
	ref = luaL_ref(L, LUA_REGISTRYINDEX);
	task = calloc(1, sizeof(*task));
	if (!task) {
		luaL_unref(L, LUA_REGISTRYINDEX, ref);
		return luaL_error(L, "out of memory");
	}
	task->list = lua_touserdata(L, lua_upvalueindex(1));
	task->L = api_main(L);
	task->co = co;
	task->ref = ref;
	go_on(task, L, lua_gettop(co) - 1);
	return 0;
}

/* stop(): who waits is never woken */
static int task_lua_stop(lua_State *L)
{
	struct task_list *list = lua_touserdata(L, lua_upvalueindex(1));
	struct task *task;

	while ((task = LIST_FIRST(&list->waiting))) {
		LIST_REMOVE(task, link);
		task->await->cancel(task->await);
		end(task);
	}
	return 0;
}

/* turn() -> true where something happened or may yet; false: nothing can */
static int task_lua_turn(lua_State *L)
{
	uv_loop_t *loop = uv_default_loop();
	bool alive = loop && uv_loop_alive(loop);

	if (alive)
		uv_run(loop, UV_RUN_ONCE);
	lua_pushboolean(L, alive);
	return 1;
}

/* hold(): wait() is to come */
static int task_lua_hold(lua_State *L)
{
	(void)L;
	signals_hold(signals_ending);
	return 0;
}

/*
 * wait() -> number of the signal that ends the program, or 0 after rouse() |
 * nil, message, name
 */
static int task_lua_wait(lua_State *L)
{
	uv_loop_t *loop = uv_default_loop();
	int result;

	lua_gc(L, LUA_GCRESTART);
	result = loop ? attend_wait(loop) : -EMFILE;
	return api_number(L, result);
}

/* rouse(): wait() returns soon */
static int task_lua_rouse(lua_State *L)
{
	(void)L;
	if (uv_default_loop())
		uv_stop(uv_default_loop());
	return 0;
}

int luaopen_srt_c_task(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "start", task_lua_start },
		{ "stop", task_lua_stop },
		{ "turn", task_lua_turn },
		{ "hold", task_lua_hold },
		{ "wait", task_lua_wait },
		{ "rouse", task_lua_rouse },
		{ NULL, NULL },
	};
	struct task_list *list;

	luaL_newlibtable(L, functions);
	list = lua_newuserdatauv(L, sizeof(*list), 0);
	LIST_INIT(&list->waiting);
	luaL_setfuncs(L, functions, 1);
	return 1;
}
