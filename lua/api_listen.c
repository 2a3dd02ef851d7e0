/* SPDX-License-Identifier: Apache-2.0 */
/* listen() of srt.c.publish: a TCP listener on the host. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/network.h"
#include "core/util.h"
#include "lua/api.h"

#define BACKLOG 4096

static int listen_at(const char *text, uint16_t port)
{
	const int on = 1;
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { 0 };
	socklen_t size = sizeof(address.v4);
	owned_fd int fd = -1;

	if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1)
		address.any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) == 1)
		address.any.sa_family = AF_INET6;
	else
		return -EINVAL;
	/* The two families keep their port at the same place. macOS takes no
	 * size but that of the family. */
	if (address.any.sa_family == AF_INET6)
		size = sizeof(address.v6);
	address.v4.sin_port = htons(port);
	fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Right after another run; two listeners at once still can't be. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address.any.sa_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on,
				 sizeof(on));
	if (bind(fd, &address.any, size) || listen(fd, BACKLOG))
		return -errno;
	return steal_fd(&fd);
}

int api_listen(lua_State *L)
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
