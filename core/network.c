/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's own network namespace. */
#include "core/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/util.h"

int network_up(void)
{
	struct ifreq request = { .ifr_flags = IFF_UP };
	owned_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	memcpy(request.ifr_name, "lo", sizeof("lo"));
	return ioctl(fd, SIOCSIFFLAGS, &request) ? -errno : 0;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool read_point(const struct listen_point *point, union address *out)
{
	*out = (union address){ 0 };
	if (inet_pton(AF_INET, point->address, &out->v4.sin_addr) == 1)
		out->any.sa_family = AF_INET;
	else if (inet_pton(AF_INET6, point->address, &out->v6.sin6_addr) == 1)
		out->any.sa_family = AF_INET6;
	/* The two families keep their port at the same place. */
	out->v4.sin_port = htons(point->port);
	return out->any.sa_family != 0;
}

int network_listen(const struct listen_point *point)
{
	union address address;
	owned_fd int fd = -1;

	if (!read_point(point, &address))
		return -EINVAL;
	fd = socket(address.any.sa_family,
		    (point->datagrams ? SOCK_DGRAM : SOCK_STREAM) |
			    SOCK_CLOEXEC,
		    0);
	if (fd < 0)
		return errno == EAFNOSUPPORT ? -EADDRNOTAVAIL : -errno;
	if (bind(fd, &address.any, sizeof(address)) ||
	    (!point->datagrams && listen(fd, 4096)))
		return -errno;
	return steal_fd(&fd);
}

int network_connect(int family, uint16_t port, int *out)
{
	/* Gives up in 15 s: a full backlog lets SYNs fall silently. */
	const int tries = 3;
	union address address = { .any.sa_family = (sa_family_t)family };
	owned_fd int fd =
		socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	int error;

	*out = -1;
	if (fd < 0)
		return -errno;
	address.v4.sin_port = htons(port);
	if (family == AF_INET)
		address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		address.v6.sin6_addr = in6addr_loopback;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_SYNCNT, &tries, sizeof(tries));
	error = connect(fd, &address.any, sizeof(address)) ? -errno : 0;
	if (!error || error == -EINPROGRESS)
		*out = steal_fd(&fd);
	return error;
}
