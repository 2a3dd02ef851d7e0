/* SPDX-License-Identifier: Apache-2.0 */
/* srt.ask(text, options): a question to the user. */
#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "core/questions.h"
#include "lua/box_host.h"
#include "lua/box_relay.h"
#include "lua/box_state.h"
#include "lua/box_wait.h"

struct asked {
	struct box_wait *wait;
	struct question *question;
	lua_Integer number; /* where the host asks, else 0 */
	enum question_answer answer;
	unsigned int choice;
	struct question_terms terms;
};

static void on_answer(void *owner, enum question_answer answer,
		      unsigned int choice)
{
	struct asked *asked = owner;

	asked->question = NULL;
	asked->answer = answer;
	asked->choice = choice;
	box_wait_done(asked->wait);
}

/* Arguments: text, milliseconds, default, choices. */
static int begin(struct box_wait *wait, lua_State *co, int first)
{
	struct box *b = wait->box;
	struct asked *asked = calloc(1, sizeof(*asked));
	size_t size, length;
	const char *text = lua_tolstring(co, first, &size);
	const char *choices = lua_tolstring(co, first + 3, &length);

	if (!asked)
		return -ENOMEM;
	wait->state = asked;
	asked->wait = wait;
	asked->terms.ms = (uint64_t)lua_tointeger(co, first + 1);
	asked->terms.yes = lua_toboolean(co, first + 2);
	/* It has room for them: check_choices(). */
	memcpy(asked->terms.choices, choices, length);
	if (b->relays) {
		int error = box_relay_ask(wait, ++b->asked, text, size,
					  &asked->terms);

		asked->number = error ? 0 : b->asked;
		return error;
	}
	if (!b->questions)
		return -ENOTTY;
	return question_ask(b->questions, &asked->question, text, size,
			    &asked->terms, on_answer, asked);
}

static int push_choice(const struct asked *asked, lua_State *B)
{
	const char *word = asked->terms.choices;

	for (unsigned int i = 0; i < asked->choice; i++)
		word += strcspn(word, " ") + 1;
	lua_pushlstring(B, word, strcspn(word, " "));
	return 1;
}

/* Is there that word? */
static bool has_choice(const struct question_terms *terms, lua_Integer choice)
{
	const char *word = terms->choices;

	while (word && choice > 1) {
		word = strchr(word, ' ');
		word = word ? word + 1 : NULL;
		choice--;
	}
	return word && *word && choice == 1;
}

static int push(struct box_wait *wait, lua_State *B)
{
	static const char *const reasons[] = {
		[QUESTION_NO] = "the user said no",
		[QUESTION_LATE] = "the user did not answer in time",
		[QUESTION_NOBODY] = "there is no terminal to ask the user on",
		[QUESTION_RESTLESS] = "the user was not asked, for the command "
				      "did not let itself be stopped",
		[QUESTION_RAN] = "the command ran while the user was asked, so "
				 "the answer counts as no",
		[QUESTION_TAKEN] = "another process set the terminal while the "
				   "user was asked, so the answer counts as no",
	};
	const struct asked *asked = wait->state;
	enum question_answer answer =
		wait->error || !asked ? QUESTION_NOBODY : asked->answer;

	if (answer == QUESTION_YES && asked->terms.choices[0])
		return push_choice(asked, B);
	if (answer == QUESTION_YES ||
	    (answer == QUESTION_LATE && asked->terms.yes)) {
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

static const struct box_op op = { .name = "srt.ask",
				  .begin = begin,
				  .push = push,
				  .stop = stop,
				  .unmetered = true };

void box_ask_answered(struct box *b, lua_Integer number,
		      enum question_answer how, lua_Integer choice)
{
	struct box_wait *wait;
	struct asked *asked;

	LIST_FOREACH(wait, &b->waits, link)
	{
		asked = wait->op == &op ? wait->state : NULL;
		if (!asked || asked->number != number)
			continue;
		/* Once: what it waits for may be asked about again. */
		asked->number = 0;
		if (how == QUESTION_YES && asked->terms.choices[0] &&
		    !has_choice(&asked->terms, choice))
			how = QUESTION_NO;
		on_answer(asked, how,
			  choice > 0 ? (unsigned int)choice - 1 : 0);
		return;
	}
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
		else if (strcmp(key, "seconds") != 0 &&
			 strcmp(key, "choices") != 0)
			luaL_error(B, "srt.ask has no option '%s'", key);
		lua_pop(B, 1);
	}
}

/* A word of the choices, which begins as none of those before. */
static void check_word(lua_State *B, const char *word, const char *before)
{
	size_t size = strlen(word);

	luaL_argcheck(B, size > 0 && size < 16, 2,
		      "a choice has from 1 to 15 letters");
	for (size_t i = 0; i < size; i++)
		luaL_argcheck(B, islower((unsigned char)word[i]), 2,
			      "a choice is made of the letters a to z");
	luaL_argcheck(B, word[0] != 'n' && !strchr(before, word[0]), 2,
		      "choices begin with letters of their own, none with n");
}

/* Leaves them with a blank between two on the stack, "" where there are none.
 */
static void push_choices(lua_State *B)
{
	char firsts[QUESTION_CHOICES] = "";
	luaL_Buffer joined;
	lua_Integer count = 0;

	if (lua_getfield(B, 2, "choices") == LUA_TNIL) {
		lua_pushliteral(B, "");
		lua_replace(B, -2);
		return;
	}
	luaL_argcheck(B,
		      lua_istable(B, -1) && lua_rawlen(B, -1) > 0 &&
			      lua_rawlen(B, -1) <= 8,
		      2, "choices must be a list of words, 8 at most");
	luaL_argcheck(B, lua_getfield(B, 2, "default") == LUA_TNIL, 2,
		      "with choices the default is no");
	lua_pop(B, 1);
	luaL_buffinit(B, &joined);
	while (count < (lua_Integer)lua_rawlen(B, 3)) {
		const char *word;

		luaL_argcheck(B, lua_rawgeti(B, 3, ++count) == LUA_TSTRING, 2,
			      "choices must be a list of words");
		word = lua_tostring(B, -1);
		check_word(B, word, firsts);
		firsts[count - 1] = word[0];
		luaL_addvalue(&joined);
		luaL_addchar(&joined, ' ');
	}
	luaL_pushresult(&joined);
	luaL_argcheck(B, lua_rawlen(B, -1) < QUESTION_CHOICES, 2,
		      "the choices are too long");
	/* Without the last blank. */
	lua_pushlstring(B, lua_tostring(B, -1), lua_rawlen(B, -1) - 1);
	lua_replace(B, 3);
	lua_settop(B, 3);
}

/* srt.ask(text, {seconds=, default=, choices=}): true, or the choice; or false
 * and why */
int box_ask(lua_State *B)
{
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
	push_choices(B);
	lua_getfield(B, 2, "default");
	lua_insert(B, 3);
	lua_pushinteger(B, (lua_Integer)(seconds * 1000 + 0.999));
	lua_replace(B, 2);
	return box_wait(B, &op);
}
