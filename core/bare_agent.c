/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of a sandbox without namespaces: all that connects is its work. */
#include "core/bare_agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/command.h"
#include "core/lead_calls.h"
#include "core/origins.h"
#include "core/system.h"

/*
 * struct asked - a call with all that it refers to copied
 * @socket: owned, the caller's own open socket
 * @base: owned, the caller's working directory, where that matters; or -1
 */
struct asked {
	int socket;
	int base;
	int domain;
	socklen_t size;
	union {
		struct sockaddr_storage storage;
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_un un;
	} address;
};

static pid_t thread_of(const struct bare_agent *agent)
{
	return (pid_t)agent->notify.request->pid;
}

static int take_socket(struct bare_agent *agent, struct asked *asked)
{
	int fd = (int)agent->notify.request->data.args[0], error;
	struct notify_caller caller = { 0 };
	socklen_t size = sizeof(asked->domain);

	asked->socket = notify_take_fd(thread_of(agent), 0, fd);
	/* Before Linux 6.9 only processes can be asked. */
	if (asked->socket == -EINVAL) {
		error = notify_status(&agent->notify, thread_of(agent),
				      &caller);
		if (error)
			return error;
		asked->socket =
			notify_take_fd(thread_of(agent), caller.tgid, fd);
	}
	if (asked->socket < 0)
		return asked->socket;
	return getsockopt(asked->socket, SOL_SOCKET, SO_DOMAIN, &asked->domain,
			  &size)
		       ? -errno
		       : 0;
}

static int copy_address(struct bare_agent *agent, struct asked *asked)
{
	const struct seccomp_data *data = &agent->notify.request->data;
	int size = (int)data->args[2];
	ssize_t got;

	if (size < (int)sizeof(sa_family_t) ||
	    (size_t)size > sizeof(asked->address))
		return -EINVAL;
	asked->size = (socklen_t)size;
	got = notify_read(thread_of(agent), data->args[1], &asked->address,
			  (size_t)size);
	return got < 0 ? (int)got : got < size ? -EFAULT : 0;
}

/* Everything is read here, once. */
static int copy_call(struct bare_agent *agent, struct asked *asked)
{
	int error = take_socket(agent, asked);

	if (error || agent->notify.request->data.nr != SYS_connect)
		return error;
	error = copy_address(agent, asked);
	if (error || asked->domain != AF_UNIX)
		return error;
	asked->base = notify_cwd(&agent->notify, thread_of(agent));
	return asked->base < 0 ? asked->base : 0;
}

/* As an address of IPv6, whatever it is; "any" means loopback here. */
static bool normalize(const struct asked *asked, struct in6_addr *out)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const struct in_addr loopback = { htonl(INADDR_LOOPBACK) };

	*out = asked->address.v6.sin6_addr;
	if (asked->address.any.sa_family == AF_INET) {
		if (asked->size < sizeof(asked->address.v4))
			return false;
		memcpy(out->s6_addr, mapped, sizeof(mapped));
		memcpy(out->s6_addr + 12, &asked->address.v4.sin_addr, 4);
	} else if (asked->size < sizeof(asked->address.v6)) {
		return false;
	}
	if (IN6_IS_ADDR_UNSPECIFIED(out))
		*out = in6addr_loopback;
	else if (IN6_IS_ADDR_V4MAPPED(out) && !memcmp(out->s6_addr + 12,
						      "\0\0\0", 4))
		memcpy(out->s6_addr + 12, &loopback, sizeof(loopback));
	return true;
}

static bool is_loopback(const struct in6_addr *to)
{
	return IN6_IS_ADDR_LOOPBACK(to) ||
	       (IN6_IS_ADDR_V4MAPPED(to) && to->s6_addr[12] == IN_LOOPBACKNET);
}

static bool is_point(const struct listen_point *point,
		     const struct in6_addr *to)
{
	struct in6_addr own;
	char text[INET6_ADDRSTRLEN];

	if (IN6_IS_ADDR_V4MAPPED(to))
		return inet_ntop(AF_INET, to->s6_addr + 12, text,
				 sizeof(text)) &&
		       !strcmp(text, point->address);
	return inet_pton(AF_INET6, point->address, &own) == 1 &&
	       !memcmp(&own, to, sizeof(own));
}

/* The port of the listener that an address of the plan means, or 0. */
static uint16_t find_port(const struct bare_agent *agent,
			  const struct asked *asked, const struct in6_addr *to)
{
	const struct plan *plan = agent->plan;

	for (size_t i = 0; i < plan->listen_count; i++) {
		const struct listen_point *point = &plan->listen[i];

		/* The two families keep their port at the same place. */
		if (!point->owners && !point->datagrams &&
		    htons(point->port) == asked->address.v4.sin_port &&
		    is_point(point, to))
			return agent->ports[i];
	}
	return 0;
}

/* What was noted of a connection that is not made could be another's. */
static void forget(const struct lead *lead, const struct asked *asked)
{
	struct sockaddr_storage name = { 0 }, to;
	socklen_t size = sizeof(name);

	if (getsockname(asked->socket, (struct sockaddr *)&name, &size))
		return;
	/* By the family of the listener, not of the socket. */
	name.ss_family = asked->address.any.sa_family == AF_INET ||
					 IN6_IS_ADDR_V4MAPPED(
						 &asked->address.v6.sin6_addr)
				 ? AF_INET
				 : AF_INET6;
	(void)origins_take(lead->origins, (struct sockaddr *)&name, &to);
}

static bool is_there(int socket)
{
	struct tcp_info info = { 0 };
	socklen_t size = sizeof(info.tcpi_state);

	/* The state is what comes first. */
	return !getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) &&
	       info.tcpi_state == TCP_ESTABLISHED;
}

static int connect_tcp(const struct bare_agent *agent, struct asked *asked)
{
	struct lead lead = { .origins = agent->plan->redirect.origins };
	const int off = 0;
	struct in6_addr to;
	uint16_t port;
	int error;

	if (asked->address.any.sa_family != asked->domain)
		return -EAFNOSUPPORT;
	if (!normalize(asked, &to))
		return -EINVAL;
	port = find_port(agent, asked, &to);
	if (!port)
		return is_loopback(&to) ? -ECONNREFUSED : -ENETUNREACH;
	lead.port = htons(port);
	/* Two sockets that both have them could share the port. */
	(void)setsockopt(asked->socket, SOL_SOCKET, SO_REUSEADDR, &off,
			 sizeof(off));
	(void)setsockopt(asked->socket, SOL_SOCKET, SO_REUSEPORT, &off,
			 sizeof(off));
	error = lead_away(&lead, asked->socket, &asked->address.storage,
			  &asked->size);
	if (error)
		return error;
	error = connect(asked->socket, &asked->address.any, asked->size)
			? -errno
			: 0;
	/* On loopback it is there at once, or the listener has no room. */
	if (error && error != -EISCONN && error != -EALREADY &&
	    !(error == -EINPROGRESS && is_there(asked->socket)))
		forget(&lead, asked);
	return error;
}

/* In a process apart: it may wait, and its path begins where the caller is. */
static int connect_unix(const struct bare_agent *agent,
			const struct asked *asked)
{
	pid_t pid = fork();
	int error = 0;

	if (pid)
		return pid < 0 ? -errno : 0;
	if (fchdir(asked->base) ||
	    connect(asked->socket, &asked->address.any, asked->size))
		error = -errno;
	notify_answer(&agent->notify, error);
	_exit(0);
}

static void serve(struct bare_agent *agent)
{
	int number = agent->notify.request->data.nr;
	struct asked asked = { .socket = -1, .base = -1 };
	int error = copy_call(agent, &asked);
	bool later = false;

	if (!error && !notify_valid(&agent->notify))
		error = -ESRCH;
	else if (!error && number == SYS_listen)
		error = asked.domain != AF_UNIX ? -EPERM
			: listen(asked.socket,
				 (int)agent->notify.request->data.args[1])
				? -errno
				: 0;
	else if (!error && asked.domain == AF_UNIX)
		later = !(error = connect_unix(agent, &asked));
	else if (!error && asked.address.any.sa_family != AF_UNSPEC &&
		 (asked.domain == AF_INET || asked.domain == AF_INET6))
		error = connect_tcp(agent, &asked);
	else if (!error)
		/* Netlink, or the end of a connection: nowhere to. */
		error = connect(asked.socket, &asked.address.any, asked.size)
				? -errno
				: 0;
	if (!later)
		notify_answer(&agent->notify, error);
	cleanup_fd_(&asked.socket);
	cleanup_fd_(&asked.base);
}

/* Returns the listener, once the command's process has sent it. */
static int take_listener(struct bare_agent *agent, int socket)
{
	int listener = -1, error;
	size_t count = 1;
	char word;

	if (sys_receive(socket, &word, sizeof(word), &listener, &count) <= 0 ||
	    !count)
		return -1;
	error = notify_open(&agent->notify, listener);
	(void)sys_send(socket, &error, sizeof(error), NULL, 0);
	return error ? -1 : listener;
}

/* It holds no capability that the command has not, and nothing of its own. */
static int settle(const struct plan *plan, int socket)
{
	sys_close_all_but(0, &socket, 1);
	prctl(PR_SET_NAME, AGENT_NAME);
	(void)setpgid(0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	return caps_set(plan->id.caps);
}

_Noreturn void bare_agent_run(struct bare_agent *agent, int socket)
{
	int error = settle(agent->plan, socket);
	struct pollfd fds[] = { { .events = POLLIN },
				{ .fd = socket, .events = POLLIN },
				{ .fd = -1, .events = POLLIN } };

	fds[0].fd = (int)syscall(SYS_pidfd_open, agent->init, 0);
	if (error || fds[0].fd < 0)
		_exit(1);
	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			_exit(1);
		/* The janitor sees to all that is left. */
		if (fds[0].revents)
			_exit(0);
		if (fds[1].revents) {
			fds[2].fd = take_listener(agent, socket);
			fds[1].fd = -1;
			close(socket);
		}
		if (fds[2].revents & POLLIN) {
			error = notify_receive(&agent->notify);
			if (!error)
				serve(agent);
		} else if (fds[2].revents) {
			fds[2].fd = -1; /* nobody is left to be notified */
		}
		while (waitpid(-1, NULL, WNOHANG) > 0 && !fds[0].revents)
			;
	}
}
