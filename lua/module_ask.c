/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ask callback of require "srtlua". A Lua state is one thread's, so it is
 * called where Lua waits for a command (run), or says so (dispatch).
 */
#include <errno.h>
#include <lauxlib.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lua/module.h"

enum { WAIT_MAX = 86400 };

/* The words with blanks between, as a list at the top; none if empty. */
static void push_choices(lua_State *L, const char *words)
{
	if (!*words)
		return lua_pushnil(L);
	lua_newtable(L);
	for (lua_Integer i = 1; *words; i++) {
		size_t size = strcspn(words, " ");

		lua_pushlstring(L, words, size);
		lua_rawseti(L, -2, i);
		words += size + (words[size] == ' ');
	}
}

struct call {
	const struct srtlua_question *question;
	char *reason;
	size_t size;
	int answer;
};

/* The answer at 4, to the question whose choices are at 3. */
static int answer_of(lua_State *L)
{
	lua_Integer count;

	if (lua_isnil(L, 3))
		return lua_type(L, 4) == LUA_TBOOLEAN && lua_toboolean(L, 4);
	count = luaL_len(L, 3);
	for (lua_Integer i = 1; i <= count; i++) {
		lua_rawgeti(L, 3, i);
		if (lua_rawequal(L, 4, -1))
			return (int)i;
		lua_pop(L, 1);
	}
	return 0;
}

/* Calls the function at 1 with the question; all that may throw is in here. */
static int call_protected(lua_State *L)
{
	struct call *call = lua_touserdata(L, 2);
	const struct srtlua_question *question = call->question;

	lua_settop(L, 1);
	lua_createtable(L, 0, 7);
	module_text(L, "host", question->host);
	module_text(L, "protocol", question->protocol);
	module_text(L, "id", question->id);
	module_text(L, "command", question->command);
	module_text(L, "text", question->text);
	lua_pushinteger(L, question->port);
	lua_setfield(L, 2, "port");
	push_choices(L, question->choices);
	lua_pushvalue(L, 3);
	lua_setfield(L, 2, "choices");
	lua_pushvalue(L, 1);
	lua_pushvalue(L, 2);
	lua_call(L, 1, 2); /* protected by module_ask() */
	if (lua_type(L, 5) == LUA_TSTRING)
		strncpy(call->reason, lua_tostring(L, 5), call->size - 1);
	call->answer = answer_of(L);
	return 0;
}

/* Nothing may be thrown through the library: what is thrown denies. */
int module_ask(void *context, const struct srtlua_question *question,
	       char *reason, size_t size)
{
	struct object *object = context;
	struct call call = { question, reason, size, 0 };
	lua_State *L = object->L;
	const char *why;

	if (!L || !lua_checkstack(L, 4))
		return 0;
	lua_pushcfunction(L, call_protected);
	lua_getiuservalue(L, 1, 1);
	lua_pushlightuserdata(L, &call);
	if (lua_pcall(L, 2, 0, 0)) {
		why = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1)
						     : "no text";
		snprintf(reason, size, "the ask callback failed: %s", why);
		lua_pop(L, 1);
		return 0;
	}
	return call.answer;
}

/* Asks what waits. Return: 0, or a code with @error filled */
static int dispatch(lua_State *L, size_t *count, struct srtlua_error *error)
{
	struct object *object = lua_touserdata(L, 1);
	lua_State *before = object->L;
	int code;

	object->L = L;
	object->asking++;
	code = srtlua_dispatch(object->session, count, error);
	object->asking--;
	object->L = before;
	return code;
}

/* Answers questions until the child has ended. */
void module_ask_meanwhile(lua_State *L, struct srtlua_session *session,
			  pid_t pid)
{
	struct pollfd ready[2] = {
		{ .fd = (int)syscall(SYS_pidfd_open, pid, 0),
		  .events = POLLIN },
		{ .fd = srtlua_descriptor(session), .events = POLLIN },
	};

	/* Without the one nobody asks: what is asked is denied in time. */
	if (ready[0].fd < 0)
		return;
	while (!ready[0].revents) {
		if (poll(ready, 2, -1) < 0 && errno != EINTR)
			break;
		if (ready[1].revents && dispatch(L, NULL, NULL))
			break;
	}
	close(ready[0].fd);
}

/* s:dispatch([seconds]) -> how many were asked | nil, why */
int module_dispatch(lua_State *L)
{
	struct srtlua_session *session = module_session(L);
	lua_Number seconds = luaL_optnumber(L, 2, 0);
	struct pollfd ready = { .fd = srtlua_descriptor(session),
				.events = POLLIN };
	struct srtlua_error error;
	size_t count = 0;

	luaL_argcheck(L, seconds >= 0 && seconds <= WAIT_MAX, 2,
		      "0 to 86400 seconds");
	if (ready.fd >= 0 && seconds > 0)
		(void)poll(&ready, 1, (int)(seconds * 1000));
	if (dispatch(L, &count, &error))
		return module_failed(L, &error);
	lua_pushinteger(L, (lua_Integer)count);
	return 1;
}
