/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that the agent of a sandbox without namespaces carries out. */
#include "core/bare_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guard_calls.h"
#include "core/guard_change.h"
#include "core/lead_calls.h"
#include "core/origins.h"
#include "core/socket_calls.h"
#include "core/util.h"
#include "core/watch_connect.h"

/*
 * struct asked - a call with all that it refers to copied
 * @made: the socket, where it is one of ours
 */
struct asked {
	struct bare_socket *made;
	socklen_t size;
	union {
		struct sockaddr_storage storage;
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address;
};

static pid_t thread_of(const struct bare_agent *agent)
{
	return (pid_t)agent->guard.notify.request->pid;
}

/* The place of a socket, by the number of its file. */
static struct bare_socket *place_of(struct bare_agent *agent, uint64_t inode)
{
	return &agent->sockets[inode % ARRAY_SIZE(agent->sockets)];
}

static void forget_socket(struct bare_socket *made)
{
	if (made->inode && made->fd >= 0)
		close(made->fd);
	made->fd = -1;
}

/*
 * One that we have as well, from the beginning: to take it from the caller
 * later, containers refuse (pidfd_getfd(2)). What was asked for is TCP, or the
 * filter would have refused it.
 */
static int make_socket(struct bare_agent *agent)
{
	const struct seccomp_data *data = &agent->guard.notify.request->data;
	int type = (int)data->args[1];
	owned_fd int own = socket((int)data->args[0], type | SOCK_CLOEXEC,
				  (int)data->args[2]);
	struct bare_socket *made;
	struct stat st;
	int copy;

	if (own < 0 || fstat(own, &st))
		return -errno;
	copy = fcntl(own, F_DUPFD_CLOEXEC, 0);
	if (copy < 0)
		return -errno;
	made = place_of(agent, st.st_ino);
	forget_socket(made);
	*made = (struct bare_socket){
		.inode = st.st_ino,
		.fd = steal_fd(&own),
		.family = (int)data->args[0],
	};
	notify_answer_fd(&agent->guard.notify, copy, type & SOCK_CLOEXEC);
	return GUARD_ANSWERED;
}

/* NULL for one that we have not made. */
static int find_socket(struct bare_agent *agent, struct bare_socket **out)
{
	char name[48], link[48] = "";
	struct bare_socket *made;
	uint64_t inode;

	snprintf(name, sizeof(name), "%d/fd/%d", (int)thread_of(agent),
		 (int)agent->guard.notify.request->data.args[0]);
	if (readlinkat(agent->guard.notify.proc, name, link, sizeof(link) - 1) <
	    0)
		return errno == ENOENT ? -EBADF : -errno;
	if (sscanf(link, "socket:[%" SCNu64, &inode) != 1)
		return -ENOTSOCK;
	made = place_of(agent, inode);
	*out = made->inode == inode ? made : NULL;
	return 0;
}

static int copy_address(struct bare_agent *agent, struct asked *asked)
{
	const struct seccomp_data *data = &agent->guard.notify.request->data;
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
	else if (IN6_IS_ADDR_V4MAPPED(out) &&
		 !memcmp(out->s6_addr + 12, "\0\0\0", 4))
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
static void forget_origin(const struct lead *lead, const struct asked *asked)
{
	struct sockaddr_storage name = { 0 }, to;
	socklen_t size = sizeof(name);

	if (getsockname(asked->made->fd, (struct sockaddr *)&name, &size))
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

/* The listener's address in the place of the one that was asked for. */
static int lead_there(const struct lead *lead, struct asked *asked)
{
	const int off = 0;
	int fd = asked->made->fd, error;

	/* Two sockets that both have them could share the port. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &off, sizeof(off));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &off, sizeof(off));
	error = lead_away(lead, fd, &asked->address.storage, &asked->size);
	if (error)
		return error;
	error = connect(fd, &asked->address.any, asked->size) ? -errno : 0;
	/* On loopback it is there at once, or the listener has no room. */
	if (error != -EISCONN && error != -EALREADY && !is_there(fd))
		forget_origin(lead, asked);
	return error;
}

/* As where the network has no way out. */
static int lead_nowhere(struct bare_agent *agent, const struct in6_addr *to)
{
	char text[WATCH_INET_SIZE];

	if (agent->plan->watch.connects &&
	    watch_leaves(&agent->guard, text) == 1)
		watch_tell(&agent->guard, WATCH_INET, WATCH_READ, text);
	return is_loopback(to) ? -ECONNREFUSED : -ENETUNREACH;
}

static int connect_tcp(struct bare_agent *agent, struct asked *asked)
{
	struct lead lead = { .origins = agent->plan->redirect.origins };
	struct in6_addr to;
	uint16_t port;
	int error;

	if (asked->made->fd < 0)
		return -EISCONN;
	if (asked->address.any.sa_family == AF_UNSPEC)
		return 0;
	if (asked->address.any.sa_family != asked->made->family)
		return -EAFNOSUPPORT;
	if (!normalize(asked, &to))
		return -EINVAL;
	port = find_port(agent, asked, &to);
	if (!port)
		return lead_nowhere(agent, &to);
	lead.port = htons(port);
	error = lead_there(&lead, asked);
	/* The caller alone has it from now on, so that it ends with its own. */
	if (!error || error == -EINPROGRESS)
		forget_socket(asked->made);
	return error;
}

static int serve_connect(struct bare_agent *agent, struct asked *asked)
{
	int error = copy_address(agent, asked);

	if (!error && !notify_valid(&agent->guard.notify))
		error = -ESRCH;
	return error ? error : connect_tcp(agent, asked);
}

/* The point that an address inside means, whose family and size are right. */
static const struct publish_point *find_point(const struct bare_agent *agent,
					      const struct asked *asked)
{
	struct in6_addr to;

	if (!normalize(asked, &to) || !is_loopback(&to))
		return NULL;
	for (size_t i = 0; i < agent->plan->publish_count; i++)
		/* The two families keep their port at the same place. */
		if (htons(agent->plan->publish[i].inside) ==
		    asked->address.v4.sin_port)
			return &agent->plan->publish[i];
	return NULL;
}

/* The host's address of a point, as one of the family that was asked for. */
static bool name_point(const struct publish_point *point, struct asked *asked)
{
	char text[INET6_ADDRSTRLEN + sizeof("::ffff:")];
	struct sockaddr_in6 *v6 = &asked->address.v6;

	asked->address.v4.sin_port = htons(point->port);
	if (asked->address.any.sa_family == AF_INET)
		return inet_pton(AF_INET, point->address,
				 &asked->address.v4.sin_addr) == 1;
	snprintf(text, sizeof(text), "%s%s",
		 strchr(point->address, ':') ? "" : "::ffff:", point->address);
	v6->sin6_scope_id = 0;
	return inet_pton(AF_INET6, text, &v6->sin6_addr) == 1;
}

/* A TCP socket of ours gets the host's address, or none. */
static int bind_tcp(struct bare_agent *agent, struct asked *asked)
{
	const struct publish_point *point;
	int error = copy_address(agent, asked);

	if (!error && !notify_valid(&agent->guard.notify))
		error = -ESRCH;
	if (error)
		return error;
	if (asked->made->fd < 0)
		return -EINVAL;
	if (asked->address.any.sa_family != asked->made->family)
		return -EAFNOSUPPORT;
	point = find_point(agent, asked);
	if (!point)
		return -EACCES;
	if (!name_point(point, asked))
		return -EADDRNOTAVAIL;
	if (bind(asked->made->fd, &asked->address.any, asked->size))
		return -errno;
	asked->made->bound = true;
	return 0;
}

/* Only where it was bound here: else it would get any port of the machine. */
static int listen_tcp(struct bare_agent *agent, struct bare_socket *made)
{
	int backlog = (int)agent->guard.notify.request->data.args[1];

	if (!made->bound)
		return -EPERM;
	if (made->fd < 0)
		return 0;
	if (!notify_valid(&agent->guard.notify))
		return -ESRCH;
	if (listen(made->fd, backlog))
		return -errno;
	/* It ends with the caller's own. */
	forget_socket(made);
	return 0;
}

/* After a signal it may be tried again; containers refuse it. */
static int take_again(struct bare_agent *agent, struct bare_socket *made)
{
	owned_fd int fd =
		notify_take_fd(thread_of(agent), thread_of(agent),
			       (int)agent->guard.notify.request->data.args[0]);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || st.st_ino != made->inode)
		return -EISCONN;
	made->fd = steal_fd(&fd);
	return 0;
}

/*
 * A Unix socket of ours, by path. The caller alone has it once it is connected,
 * or somebody else waits for that.
 */
static int connect_unix(struct bare_agent *agent, struct bare_socket *made)
{
	bool again = made->fd < 0;
	int error = again ? take_again(agent, made) : 0;

	if (!error)
		error = socket_connect(&agent->guard, made->fd);
	if (again || !error || error == GUARD_ANSWERED)
		forget_socket(made);
	return error;
}

/* As the kernel would, with a copy that is a Unix socket for sure. */
static int listen_other(struct bare_agent *agent)
{
	const struct seccomp_data *data = &agent->guard.notify.request->data;
	owned_fd int fd = notify_take_fd(thread_of(agent), thread_of(agent),
					 (int)data->args[0]);
	int family = 0;
	socklen_t size = sizeof(family);

	if (fd < 0 || !notify_valid(&agent->guard.notify) ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) ||
	    family != AF_UNIX)
		return -EPERM;
	return listen(fd, (int)data->args[1]) ? -errno : 0;
}

/*
 * Only with allowAllUnixSockets, whose sockets are no concern of ours. If
 * meanwhile the number has come to mean another socket, Landlock refuses that a
 * TCP socket is connected or bound (from ABI 4 on, without which no such plan
 * is made); of listen(2), which binds as well, it does not know.
 */
static int pass_other(struct bare_agent *agent, int number)
{
	if (!agent->plan->all_sockets)
		return -EPERM;
	if (number == SYS_listen)
		return listen_other(agent);
	notify_continue(&agent->guard.notify);
	return GUARD_ANSWERED;
}

static int serve_socket(struct bare_agent *agent, int number)
{
	struct asked asked = { 0 };
	int error = find_socket(agent, &asked.made);

	if (error)
		return error;
	if (!asked.made)
		return pass_other(agent, number);
	if (asked.made->family == AF_UNIX)
		return number == SYS_connect ? connect_unix(agent, asked.made)
					     : -EPERM;
	if (number == SYS_connect)
		return serve_connect(agent, &asked);
	return number == SYS_bind ? bind_tcp(agent, &asked)
				  : listen_tcp(agent, asked.made);
}

/* The filter notifies calls on names and on what is known of files besides. */
static int serve_file(struct guard *guard)
{
	const struct seccomp_data *data = &guard->notify.request->data;

	if (guard_changes(data->nr))
		return guard_change(guard);
	if (!guard_serves(guard, data))
		return guard_leave(guard);
	guard_serve(guard);
	return GUARD_ANSWERED;
}

static int serve_one(struct bare_agent *agent)
{
	int number = agent->guard.notify.request->data.nr, error;

	guard_reap(&agent->guard);
	agent->guard.view.thread = thread_of(agent);
	error = watch_refuses(&agent->guard);
	if (error)
		return error;
	if (number == SYS_socket)
		return make_socket(agent);
	if (number == SYS_connect || number == SYS_bind || number == SYS_listen)
		return serve_socket(agent, number);
	return agent->guard.area ? serve_file(&agent->guard) : -ENOSYS;
}

void bare_serve(struct bare_agent *agent)
{
	int error = serve_one(agent);

	if (error != GUARD_ANSWERED)
		notify_answer(&agent->guard.notify, error);
}
