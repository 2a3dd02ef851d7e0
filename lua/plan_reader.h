/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a plan table into plain structs. */
#ifndef SRT_LUA_PLAN_READER_H
#define SRT_LUA_PLAN_READER_H

#include <lua.h>

#include "core/janitor.h"
#include "core/plan.h"

/**
 * struct plan_reader - a reading under way
 * @shared: what is read is copied to it; it goes with it, so a throw at any
 *	place leaks nothing
 */
struct plan_reader {
	lua_State *L;
	struct shared *shared;
	size_t content; /* bytes of the files so far */
	struct {
		const char *from; /* a string of the plan's, which keeps it */
		const char *to;
	} copies[4]; /* of files' content, the latest first */
};

/**
 * plan_read() - the whole plan at stack @index, into @shared->plan but for @id
 *
 * What it should hold: lua/api_sandbox.md. Throws where the shape is another.
 */
void plan_read(lua_State *L, int index, struct shared *shared);

/**
 * plan_read_redirect() - of it, redirect, which is at stack @index
 * plan_read_network(), plan_read_sandbox() - of it, what MESSAGE_NETWORK and
 * MESSAGE_BUILD are about
 *
 * plan_read() leaves alone what @shared says is complete.
 */
void plan_read_redirect(lua_State *L, int index, struct shared *shared);
void plan_read_network(lua_State *L, int index, struct shared *shared);
void plan_read_sandbox(lua_State *L, int index, struct shared *shared);

/** plan_read_rules() - the list of seccomp rules at stack @index; throws */
struct seccomp_rule *plan_read_rules(struct plan_reader *r, int index,
				     size_t *count);

/** plan_read_guard() - a plan's guard at stack @index; throws */
void plan_read_guard(struct plan_reader *r, int index,
		     struct guard_table *guard);

/** plan_read_sockets() - a plan's sockets at stack @index; throws */
void plan_read_sockets(struct plan_reader *r, int index,
		       struct socket_table *sockets);

#endif
