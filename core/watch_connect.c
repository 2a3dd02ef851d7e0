/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a notified connect(2) would leave the sandbox. */
#include "core/watch_connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "core/guard.h"

enum { DNS_PORT = 53 };

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool is_inside_v4(const struct in_addr *address)
{
	return address->s_addr == htonl(INADDR_ANY) ||
	       ntohl(address->s_addr) >> 24 == IN_LOOPBACKNET;
}

static bool is_inside_v6(const struct in6_addr *address)
{
	struct in_addr v4;

	if (IN6_IS_ADDR_V4MAPPED(address)) {
		memcpy(&v4, address->s6_addr + 12, sizeof(v4));
		return is_inside_v4(&v4);
	}
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       IN6_IS_ADDR_UNSPECIFIED(address);
}

int watch_leaves(const struct guard *guard, char text[WATCH_INET_SIZE])
{
	const struct seccomp_data *data = &guard->notify.request->data;
	char name[INET6_ADDRSTRLEN];
	union address to = { 0 };
	ssize_t size =
		notify_read(guard->view.thread, data->args[1], &to, sizeof(to));
	bool v6 = to.any.sa_family == AF_INET6, inside;
	unsigned int port;

	if (size == -EPERM)
		return -EPERM;
	if (v6 ? size < (ssize_t)sizeof(to.v6)
	       : to.any.sa_family != AF_INET || size < (ssize_t)sizeof(to.v4))
		return 0;
	inside = v6 ? is_inside_v6(&to.v6.sin6_addr)
		    : is_inside_v4(&to.v4.sin_addr);
	/* The two families keep it at the same place. */
	port = ntohs(to.v4.sin_port);
	if (!port || (inside && port != DNS_PORT))
		return 0;
	inet_ntop(to.any.sa_family,
		  v6 ? (const void *)&to.v6.sin6_addr : &to.v4.sin_addr, name,
		  sizeof(name));
	snprintf(text, WATCH_INET_SIZE, v6 ? "[%s]:%u" : "%s:%u", name, port);
	return 1;
}
