/* SPDX-License-Identifier: Apache-2.0 */
/* srt.ask(text, options): a question to the user. */
#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "core/questions.h"
#include "lua/box_host.h"
#include "lua/box_state.h"
#include "lua/box_wait.h"

struct asked {
	struct box_wait *wait;
	struct question *question;
	enum question_answer answer;
	bool standard; /* what no answer means */
};

static void on_answer(void *owner, enum question_answer answer)
{
	struct asked *asked = owner;

	asked->question = NULL;
	asked->answer = answer;
	box_wait_done(asked->wait);
}

/* Arguments: text, milliseconds, default. */
static int begin(struct box_wait *wait, lua_State *co, int first)
{
	struct questions *questions = wait->box->questions;
	struct asked *asked = calloc(1, sizeof(*asked));
	size_t size;
	const char *text = lua_tolstring(co, first, &size);

	if (!asked)
		return -ENOMEM;
	wait->state = asked;
	asked->wait = wait;
	asked->standard = lua_toboolean(co, first + 2);
	if (!questions)
		return -ENOTTY;
	return question_ask(
		questions, &asked->question, text, size, asked->standard,
		(uint64_t)lua_tointeger(co, first + 1), on_answer, asked);
}

static int push(struct box_wait *wait, lua_State *B)
{
	static const char *const reasons[] = {
		[QUESTION_NO] = "the user said no",
		[QUESTION_LATE] = "the user did not answer in time",
		[QUESTION_NOBODY] = "there is no terminal to ask the user on",
	};
	const struct asked *asked = wait->state;
	enum question_answer answer =
		wait->error || !asked ? QUESTION_NOBODY : asked->answer;

	if (answer == QUESTION_YES ||
	    (answer == QUESTION_LATE && asked->standard)) {
		lua_pushboolean(B, 1);
		return 1;
	}
	lua_pushboolean(B, 0);
	lua_pushstring(B, reasons[answer]);
	return 2;
}

static void stop(struct box_wait *wait)
{
	struct asked *asked = wait->state;

	if (asked->question)
		question_cancel(asked->question);
	free(asked);
}

static lua_Number seconds_of(lua_State *B)
{
	unsigned int most = box_of(B)->limits.ask_ms;
	lua_Number seconds = most / 1000.0;

	if (lua_getfield(B, 2, "seconds") != LUA_TNIL) {
		seconds = luaL_checknumber(B, -1);
		luaL_argcheck(B, seconds > 0, 2, "seconds must be more than 0");
		if (seconds * 1000 > most)
			luaL_error(B,
				   "seconds must be %d at most "
				   "(limits.askSeconds)",
				   (int)(most / 1000));
	}
	lua_pop(B, 1);
	return seconds;
}

static void check_options(lua_State *B)
{
	lua_pushnil(B);
	while (lua_next(B, 2)) {
		const char *key = lua_type(B, -2) == LUA_TSTRING
					  ? lua_tostring(B, -2)
					  : "?";

		if (strcmp(key, "default") == 0)
			luaL_argcheck(B, lua_isboolean(B, -1), 2,
				      "default must be true or false");
		else if (strcmp(key, "seconds") != 0)
			luaL_error(B, "srt.ask has no option '%s'", key);
		lua_pop(B, 1);
	}
}

/* srt.ask(text, {seconds=, default=}): true; or false and why */
int box_ask(lua_State *B)
{
	static const struct box_op op = { .name = "srt.ask",
					  .begin = begin,
					  .push = push,
					  .stop = stop,
					  .unmetered = true };
	lua_Number seconds;
	size_t size;

	luaL_checklstring(B, 1, &size);
	luaL_argcheck(B, size > 0, 1, "an empty question");
	lua_settop(B, 2);
	if (lua_isnil(B, 2)) {
		lua_newtable(B);
		lua_replace(B, 2);
	}
	luaL_checktype(B, 2, LUA_TTABLE);
	check_options(B);
	if (box_host_asked(B))
		return box_host_instead(B, op.name);
	seconds = seconds_of(B);
	lua_getfield(B, 2, "default");
	lua_pushinteger(B, (lua_Integer)(seconds * 1000 + 0.999));
	lua_replace(B, 2);
	return box_wait(B, &op);
}
