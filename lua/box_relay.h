/* SPDX-License-Identifier: Apache-2.0 */
/* Where srt.ask asks: a sandbox's terminal, or whom a function of the host
 * finds. */
#ifndef SRT_LUA_BOX_RELAY_H
#define SRT_LUA_BOX_RELAY_H

#include <lua.h>
#include <stddef.h>

#include "core/questions.h"

struct box;
struct box_wait;

/** box_relay_methods - add asker() and answered() to the box's methods on top
 */
void box_relay_methods(lua_State *L);

/**
 * box_relay_ask - tell the host's function of a question
 * @number: which one, for answered()
 *
 * In a run. Nothing throws. Return: 0, or -EIO where the function fails.
 */
int box_relay_ask(const struct box_wait *wait, lua_Integer number,
		  const char *text, size_t size,
		  const struct question_terms *terms);

/**
 * box_ask_answered - what was asked by that number is answered
 * @choice: of the words, from 1
 *
 * Nothing happens where nobody waits for it any more. From the loop.
 */
void box_ask_answered(struct box *b, lua_Integer number,
		      enum question_answer how, lua_Integer choice);

#endif
