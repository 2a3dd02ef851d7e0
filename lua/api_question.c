/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host-state table srt.c.question: srt-lua exec asks on its terminal what
 * a policy in another process wants to know.
 *
 *	question.asker(sandbox, fn)	fn(number, how, choice), both numbers:
 *					of question.HOW, and of the words,
 *					from 1
 *	a:ask(number, text, ms, yes, choices)
 *					as b:asker() of srt.c.box is told it; fn
 *					is called once for each, from the loop
 *	question.HOW			the words for how
 *
 * While the sandbox's run() goes on; before and behind it nobody is asked.
 */
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "core/questions.h"
#include "lua/api.h"

#define ASKER "srt.asker"

/* User value 1 keeps the sandbox. */
struct asker {
	struct questions *questions;
	const struct api_callback *callback;
};

struct asked {
	const struct asker *asker;
	struct question *question;
	int number;
};

static void answer(const struct asker *asker, int number,
		   enum question_answer how, unsigned int choice)
{
	api_call_back(asker->callback,
		      (const int[]){ number, (int)how, (int)choice + 1 }, 3);
}

static void on_answer(void *owner, enum question_answer how,
		      unsigned int choice)
{
	struct asked *asked = owner;

	answer(asked->asker, asked->number, how, choice);
	free(asked);
}

static int asker_lua_ask(lua_State *L)
{
	const struct asker *asker = luaL_checkudata(L, 1, ASKER);
	int number = (int)luaL_checkinteger(L, 2);
	size_t size, length;
	const char *text = luaL_checklstring(L, 3, &size);
	struct question_terms terms = {
		.ms = (uint64_t)luaL_checkinteger(L, 4),
		.yes = lua_toboolean(L, 5),
	};
	const char *choices = luaL_checklstring(L, 6, &length);
	struct asked *asked;

	luaL_argcheck(L, length < sizeof(terms.choices), 6, "too long");
	memcpy(terms.choices, choices, length);
	asked = malloc(sizeof(*asked));
	if (asked)
		*asked = (struct asked){ asker, NULL, number };
	if (!asked || question_ask(asker->questions, &asked->question, text,
				   size, &terms, on_answer, asked)) {
		free(asked);
		answer(asker, number, QUESTION_NOBODY, 0);
	}
	return 0;
}

/* The registry keeps it: the loop calls back. */
static int question_lua_asker(lua_State *L)
{
	struct questions *questions = api_questions(L, 1);
	struct asker *asker;

	luaL_checktype(L, 2, LUA_TFUNCTION);
	asker = lua_newuserdatauv(L, sizeof(*asker), 1);
	asker->questions = questions;
	asker->callback = api_callback(L, 2);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	lua_pushvalue(L, -1);
	(void)luaL_ref(L, LUA_REGISTRYINDEX);
	luaL_setmetatable(L, ASKER);
	return 1;
}

int luaopen_srt_c_question(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "ask", asker_lua_ask },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "asker", question_lua_asker },
		{ NULL, NULL },
	};

	api_class(L, ASKER, methods, NULL);
	luaL_newlib(L, functions);
	lua_newtable(L);
	for (int i = 0; question_words[i]; i++) {
		lua_pushstring(L, question_words[i]);
		lua_rawseti(L, -2, i);
	}
	lua_setfield(L, -2, "HOW");
	return 1;
}
