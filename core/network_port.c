/* SPDX-License-Identifier: Apache-2.0 */
/* The port that a socket has. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/network.h"

uint16_t network_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} name = { 0 };
	socklen_t size = sizeof(name);

	/* The two families keep their port at the same place. */
	return getsockname(fd, &name.any, &size) ? 0 : ntohs(name.v4.sin_port);
}
