/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host-state table srt.c.gate: a coroutine waits until somebody says so.
 *
 *	gate.new(ms)	a gate for that time
 *	g:wait()	once: true when it was opened, false when the time was
 *			over
 *	g:open()	lets whoever waits go on; may be repeated
 */
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdlib.h>
#include <uv.h>

#include "lua/api.h"
#include "lua/await.h"

#define GATE "srt.gate"

/** struct gate - freed when its timer has closed */
struct gate {
	struct await await;
	uv_timer_t timer;
	bool waited, opened, over;
	struct gate **object; /* the userdata that shows it */
};

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Nothing more comes of it. */
static void finish(struct gate *gate)
{
	if (gate->over)
		return;
	gate->over = true;
	uv_close((uv_handle_t *)&gate->timer, on_closed);
	*gate->object = NULL;
}

static void cancel(struct await *await)
{
	finish((struct gate *)await);
}

static void wake(struct gate *gate)
{
	/* Before anybody waits it is only noted. */
	if (gate->waited && gate->await.wake)
		gate->await.wake(gate->await.context);
}

static void on_late(uv_timer_t *timer)
{
	wake(timer->data);
}

static int gate_lua_new(lua_State *L)
{
	lua_Integer ms = luaL_checkinteger(L, 1);
	struct gate **object, *gate;

	luaL_argcheck(L, ms > 0, 1, "not a time");
	object = lua_newuserdatauv(L, sizeof(struct gate *), 0);
	*object = NULL;
	luaL_setmetatable(L, GATE);
	gate = calloc(1, sizeof(*gate));
	if (!gate || !uv_default_loop()) {
		free(gate);
		return luaL_error(L, "out of memory");
	}
	gate->await.cancel = cancel;
	gate->object = object;
	(void)uv_timer_init(uv_default_loop(), &gate->timer);
	gate->timer.data = gate;
	(void)uv_timer_start(&gate->timer, on_late, (uint64_t)ms, 0);
	*object = gate;
	return 1;
}

static int waited(lua_State *L, int status, lua_KContext context)
{
	struct gate **object = luaL_checkudata(L, 1, GATE);

	(void)status;
	(void)context;
	lua_pushboolean(L, *object && (*object)->opened);
	if (*object)
		finish(*object);
	return 1;
}

static int gate_lua_wait(lua_State *L)
{
	struct gate **object = luaL_checkudata(L, 1, GATE);

	luaL_argcheck(L, *object && !(*object)->waited, 1, "was waited for");
	(*object)->waited = true;
	lua_settop(L, 1);
	if ((*object)->opened)
		return waited(L, LUA_OK, 0);
	lua_pushlightuserdata(L, &(*object)->await);
	return lua_yieldk(L, 1, 0, waited);
}

static int gate_lua_open(lua_State *L)
{
	struct gate **object = luaL_checkudata(L, 1, GATE);

	if (!*object || (*object)->opened)
		return 0;
	(*object)->opened = true;
	wake(*object);
	return 0;
}

/* Whoever waits holds it on the stack, so nobody does. */
static int gate_lua_collect(lua_State *L)
{
	struct gate **object = luaL_checkudata(L, 1, GATE);

	if (*object)
		finish(*object);
	return 0;
}

int luaopen_srt_c_gate(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "wait", gate_lua_wait },
		{ "open", gate_lua_open },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "new", gate_lua_new },
		{ NULL, NULL },
	};

	api_class(L, GATE, methods, gate_lua_collect);
	luaL_newlib(L, functions);
	return 1;
}
