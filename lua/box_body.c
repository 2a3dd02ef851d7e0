/* SPDX-License-Identifier: Apache-2.0 */
/* req:body(max) and res:body(max): the body of what is being judged. */
#include <lauxlib.h>
#include <string.h>

#include "lua/body.h"
#include "lua/box_state.h"
#include "lua/box_view.h"
#include "lua/box_wait.h"

#define NAME "body()"

/* Pushes the body; or nil and why there is none. */
static int push_body(lua_State *B, struct body_source *source, size_t max)
{
	const char *data = NULL, *wrong;
	size_t size = 0;

	wrong = source->take(source, max, &data, &size);
	if (!wrong) {
		box_charge_bytes(B, size);
		lua_pushlstring(B, size ? data : "", size);
		return 1;
	}
	lua_pushnil(B);
	if (strcmp(wrong, BODY_TOO_LONG) == 0)
		lua_pushfstring(
			B, "it is longer than %I bytes%s", (LUAI_UACINT)max,
			max == source->most ? " (limits.bodyBytes)" : "");
	else
		lua_pushstring(B, wrong);
	return 2;
}

static void on_over(void *context)
{
	box_wait_done(context);
}

/* The arguments are source and size, as box_body() left them. */
static int begin(struct box_wait *wait, lua_State *co, int first)
{
	struct body_source *source = lua_touserdata(co, first);

	wait->state = source;
	wait->size = (size_t)lua_tointeger(co, first + 1);
	source->watch(source, on_over, wait);
	return 0;
}

static int push(struct box_wait *wait, lua_State *B)
{
	return push_body(B, wait->state, wait->size);
}

static void stop(struct box_wait *wait)
{
	struct body_source *source = wait->state;

	source->watch(source, NULL, NULL);
}

/* body(max): string; or nil, message */
int box_body(lua_State *B)
{
	static const struct box_op op = {
		.name = NAME, .begin = begin, .push = push, .stop = stop
	};
	struct body_source *source = box_view_source(B, 1);
	lua_Integer max;

	if (!source)
		return luaL_error(B, NAME " is for the req of filterRequest "
					  "and the res of filterResponse");
	max = luaL_optinteger(B, 2, (lua_Integer)source->most);
	luaL_argcheck(B, max > 0, 2, "must be more than 0");
	if ((size_t)max > source->most)
		max = (lua_Integer)source->most;
	box_wait_able(B, NAME);
	if (source->begin(source, (size_t)max))
		return push_body(B, source, (size_t)max);
	lua_settop(B, 0);
	lua_pushlightuserdata(B, source);
	lua_pushinteger(B, max);
	return box_wait(B, &op);
}
