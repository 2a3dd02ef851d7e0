/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.publish: ports of the host that lead to servers inside. */
#include <arpa/inet.h>
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/network.h"
#include "core/sandbox.h"
#include "lua/api.h"
#include "proxy/proxy.h"

#define BACKLOG 4096

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

static int listen_at(const char *text, uint16_t port)
{
	const int on = 1;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { 0 };
	owned_fd int fd = -1;

	if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1)
		address.any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) == 1)
		address.any.sa_family = AF_INET6;
	else
		return -EINVAL;
	/* The two families keep their port at the same place. */
	address.v4.sin_port = htons(port);
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Right after another run; two listeners at once still can't be. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
				 sizeof(on));
	if (bind(fd, &address.any, sizeof(address)) || listen(fd, BACKLOG))
		return -errno;
	return steal_fd(&fd);
}

/*
 * listen(address, port) -> descriptor, port | nil, message, name. For port 0
 * the kernel chooses one.
 */
static int publish_lua_listen(lua_State *L)
{
	const char *address = luaL_checkstring(L, 1);
	lua_Integer port = luaL_checkinteger(L, 2);
	int fd;

	luaL_argcheck(L, port >= 0 && port < 65536, 2, "not a port");
	fd = listen_at(address, (uint16_t)port);
	if (fd < 0)
		return api_fail(L, -fd);
	lua_pushinteger(L, fd);
	lua_pushinteger(L, network_port(fd));
	return 2;
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
		{ "listen", publish_lua_listen },
		{ "start", publish_lua_start },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
