/* SPDX-License-Identifier: Apache-2.0 */
/* Suspends and wakes callbacks; srt.sleep is the simplest reason to. */
#include "lua/box_wait.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>

#include "lua/box_host.h"
#include "lua/box_state.h"

#define WAIT_COST 1000 /* no flood of short waits within one callback */

void box_wait_able(lua_State *B, const char *name)
{
	const struct box *b = box_of(B);

	if (b->spent)
		box_stop(B);
	if (!b->may_wait)
		luaL_error(B, "%s can't wait %s", name,
			   b->loading ? "while the policy is loaded" : "here");
	if (!lua_isyieldable(B))
		luaL_error(B,
			   "%s can't wait inside of a function that is called "
			   "by string.gsub, table.sort, a metamethod of theirs "
			   "or require",
			   name);
	if (!b->wait && b->wait_count >= b->limits.waits)
		luaL_error(B, "%s: %d callbacks wait already", name,
			   (int)b->wait_count);
	box_charge(B, WAIT_COST);
}

int box_wait(lua_State *B, const struct box_op *op)
{
	box_wait_able(B, op->name);
	luaL_checkstack(B, 2, NULL);
	/* Policies can't make light userdata, nor yield: this is ours. */
	lua_pushlightuserdata(B, (void *)op);
	lua_insert(B, 1);
	return lua_yield(B, lua_gettop(B));
}

static void stop_op(struct box_wait *wait)
{
	if (wait->op && wait->op->stop && wait->state)
		wait->op->stop(wait);
	wait->state = NULL;
	wait->op = NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
	free(handle->data);
}

/* Frees it when the loop has closed the timer. */
static void discard(struct box_wait *wait)
{
	stop_op(wait);
	uv_close((uv_handle_t *)&wait->timer, on_timer_closed);
}

/* As with a function that the host lets go of, nothing here throws. */
static void leave_box(struct box_wait *wait)
{
	struct box *b = wait->box;

	if (!b)
		return;
	wait->box = NULL;
	LIST_REMOVE(wait, link);
	b->wait_count--;
	if (!b->L || !lua_checkstack(b->L, 4))
		return;
	lua_rawgetp(b->L, LUA_REGISTRYINDEX, &box_key_waits);
	luaL_unref(b->L, -1, wait->ref);
	lua_pop(b->L, 1);
}

void box_wait_end(struct box_wait *wait)
{
	leave_box(wait);
	discard(wait);
}

static void cancel(struct await *await)
{
	struct box_wait *wait =
		(struct box_wait *)((char *)await -
				    offsetof(struct box_wait, await));

	box_wait_end(wait);
}

void box_wait_close(struct box *b)
{
	struct box_wait *wait;

	/* The memory stays until the host cancels. */
	while ((wait = LIST_FIRST(&b->waits))) {
		stop_op(wait);
		uv_timer_stop(&wait->timer);
		leave_box(wait);
	}
}

void box_wait_done(struct box_wait *wait)
{
	uint64_t now = uv_now(wait->loop);

	uv_timer_stop(&wait->timer);
	if (wait->op->unmetered && now > wait->begun)
		wait->deadline += now - wait->begun;
	else if (now >= wait->deadline)
		wait->spent = true;
	wait->await.wake(wait->await.context);
}

static void on_timer(uv_timer_t *timer)
{
	struct box_wait *wait = timer->data;

	box_wait_done(wait);
}

/* The coroutine at 2 becomes a reference: from here on it can be woken. */
static struct box_wait *new_wait(lua_State *B)
{
	struct box *b = box_of(B);
	struct box_wait *wait;
	int ref;

	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_waits);
	lua_pushvalue(B, 2);
	ref = luaL_ref(B, -2);
	wait = calloc(1, sizeof(*wait));
	if (!wait) {
		luaL_unref(B, -1, ref);
		luaL_error(B, "not enough memory");
	}
	lua_pop(B, 1);
	*wait = (struct box_wait){ .await.cancel = cancel,
				   .box = b,
				   .ref = ref,
				   .asker = b->asker,
				   .loop = uv_default_loop() };
	uv_timer_init(wait->loop, &wait->timer);
	wait->timer.data = wait;
	LIST_INSERT_HEAD(&b->waits, wait, link);
	b->wait_count++;
	uv_update_time(wait->loop);
	wait->deadline = uv_now(wait->loop) + b->limits.total_ms;
	return wait;
}

static void arm(struct box_wait *wait)
{
	uint64_t left =
		wait->deadline > wait->begun ? wait->deadline - wait->begun : 0;

	if (wait->error)
		left = 0;
	else if (wait->op->unmetered || wait->ms < left)
		left = wait->ms;
	if (left != BOX_WAIT_FOREVER)
		uv_timer_start(&wait->timer, on_timer, left, 0);
}

struct box_wait *box_wait_begin(lua_State *B, int count)
{
	struct box *b = box_of(B);
	lua_State *co = lua_tothread(B, 2);
	struct box_wait *wait = b->wait ? b->wait : new_wait(B);
	int first = lua_gettop(co) - count + 1;

	b->wait = wait;
	wait->pcalls = b->pcalls;
	wait->serial = b->live;
	wait->op = lua_touserdata(co, first);
	wait->ms = BOX_WAIT_FOREVER;
	uv_update_time(wait->loop);
	wait->begun = uv_now(wait->loop);
	wait->error = wait->op->begin(wait, co, first + 1);
	lua_pop(co, count);
	arm(wait);
	return wait;
}

int box_wait_push(struct box_wait *wait, lua_State *B)
{
	int count;

	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_waits);
	lua_rawgeti(B, -1, wait->ref);
	lua_remove(B, -2);
	if (wait->spent)
		return 0;
	count = wait->op->push(wait, B);
	stop_op(wait);
	return count;
}

void box_wait_open(lua_State *B)
{
	lua_newtable(B);
	lua_rawsetp(B, LUA_REGISTRYINDEX, &box_key_waits);
}

static int begin_sleep(struct box_wait *wait, lua_State *co, int first)
{
	wait->ms = (uint64_t)lua_tointeger(co, first);
	return 0;
}

static int push_nothing(struct box_wait *wait, lua_State *B)
{
	(void)wait;
	(void)B;
	return 0;
}

/* srt.sleep(seconds) */
int box_sleep(lua_State *B)
{
	static const struct box_op op = { .name = "srt.sleep",
					  .begin = begin_sleep,
					  .push = push_nothing };
	lua_Number seconds = luaL_checknumber(B, 1);
	unsigned int most = box_of(B)->limits.total_ms;

	luaL_argcheck(B, seconds >= 0, 1, "must be 0 or more");
	if (seconds * 1000 > most)
		return luaL_argerror(
			B, 1,
			lua_pushfstring(B,
					"a callback has %d seconds in all "
					"(limits.callbackTotalSeconds)",
					(int)(most / 1000)));
	lua_settop(B, 1);
	if (box_host_asked(B))
		return box_host_instead(B, op.name);
	lua_settop(B, 0);
	lua_pushinteger(B, (lua_Integer)(seconds * 1000 + 0.999));
	return box_wait(B, &op);
}

void box_wait_functions(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "ask", box_ask },
		{ "query", box_query },
		{ "resolve", box_resolve },
		{ "sleep", box_sleep },
		{ NULL, NULL },
	};

	luaL_setfuncs(B, functions, 0);
}
