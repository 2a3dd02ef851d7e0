/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out connect(2), and watches listen(2). */
#include "core/socket_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/socket_rules.h"
#include "core/system.h"
#include "core/util.h"

#define MAX_WAITING 512
#define SRT_ST_RDONLY 1
#define PATH_AT offsetof(struct sockaddr_un, sun_path)

/*
 * struct connecting - a call with all that it refers to copied
 * @made: instead of the caller's: borrowed, where the agent made it; or -1
 * @socket: owned, the caller's own open socket
 * @base: owned, where a relative path begins; or -1
 * @place: the path of a Unix socket
 */
struct connecting {
	struct guard *guard;
	int made;
	int socket;
	int base;
	socklen_t size;
	union {
		struct sockaddr_storage storage;
		struct sockaddr_un un;
		struct sockaddr any;
	} address;
	struct guard_place place;
};

bool socket_serves(int number)
{
	return number == SYS_connect || number == SYS_listen;
}

uint64_t socket_network(int socket)
{
	uint64_t cookie = 0;
	socklen_t size = sizeof(cookie);

	return getsockopt(socket, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size)
		       ? 0
		       : cookie;
}

static int option(int socket, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return getsockopt(socket, SOL_SOCKET, name, &value, &size) ? -errno
								   : value;
}

/* Does the socket know only peers that wait for connections? */
static bool is_connection(int socket)
{
	int type = option(socket, SO_TYPE);

	return type == SOCK_STREAM || type == SOCK_SEQPACKET;
}

static int copy_address(const struct guard *guard, struct connecting *c)
{
	const struct seccomp_data *data = &guard->notify.request->data;
	int size = (int)data->args[2];
	ssize_t got;

	if (size < 0 || (size_t)size > sizeof(c->address))
		return -EINVAL;
	memset(&c->address, 0, sizeof(c->address));
	c->size = (socklen_t)size;
	if (!size)
		return 0;
	got = notify_read(guard->view.thread, data->args[1], &c->address,
			  (size_t)size);
	return got < 0 ? (int)got : got < size ? -EFAULT : 0;
}

static bool has_name(const struct connecting *c)
{
	return c->size > PATH_AT && c->size <= sizeof(c->address.un) &&
	       c->address.any.sa_family == AF_UNIX;
}

static bool has_path(const struct connecting *c)
{
	return has_name(c) && c->address.un.sun_path[0];
}

/* Need not end with a NUL byte. */
static void copy_path(struct connecting *c)
{
	size_t size = strnlen(c->address.un.sun_path, c->size - PATH_AT);

	memcpy(c->place.text, c->address.un.sun_path, size);
	c->place.text[size] = '\0';
}

static void release(struct connecting *c)
{
	int *owned[] = { &c->socket, &c->base, &c->place.dir };

	for (size_t i = 0; i < ARRAY_SIZE(owned); i++) {
		if (*owned[i] >= 0)
			close(*owned[i]);
		*owned[i] = -1;
	}
}

/* Is the agent to have no more capabilities than the caller? For paths. */
static bool is_limited(const struct guard *guard)
{
	return guard->keep && guard->sockets->on;
}

/*
 * The process is looked into only where that matters: /proc tells slowly.
 * Without capabilities there are none to be lowered.
 */
static int take_socket(struct guard *guard, struct connecting *c,
		       struct notify_caller *caller)
{
	pid_t thread = guard->view.thread;
	int fd = (int)guard->notify.request->data.args[0], error = 0;

	if (is_limited(guard))
		error = notify_status(&guard->notify, thread, caller);
	if (!error && c->made >= 0) {
		c->socket = fcntl(c->made, F_DUPFD_CLOEXEC, 0);
		return c->socket < 0 ? -errno : 0;
	}
	if (!error)
		c->socket = notify_take_fd(thread, caller->tgid, fd);
	/* Before Linux 6.9 only processes can be asked. */
	if (!error && c->socket == -EINVAL && !caller->tgid) {
		error = notify_status(&guard->notify, thread, caller);
		if (!error)
			c->socket = notify_take_fd(thread, caller->tgid, fd);
	}
	return error ? error : c->socket < 0 ? c->socket : 0;
}

/* Everything is read here, once. */
static int copy_call(struct guard *guard, void *call,
		     struct notify_caller *caller)
{
	struct connecting *c = call;
	int error;

	release(c);
	error = take_socket(guard, c, caller);
	if (error || guard->notify.request->data.nr != SYS_connect)
		return error;
	error = copy_address(guard, c);
	if (error || !has_path(c))
		return error;
	copy_path(c);
	if (c->place.text[0] == '/')
		return 0;
	c->base = notify_cwd(&guard->notify, guard->view.thread);
	return c->base < 0 ? c->base : 0;
}

/* By hand, as the caller would: /proc/self is the caller's. */
static int walk_to_file(struct connecting *c)
{
	struct guard_view *view = &c->guard->view;
	struct notify_caller caller = { 0 };
	int error = notify_status(&c->guard->notify, view->thread, &caller);

	view->process = caller.tgid;
	return error ? error
		     : guard_place_open(view, steal_fd(&c->base), &c->place,
					true);
}

/*
 * The file that the path leads to, as O_PATH, or -errno. In one go it is the
 * caller's way as well, if a socket is at its end: what /proc has of the
 * resolver's own are magic links, which it does not take.
 */
static int open_file(struct connecting *c, struct stat *st)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	owned_fd int fd = (int)syscall(SYS_openat2, c->base, c->place.text,
				       &how, sizeof(how));

	if (fd >= 0 && !fstat(fd, st) && S_ISSOCK(st->st_mode))
		return steal_fd(&fd);
	cleanup_fd_(&fd);
	fd = walk_to_file(c);
	if (fd >= 0 && fstat(fd, st))
		return -errno;
	return steal_fd(&fd);
}

static bool is_allowed(const struct guard *guard, int file, const char *real)
{
	struct statfs fs;

	/* Elsewhere any socket could have been given this name from inside. */
	if (guard->area) {
		if (area_changes(guard->area, real))
			return false;
	} else if (fstatfs(file, &fs) || !(fs.f_flags & SRT_ST_RDONLY)) {
		return false;
	}
	return socket_rules_find(guard->sockets, real).kind != SOCKET_NONE;
}

/* connect(2), but it comes back soon: -EINTR where it would have to wait. */
static int try_connect(const struct connecting *c)
{
	guard_hurry();
	return connect(c->socket, &c->address.any, c->size) ? -errno : 0;
}

/* When the socket gives up by SO_SNDTIMEO; 0 for never. */
static long long gives_up_at(int socket)
{
	struct timeval time = { 0 };
	socklen_t size = sizeof(time);

	if (getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, &size) ||
	    (!time.tv_sec && !time.tv_usec))
		return 0;
	return sys_now_ms() + time.tv_sec * 1000LL + time.tv_usec / 1000;
}

static _Noreturn void wait_in_connect(const struct connecting *c)
{
	long long end = gives_up_at(c->socket);
	int error;

	do {
		error = connect(c->socket, &c->address.any, c->size) ? -errno
								     : 0;
		if (error == -EINTR && end && sys_now_ms() >= end)
			error = c->address.any.sa_family == AF_UNIX
					? -EAGAIN
					: -EINPROGRESS;
	} while (error == -EINTR && guard_goes_on(c->guard));
	notify_answer(&c->guard->notify, error);
	_exit(0);
}

/*
 * Whether it would wait shows only in trying, and the flag that keeps it from
 * waiting is the caller's. Where somebody waits already it is not even tried.
 */
static int make_connection(const struct connecting *c)
{
	int error = -EINTR;
	pid_t pid;

	if (!c->guard->workers || (fcntl(c->socket, F_GETFL) & O_NONBLOCK))
		error = try_connect(c);
	if (error != -EINTR)
		return error;
	pid = guard_fork(c->guard, MAX_WAITING);
	if (!pid)
		wait_in_connect(c);
	return pid < 0 ? -EAGAIN : GUARD_ANSWERED;
}

static int connect_path(struct connecting *c)
{
	struct stat st;
	char real[PATH_MAX];
	owned_fd int file = open_file(c, &st);

	if (file < 0)
		return file;
	/* What is no socket nobody can be reached by: the kernel says why. */
	if (S_ISSOCK(st.st_mode) && !own_sockets_has(&c->guard->own, &st)) {
		if (guard_real_path(file, real) < 0)
			return -EACCES;
		if (!is_allowed(c->guard, file, real)) {
			watch_tell(c->guard, WATCH_UNIX, WATCH_READ, real);
			return -EACCES;
		}
	}
	memset(&c->address, 0, sizeof(c->address));
	c->address.un.sun_family = AF_UNIX;
	/* Leads to that very file: no name is looked up again. */
	snprintf(c->address.un.sun_path, sizeof(c->address.un.sun_path),
		 "/proc/self/fd/%d", file);
	c->size = sizeof(c->address.un);
	return make_connection(c);
}

/* Abstract names are those of a socket's network namespace. */
static bool is_of_sandbox(const struct guard *guard, int socket)
{
	return guard->network && socket_network(socket) == guard->network;
}

/*
 * Where no path of a Unix socket is judged, nothing is: the agent only leads,
 * and the kernel carries out the rest. The namespace has no way out, so
 * whatever the caller's memory says by then, loopback is all it can reach.
 */
static int leave_alone(struct connecting *c)
{
	if (c->guard->sockets->on)
		return make_connection(c);
	notify_continue(&c->guard->notify);
	return GUARD_ANSWERED;
}

/* TCP: to the proxy where it would leave the sandbox's network. */
static int connect_onward(struct connecting *c)
{
	int error;

	if (!lead_wants(&c->guard->lead, c->socket, &c->address.any, c->size) ||
	    !is_of_sandbox(c->guard, c->socket))
		return leave_alone(c);
	error = lead_away(&c->guard->lead, c->socket, &c->address.storage,
			  &c->size);
	return error ? error : make_connection(c);
}

/* By its address, which leads to no file that was looked at. */
static int refuse_address(const struct connecting *c)
{
	char text[sizeof(c->address.un.sun_path) + 1] = "@";

	if (!has_name(c))
		return -EPERM;
	memcpy(text + 1, c->address.un.sun_path + 1, c->size - PATH_AT - 1);
	watch_tell(c->guard, WATCH_UNIX, WATCH_CHANGE,
		   has_path(c) ? c->place.text : text);
	return -EPERM;
}

static int do_connect(struct connecting *c)
{
	int family = option(c->socket, SO_DOMAIN);

	if (family < 0)
		return family;
	if (family == AF_INET || family == AF_INET6)
		return connect_onward(c);
	if (family != AF_UNIX || !c->guard->sockets->on)
		return leave_alone(c);
	/* A datagram socket could then send anywhere, and nobody would ask. */
	if (!is_connection(c->socket))
		return refuse_address(c);
	if (has_path(c))
		return connect_path(c);
	if (!has_name(c))
		return -EINVAL;
	return is_of_sandbox(c->guard, c->socket) ? make_connection(c)
						  : refuse_address(c);
}

/*
 * The kernel does the rest, on whatever is at that number by then: what was not
 * kept here can't be connected to, that is all.
 */
static void watch_listen(struct guard *guard, int socket)
{
	if (option(socket, SO_DOMAIN) != AF_UNIX || !is_connection(socket))
		return;
	guard_raise(guard, CAP_NET_ADMIN, true);
	(void)own_sockets_add(&guard->own, socket);
	guard_raise(guard, CAP_NET_ADMIN, false);
}

/* Copies the call; what follows is done as the caller would. */
static int begin(struct guard *guard, int made, struct connecting *c)
{
	struct notify_caller caller = { 0 };
	int error;

	c->guard = guard;
	c->made = made;
	c->socket = c->base = c->place.dir = -1;
	error = guard_look(guard, copy_call, c, &caller);
	if (!notify_valid(&guard->notify))
		error = GUARD_ANSWERED;
	if (!error && is_limited(guard))
		error = guard_become(guard, &caller);
	return error;
}

int socket_connect(struct guard *guard, int socket)
{
	struct connecting c;
	int error = begin(guard, socket, &c);

	/* Of others the agent leads TCP, and nobody connects the rest. */
	if (!error && option(socket, SO_DOMAIN) != AF_UNIX)
		error = -EPERM;
	if (!error)
		error = do_connect(&c);
	release(&c);
	return error;
}

void socket_serve(struct guard *guard)
{
	bool listens = guard->notify.request->data.nr == SYS_listen;
	struct connecting c;
	int error = begin(guard, -1, &c);

	if (!error && listens)
		watch_listen(guard, c.socket);
	else if (!error)
		error = do_connect(&c);
	if (listens && error != GUARD_ANSWERED)
		notify_continue(&guard->notify);
	else if (error != GUARD_ANSWERED)
		notify_answer(&guard->notify, error);
	release(&c);
}
