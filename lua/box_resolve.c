/* SPDX-License-Identifier: Apache-2.0 */
/* srt.resolve(name): the addresses of a name, as the host sees them. */
#include <arpa/inet.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/box_host.h"
#include "lua/box_lookup.h"
#include "lua/box_state.h"
#include "lua/box_wait.h"

enum {
	RESOLVE_ADDRESSES = 32,
	RESOLVE_MS = 30000, /* as long as the proxy takes to connect */
	RESOLVE_NAME = 253,
};

struct resolving {
	struct box_wait *wait;
	struct lookup *lookup;
	size_t count;
	char text[RESOLVE_ADDRESSES][INET6_ADDRSTRLEN];
};

static void take_address(struct resolving *r, const struct sockaddr *any)
{
	char *text = r->text[r->count];
	int error = UV_EAFNOSUPPORT;

	if (any->sa_family == AF_INET)
		error = uv_ip4_name((const struct sockaddr_in *)any, text,
				    INET6_ADDRSTRLEN);
	else if (any->sa_family == AF_INET6)
		error = uv_ip6_name((const struct sockaddr_in6 *)any, text,
				    INET6_ADDRSTRLEN);
	if (!error)
		r->count++;
}

static void on_found(void *owner, int status, const struct addrinfo *found)
{
	struct resolving *r = owner;

	r->lookup = NULL;
	for (; found && r->count < RESOLVE_ADDRESSES; found = found->ai_next)
		take_address(r, found->ai_addr);
	r->wait->error = status;
	box_wait_done(r->wait);
}

static int begin(struct box_wait *wait, lua_State *co, int first)
{
	struct resolving *r = calloc(1, sizeof(*r));

	if (!r)
		return UV_ENOMEM;
	wait->state = r;
	wait->ms = RESOLVE_MS;
	r->wait = wait;
	return lookup_start(&r->lookup, wait->loop, lua_tostring(co, first),
			    on_found, r);
}

static int push(struct box_wait *wait, lua_State *B)
{
	const struct resolving *r = wait->state;

	if (wait->error || !r || r->lookup || !r->count) {
		lua_pushnil(B);
		lua_pushstring(B, wait->error	   ? uv_strerror(wait->error)
				  : r && r->lookup ? "timed out"
						   : "no address");
		return 2;
	}
	lua_createtable(B, (int)r->count, 0);
	for (size_t i = 0; i < r->count; i++) {
		lua_pushstring(B, r->text[i]);
		lua_rawseti(B, -2, (lua_Integer)i + 1);
	}
	return 1;
}

static void stop(struct box_wait *wait)
{
	struct resolving *r = wait->state;

	if (r->lookup)
		lookup_drop(r->lookup);
	free(r);
}

/* srt.resolve(name): list of addresses, or nil and a message */
int box_resolve(lua_State *B)
{
	static const struct box_op op = { .name = "srt.resolve",
					  .begin = begin,
					  .push = push,
					  .stop = stop };
	size_t size;
	const char *name = luaL_checklstring(B, 1, &size);

	luaL_argcheck(B, size > 0 && size <= RESOLVE_NAME, 1,
		      "a name has 1 to 253 bytes");
	for (size_t i = 0; i < size; i++)
		luaL_argcheck(B, name[i] > ' ' && name[i] < 0x7f, 1,
			      "no name of a host");
	lua_settop(B, 1);
	if (box_host_asked(B))
		return box_host_instead(B, op.name);
	return box_wait(B, &op);
}
