/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the host from within a run, and keeps the time that it has set. */
#include "lua/box_host.h"

#include <lauxlib.h>

#include "lua/box_copy.h"
#include "lua/box_state.h"
#include "lua/box_wait.h"
#include "lua/box_watch.h"

struct question {
	lua_State *B;
	const char *what;
	int first, last, list;
};

bool box_host_asked(lua_State *B)
{
	return box_of(B)->asks;
}

/* On the host, protected: (ask, box, question) to two values */
static int ask_on_host(lua_State *H)
{
	const struct question *question = lua_touserdata(H, 3);
	struct box_out out = {
		.box = box_of(question->B),
		.H = H,
		.B = question->B,
		.owner = 2,
		.list = question->list,
	};

	int count = question->last - question->first + 1;

	luaL_checkstack(H, count + 8, NULL);
	lua_pushvalue(H, 1);
	lua_pushstring(H, question->what);
	for (int i = question->first; i <= question->last; i++)
		box_copy_out(&out, i);
	lua_callk(H, count + 1, 2, 0, NULL);
	return 2;
}

static int run_on_host(struct box *b, const struct question *question)
{
	lua_State *H = b->host;
	int status;

	lua_pushcfunction(H, ask_on_host);
	lua_getiuservalue(H, 1, BOX_UV_ASK);
	lua_pushvalue(H, 1);
	lua_pushlightuserdata(H, (void *)question);
	/* What the host does is not this run's, and it may run other boxes. */
	box_watch_stop();
	status = lua_pcall(H, 3, 2, 0);
	box_watch_start(b, b->loading ? b->limits.load_ms : b->limits.call_ms);
	return status;
}

int box_host_ask(lua_State *B, const char *what, int first)
{
	struct box *b = box_of(B);
	lua_State *H = b->host;
	struct question question = {
		.B = B, .what = what, .first = first, .last = lua_gettop(B)
	};
	int top = lua_gettop(H);
	bool bad = false;

	luaL_checkstack(B, 8, NULL);
	lua_newtable(B);
	question.list = question.last + 1;
	for (int i = first; i <= question.last; i++)
		box_check_out(B, i, question.list, true, &bad);
	box_keep_functions(B, question.list);
	if (!lua_checkstack(H, 8))
		return luaL_error(B, "the host's stack is full");
	if (run_on_host(b, &question) != LUA_OK) {
		luaL_where(B, 1);
		lua_pushstring(B, lua_type(H, -1) == LUA_TSTRING
					  ? lua_tostring(H, -1)
					  : "the host failed");
		lua_settop(H, top);
		lua_concat(B, 2);
		return lua_error(B);
	}
	box_copy_in(B, H, top + 1);
	box_copy_in(B, H, top + 2);
	lua_settop(H, top);
	return 2;
}

int box_host_instead(lua_State *B, const char *name)
{
	box_wait_able(B, name);
	return box_host_ask(B, name, 1);
}

int box_host_question(lua_State *B)
{
	return box_host_ask(B, luaL_checkstring(B, 1), 2);
}

double box_time(const struct box *b, clockid_t clock)
{
	struct timespec now;

	if (b->clocked)
		return b->now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* os.time([table]), os.date([format [, time]]); upvalue 1 is Lua's own */
static int timed(lua_State *B)
{
	struct box *b = box_of(B);
	int time_at = (int)lua_tointeger(B, lua_upvalueindex(2));

	if (b->clocked && lua_isnoneornil(B, time_at)) {
		lua_Integer now = (lua_Integer)b->now;

		if (time_at == 1) {
			lua_pushinteger(B, now);
			return 1;
		}
		if (lua_isnoneornil(B, 1)) {
			lua_settop(B, 0);
			lua_pushliteral(B, "%c");
		}
		lua_settop(B, 1);
		lua_pushinteger(B, now);
	}
	lua_pushvalue(B, lua_upvalueindex(1));
	lua_insert(B, 1);
	box_callf(B, lua_gettop(B) - 1, 1);
	return 1;
}

void box_time_open(lua_State *B)
{
	static const char *const names[] = { "time", "date" };

	for (int i = 0; i < 2; i++) {
		lua_getfield(B, -1, names[i]);
		lua_pushinteger(B, i + 1);
		lua_pushcclosure(B, timed, 2);
		lua_setfield(B, -2, names[i]);
	}
}
