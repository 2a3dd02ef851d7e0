/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's own network namespace. */
#include "core/network.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
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

int network_listen(uint16_t port)
{
	owned_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(fd, 4096))
		return -errno;
	return steal_fd(&fd);
}
