/* SPDX-License-Identifier: Apache-2.0 */
/* A box that asks the host, as that of a policy's test does. */
#ifndef SRT_LUA_BOX_HOST_H
#define SRT_LUA_BOX_HOST_H

#include <lua.h>
#include <stdbool.h>
#include <time.h>

struct box;

/**
 * box_host_asked - is the host to be asked in the place of the world?
 *
 * It is where box.new() was given ask=: then srt.sleep, srt.resolve, srt.query
 * and srt.ask are answered by that function, at once, and require("srt.test")
 * finds what the host gives for it.
 */
bool box_host_asked(lua_State *B);

/**
 * box_host_ask - ask(what, arguments...) on the host
 *
 * The stack from @first up are arguments, plain data or functions. Pushes what
 * the host answers, two values; throws in the box where the host does. Other
 * boxes may run meanwhile; the watchdog begins anew for this one.
 *
 * Return: 2
 */
int box_host_ask(lua_State *B, const char *what, int first);

/**
 * box_host_instead - box_host_ask() where a box that asks none would wait
 * @name: of the function of srt, "srt.sleep"
 *
 * Throws where that could not wait.
 */
int box_host_instead(lua_State *B, const char *name);

/** box_host_question - ask(what, ...) for the box's own Lua */
int box_host_question(lua_State *B);

/** box_time - seconds of @clock, or the time that the host has set */
double box_time(const struct box *b, clockid_t clock);

/** box_time_open - os.time() and os.date() of the table on top go by that */
void box_time_open(lua_State *B);

#endif
