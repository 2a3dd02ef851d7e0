/* SPDX-License-Identifier: Apache-2.0 */
/* What the two files of require "srtlua" share. */
#ifndef SRT_LUA_MODULE_H
#define SRT_LUA_MODULE_H

#include <lua.h>
#include <sys/types.h>

#include "lib/srtlua.h"

#define SESSION "srtlua.session"

/* Its user value is the ask callback. */
struct object {
	struct srtlua_session *session; /* NULL: closed */
	lua_State *L; /* where it is asked; it is at index 1 there */
	int asking;
};

/** module_failed() - how failures are returned: nil, message */
int module_failed(lua_State *L, const struct srtlua_error *error);

/** module_session() - at index 1; throws where it is closed */
struct srtlua_session *module_session(lua_State *L);

/** module_text() - set a field of the table at the top */
void module_text(lua_State *L, const char *name, const char *text);

/** module_ask() - srtlua_ask of sessions that have the callback */
int module_ask(void *object, const struct srtlua_question *question,
	       char *reason, size_t size);

/** module_ask_meanwhile() - answer questions until a child has ended */
void module_ask_meanwhile(lua_State *L, struct srtlua_session *session,
			  pid_t pid);

/** module_dispatch() - s:dispatch([seconds]) -> how many were asked | nil, why
 */
int module_dispatch(lua_State *L);

#endif
