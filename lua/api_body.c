/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.proxy.body: our own modules read the body of what is asked about. */
#include <lauxlib.h>
#include <string.h>

#include "lua/api.h"
#include "lua/await.h"
#include "lua/body.h"

/* On the coroutine's stack while it waits. */
struct body_wait {
	struct await await;
	struct body_source *source;
	size_t max;
};

static int push_body(lua_State *L, struct body_source *source, size_t max)
{
	const char *data = NULL, *wrong;
	size_t size = 0;

	wrong = source->take(source, max, &data, &size);
	if (!wrong) {
		lua_pushlstring(L, size ? data : "", size);
		return 1;
	}
	lua_pushnil(L);
	lua_pushstring(L, *wrong ? wrong : "it is too long");
	return 2;
}

static void on_over(void *context)
{
	struct body_wait *wait = context;

	wait->await.wake(wait->await.context);
}

static void cancel(struct await *await)
{
	/* It is the first member. */
	struct body_wait *wait = (struct body_wait *)await;

	wait->source->watch(wait->source, NULL, NULL);
}

static int go_on(lua_State *L, int status, lua_KContext context)
{
	struct body_wait *wait = (struct body_wait *)context;

	(void)status;
	return push_body(L, wait->source, wait->max);
}

int api_body(lua_State *L)
{
	struct body_source *source = lua_touserdata(L, 1);
	lua_Integer max = luaL_checkinteger(L, 2);
	struct body_wait *wait;

	luaL_checktype(L, 1, LUA_TLIGHTUSERDATA);
	luaL_argcheck(L, max > 0, 2, "must be more than 0");
	if ((size_t)max > source->most)
		max = (lua_Integer)source->most;
	if (!lua_isyieldable(L))
		return luaL_error(L, "a body is read in a decision only");
	if (source->begin(source, (size_t)max))
		return push_body(L, source, (size_t)max);
	wait = lua_newuserdatauv(L, sizeof(*wait), 0);
	*wait = (struct body_wait){ .await = { .cancel = cancel },
				    .source = source,
				    .max = (size_t)max };
	source->watch(source, on_over, wait);
	lua_pushlightuserdata(L, &wait->await);
	return lua_yieldk(L, 1, (lua_KContext)wait, go_on);
}
