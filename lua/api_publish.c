/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.publish: ports of the host that lead to servers inside. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>

#include "core/sandbox.h"
#include "lua/api.h"
#include "proxy/proxy.h"

struct publication;

/** struct opening - one client on its way in */
struct opening {
	struct reach_ask reach;
	struct proxy_ask *ask;
	LIST_ENTRY(opening) link;
};

/** struct publication - userdata; kept by the registry for good */
struct publication {
	struct reach *reach;
	uint16_t port;
	LIST_HEAD(opening_list, opening) openings;
};

static void on_reached(struct reach_ask *reach, int fd)
{
	struct opening *opening = (struct opening *)reach;
	struct proxy_ask *ask = opening->ask;

	LIST_REMOVE(opening, link);
	free(opening);
	proxy_opened(ask, fd);
}

static void on_open(void *context, struct proxy_ask *ask)
{
	struct publication *publication = context;
	struct opening *opening = calloc(1, sizeof(*opening));

	if (!opening) {
		proxy_opened(ask, -ENOMEM);
		return;
	}
	opening->ask = ask;
	opening->reach.port = publication->port;
	opening->reach.done = on_reached;
	LIST_INSERT_HEAD(&publication->openings, opening, link);
	reach_start(publication->reach, &opening->reach);
}

static void on_cancelled(void *context, struct proxy_ask *ask)
{
	struct publication *publication = context;
	struct opening *opening;

	LIST_FOREACH(opening, &publication->openings, link)
	if (opening->ask == ask)
		break;
	if (!opening)
		return;
	LIST_REMOVE(opening, link);
	reach_cancel(publication->reach, &opening->reach);
	free(opening);
}

/* start(sandbox, proxy, fd, port) -> true | nil, message; takes over fd */
static int publish_lua_start(lua_State *L)
{
	struct sandbox *sandbox = api_sandbox(L, 1);
	struct proxy *proxy = api_proxy(L, 2);
	int fd = (int)luaL_checkinteger(L, 3), error;
	lua_Integer port = luaL_checkinteger(L, 4);
	struct proxy_opener opener = { .open = on_open,
				       .cancelled = on_cancelled };
	struct publication *publication;

	luaL_argcheck(L, port > 0 && port < 65536, 4, "not a port");
	publication = lua_newuserdatauv(L, sizeof(*publication), 0);
	*publication = (struct publication){ .reach = &sandbox->reach,
					     .port = (uint16_t)port };
	LIST_INIT(&publication->openings);
	(void)luaL_ref(L, LUA_REGISTRYINDEX);
	opener.context = publication;
	error = proxy_publish(proxy, fd, &opener);
	return api_done(L, error);
}

int luaopen_srt_c_publish(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "listen", api_listen },
		{ "start", publish_lua_start },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
