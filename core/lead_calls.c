/* SPDX-License-Identifier: Apache-2.0 */
/* connect(2) led to the proxy by the agent, where nf_tables is missing. */
#include "core/lead_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "core/origins.h"

/* linux/in.h clashes with libc; MPTCP falls back to TCP on loopback. */
enum { IPPROTO_MPTCP_ = 262, BIND_ADDRESS_NO_PORT = 24 };

int lead_open(struct lead *lead, const struct redirect *redirect)
{
	lead->origins = redirect->origins;
	lead->port = htons(redirect->port);
	return inet_pton(AF_INET, redirect->v4, lead->v4) == 1 &&
			       inet_pton(AF_INET6, redirect->v6, lead->v6) == 1
		       ? 0
		       : -EINVAL;
}

static bool is_own_v4(const struct lead *lead, struct in_addr address)
{
	return address.s_addr == htonl(INADDR_ANY) ||
	       !memcmp(&address, lead->v4, sizeof(lead->v4)) ||
	       ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

static struct in_addr mapped(const struct in6_addr *address)
{
	struct in_addr v4;

	memcpy(&v4, address->s6_addr + 12, sizeof(v4));
	return v4;
}

static bool is_own(const struct lead *lead, const struct sockaddr *to)
{
	const struct in6_addr *v6 =
		&((const struct sockaddr_in6 *)to)->sin6_addr;

	if (to->sa_family == AF_INET)
		return is_own_v4(lead,
				 ((const struct sockaddr_in *)to)->sin_addr);
	if (IN6_IS_ADDR_V4MAPPED(v6))
		return is_own_v4(lead, mapped(v6));
	return IN6_IS_ADDR_LOOPBACK(v6) || IN6_IS_ADDR_UNSPECIFIED(v6) ||
	       !memcmp(v6, lead->v6, sizeof(*v6));
}

static bool is_tcp(int socket)
{
	int protocol = 0;
	socklen_t size = sizeof(protocol);

	return !getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) &&
	       (protocol == IPPROTO_TCP || protocol == IPPROTO_MPTCP_);
}

bool lead_wants(const struct lead *lead, int socket, const struct sockaddr *to,
		socklen_t size)
{
	/* What is too short, or of no family of ours, the kernel refuses. */
	if (!lead->origins || size < sizeof(to->sa_family))
		return false;
	if (to->sa_family == AF_INET
		    ? size < sizeof(struct sockaddr_in)
		    : to->sa_family != AF_INET6 ||
			      size < sizeof(struct sockaddr_in6))
		return false;
	return !is_own(lead, to) && is_tcp(socket);
}

static in_port_t port_of(const struct sockaddr_storage *name)
{
	/* The two families keep it at the same place. */
	return ((const struct sockaddr_in *)name)->sin_port;
}

static int read_name(int socket, struct sockaddr_storage *name, socklen_t *size)
{
	*size = sizeof(*name);
	return getsockname(socket, (struct sockaddr *)name, size) ? -errno : 0;
}

/* Its address stays what the caller chose, or none. */
static int give_port(int socket, struct sockaddr_storage *name, socklen_t size)
{
	const int off = 0;

	/* With this option the port is chosen only in connect(2). */
	(void)setsockopt(socket, IPPROTO_IP, BIND_ADDRESS_NO_PORT, &off,
			 sizeof(off));
	if (bind(socket, (struct sockaddr *)name, size))
		return errno == EADDRINUSE ? -EADDRNOTAVAIL : -errno;
	return read_name(socket, name, &size);
}

static bool is_idle(int socket)
{
	struct tcp_info info;
	socklen_t size = sizeof(info.tcpi_state);

	/* The state is what comes first. */
	return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) ||
	       info.tcpi_state == TCP_CLOSE;
}

static void name_proxy(const struct lead *lead, struct sockaddr_storage *to,
		       socklen_t *size)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;
	struct in_addr loopback = { htonl(INADDR_LOOPBACK) };

	v4->sin_port = lead->port;
	if (to->ss_family == AF_INET) {
		v4->sin_addr = loopback;
		*size = sizeof(*v4);
		return;
	}
	if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		memcpy(v6->sin6_addr.s6_addr + 12, &loopback, sizeof(loopback));
	else
		v6->sin6_addr = in6addr_loopback;
	v6->sin6_scope_id = 0;
	*size = sizeof(*v6);
}

int lead_away(const struct lead *lead, int socket, struct sockaddr_storage *to,
	      socklen_t *size)
{
	struct sockaddr_storage name;
	socklen_t name_size;
	int error = read_name(socket, &name, &name_size);
	bool idle = true;

	if (!error && !port_of(&name))
		error = give_port(socket, &name, name_size);
	else if (!error)
		idle = is_idle(socket);
	if (error)
		return error;
	if (idle)
		(void)origins_put(lead->origins, (struct sockaddr *)&name,
				  (struct sockaddr *)to);
	name_proxy(lead, to, size);
	return 0;
}
