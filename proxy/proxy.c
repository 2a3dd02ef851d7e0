/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy itself: listeners, limits, memory. */
#include "proxy/proxy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/internal.h"

enum {
	ACCEPT_TURN = 64,   /* clients taken before others get a turn */
	FILES_OF_OURS = 32, /* descriptors that serve no client */
};

/**
 * struct listener - a listening socket; polled rather than uv_listen()ed, for
 * that drops waiting clients when descriptors run out
 */
struct listener {
	LIST_ENTRY(listener) link;
	struct proxy *proxy;
	struct fixed *to; /* owned; NULL for HTTP */
	uv_poll_t poll;
	uv_timer_t retry;
	unsigned int handles;
	int fd;
	bool paused;
};

void proxy_hold(struct proxy *proxy)
{
	proxy->refs++;
}

void proxy_release(struct proxy *proxy)
{
	if (--proxy->refs)
		return;
	tls_free(proxy->tls);
	pbuf_free(&proxy->strip);
	pbuf_free(&proxy->secret);
	free(proxy->scratch);
	free(proxy);
}

int proxy_login(struct proxy *proxy, const struct proxy_login *login)
{
	struct pbuf *secret = &proxy->secret;
	size_t user = login->user.size, password = login->password.size;
	const char *data;

	pbuf_text_add(secret, login->user);
	pbuf_text_add(secret, login->password);
	pbuf_text_add(secret, login->authorization);
	if (secret->failed)
		return -ENOMEM;
	data = pbuf_text(secret).data;
	proxy->login = (struct proxy_login){
		.user = { data, user },
		.password = { data + user, password },
		.authorization = { data + user + password,
				   login->authorization.size },
	};
	return 0;
}

const struct proxy_login *proxy_wants(const struct proxy *proxy)
{
	return proxy->login.authorization.data ? &proxy->login : NULL;
}

int proxy_strip(struct proxy *proxy, const char *name)
{
	pbuf_text_add(&proxy->strip, proxy_text_of(name));
	pbuf_add(&proxy->strip, ",", 1);
	return proxy->strip.failed ? -ENOMEM : 0;
}

void proxy_log(struct proxy *proxy, const char *format, ...)
{
	char line[1024];
	va_list arguments;

	if (!proxy->hooks.log || proxy->closing)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	for (char *byte = line; *byte; byte++) {
		if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
			*byte = '?';
	}
	proxy->hooks.log(proxy->hooks.context, line);
}

void proxy_refused(const struct client *client, const char *what,
		   const char *reason)
{
	const struct proxy *proxy = client->proxy;
	const struct exchange *exchange = client->exchange;
	const struct inner *inner = client->inner;

	/* Between the requests of a tunnel it is about the tunnel. */
	if (proxy->hooks.refused && !proxy->closing)
		proxy->hooks.refused(proxy->hooks.context, what,
				     exchange ? exchange->host : inner->host,
				     exchange ? exchange->request.port
					      : inner->port,
				     reason);
}

static void set_defaults(struct proxy_limits *limits)
{
	static const struct proxy_limits defaults = {
		.header_bytes = 65536,
		.idle_ms = 300000,
		.header_ms = 30000,
		.connect_ms = 30000,
		.answer_ms = 300000,
		.buffer_bytes = 128 << 20,
		.connections = 10000,
		.tunnels = 10000,
		.idle_upstreams = 256,
		.idle_upstreams_per_host = 64,
		.upstream_idle_ms = 30000,
	};
#define DEFAULT(name) limits->name = limits->name ? limits->name : defaults.name

	DEFAULT(header_bytes);
	DEFAULT(idle_ms);
	DEFAULT(header_ms);
	DEFAULT(connect_ms);
	DEFAULT(answer_ms);
	DEFAULT(buffer_bytes);
	DEFAULT(connections);
	DEFAULT(tunnels);
	DEFAULT(idle_upstreams);
	DEFAULT(idle_upstreams_per_host);
	DEFAULT(upstream_idle_ms);
#undef DEFAULT
}

int proxy_new(struct proxy **out, uv_loop_t *loop,
	      const struct proxy_hooks *hooks,
	      const struct proxy_limits *limits)
{
	struct proxy *proxy;

	if (!hooks->decide || !hooks->check_address)
		return -EINVAL;
	/*
	 * Names are resolved on libuv's threads, which start with the first
	 * lookup. With its usual four, four dead names would stop all others.
	 */
	setenv("UV_THREADPOOL_SIZE", "16", 0);
	proxy = calloc(1, sizeof(*proxy));
	if (!proxy)
		return -ENOMEM;
	proxy->loop = loop;
	proxy->hooks = *hooks;
	proxy->refs = 1;
	if (limits)
		proxy->limits = *limits;
	set_defaults(&proxy->limits);
	pool_init(proxy);
	LIST_INIT(&proxy->clients);
	LIST_INIT(&proxy->listeners);
	*out = proxy;
	return 0;
}

static void on_readable(uv_poll_t *poll, int status, int events);

static void listener_resume(struct listener *listener)
{
	if (uv_poll_start(&listener->poll, UV_READABLE, on_readable) == 0)
		listener->paused = false;
}

static void on_retry(uv_timer_t *timer)
{
	listener_resume(timer->data);
}

static void listener_pause(struct listener *listener)
{
	uv_poll_stop(&listener->poll);
	listener->paused = true;
}

/* Errors of the one connection, not of the listener (accept(2)). */
static bool is_passing(int error)
{
	return error == EINTR || error == ECONNABORTED || error == EPROTO ||
	       error == EPERM || error == ENETDOWN || error == EHOSTUNREACH ||
	       error == ENETUNREACH;
}

/* A client is only let in where a descriptor is left for its upstream, too. */
static unsigned int room_for_clients(const struct proxy *proxy)
{
	unsigned int most = proxy->limits.connections;
	struct rlimit files;
	rlim_t pairs;

	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur == RLIM_INFINITY)
		return most;
	pairs = files.rlim_cur > FILES_OF_OURS + 2
			? (files.rlim_cur - FILES_OF_OURS) / 2
			: 1;
	return pairs < most ? (unsigned int)pairs : most;
}

static void wait_for_files(struct listener *listener, const char *why)
{
	proxy_log(listener->proxy, "accept: %s; waiting", why);
	pool_shed(listener->proxy);
	uv_timer_start(&listener->retry, on_retry, PROXY_RETRY_MS, 0);
}

void proxy_admit(struct proxy *proxy,
		 bool (*admit)(void *context, const struct sockaddr *peer),
		 void *context)
{
	proxy->admit = admit;
	proxy->admit_context = context;
}

static void take_client(const struct listener *listener, int fd,
			const struct sockaddr *peer)
{
	struct proxy *proxy = listener->proxy;

	if (!proxy->admit || proxy->admit(proxy->admit_context, peer))
		client_accept(proxy, fd, listener->to);
	else
		close(fd);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct listener *listener = poll->data;
	struct proxy *proxy = listener->proxy;
	unsigned int most = room_for_clients(proxy);

	(void)status;
	(void)events;
	for (int turn = 0; turn < ACCEPT_TURN && !proxy->closing; turn++) {
		struct sockaddr_storage peer = { 0 };
		socklen_t size = sizeof(peer);
		int fd;

		if (proxy->client_count >= most) {
			listener_pause(listener);
			if (most < proxy->limits.connections)
				wait_for_files(listener, "descriptors are few");
			return;
		}
		fd = accept4(listener->fd, (struct sockaddr *)&peer, &size,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0) {
			take_client(listener, fd, (struct sockaddr *)&peer);
			continue;
		}
		if (is_passing(errno))
			continue;
		if (errno == EAGAIN)
			return;
		listener_pause(listener);
		wait_for_files(listener, strerror(errno));
		return;
	}
}

void proxy_client_gone(struct proxy *proxy)
{
	struct listener *listener;

	proxy->client_count--;
	if (proxy->closing)
		return;
	LIST_FOREACH(listener, &proxy->listeners, link)
	{
		if (listener->paused &&
		    !uv_is_active((uv_handle_t *)&listener->retry))
			listener_resume(listener);
	}
}

static void fixed_free(struct fixed *to)
{
	if (to)
		free(to->name);
	free(to);
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct listener *listener = handle->data;
	struct proxy *proxy = listener->proxy;

	if (--listener->handles)
		return;
	fixed_free(listener->to);
	free(listener);
	proxy_release(proxy);
}

static void listener_close(struct listener *listener)
{
	LIST_REMOVE(listener, link);
	uv_close((uv_handle_t *)&listener->poll, on_listener_closed);
	uv_close((uv_handle_t *)&listener->retry, on_listener_closed);
	close(listener->fd);
}

/* Takes over @fd and @to in any case. */
static int listen_on(struct proxy *proxy, int fd, struct fixed *to)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	int error = listener ? 0 : -ENOMEM;

	if (!error && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		error = -errno;
	/* This also makes the socket non-blocking. */
	if (!error)
		error = uv_poll_init(proxy->loop, &listener->poll, fd);
	if (error) {
		free(listener);
		fixed_free(to);
		if (fd >= 0)
			close(fd);
		return error;
	}
	listener->proxy = proxy;
	listener->to = to;
	listener->fd = fd;
	listener->handles = 2;
	listener->poll.data = listener;
	listener->retry.data = listener;
	uv_timer_init(proxy->loop, &listener->retry);
	LIST_INSERT_HEAD(&proxy->listeners, listener, link);
	proxy_hold(proxy);
	error = uv_poll_start(&listener->poll, UV_READABLE, on_readable);
	if (error)
		listener_close(listener);
	return error;
}

int proxy_terminate(struct proxy *proxy, const struct proxy_tls *with)
{
	proxy->tls = tls_new(with);
	return proxy->tls ? 0 : -ENOMEM;
}

void proxy_limit_tls(struct proxy *proxy, unsigned int tunnels,
		     unsigned int handshake_ms)
{
	if (!proxy->tls)
		return;
	proxy->tls->with.tunnels = tunnels;
	proxy->tls->with.handshake_ms = handshake_ms;
}

int proxy_listen(struct proxy *proxy, int fd)
{
	return listen_on(proxy, fd, NULL);
}

int proxy_forward(struct proxy *proxy, int fd, const char *host, uint16_t port)
{
	size_t size = strlen(host) + sizeof(":65535");
	struct fixed *to = calloc(1, sizeof(*to));

	if (to)
		to->name = malloc(size);
	if (!to || !to->name) {
		fixed_free(to);
		close(fd);
		return -ENOMEM;
	}
	snprintf(to->name, size, "%s:%u", host, port);
	to->host_size = strlen(host);
	to->port = port;
	return listen_on(proxy, fd, to);
}

/* Clients of @fd, taken over in any case, go where @like says. */
static int listen_like(struct proxy *proxy, int fd, const struct fixed *like)
{
	struct fixed *to = malloc(sizeof(*to));

	if (!to) {
		close(fd);
		return -ENOMEM;
	}
	*to = *like;
	return listen_on(proxy, fd, to);
}

int proxy_hand_over(struct proxy *proxy, int fd, uint16_t port)
{
	return listen_like(
		proxy, fd,
		&(struct fixed){ .kind = FIXED_PASSAGE, .port = port });
}

int proxy_publish(struct proxy *proxy, int fd,
		  const struct proxy_opener *opener)
{
	return listen_like(
		proxy, fd,
		&(struct fixed){ .kind = FIXED_OPENER, .opener = *opener });
}

int proxy_authorize(struct proxy *proxy, int fd)
{
	return listen_like(proxy, fd, &(struct fixed){ .kind = FIXED_AUTHZ });
}

int proxy_redirected(struct proxy *proxy, int fd)
{
	return listen_like(proxy, fd,
			   &(struct fixed){ .kind = FIXED_REDIRECTED });
}

int proxy_resolve_streams(struct proxy *proxy, int fd)
{
	return listen_like(proxy, fd, &(struct fixed){ .kind = FIXED_DNS });
}

/* A verdict was given for it, or for its tunnel, and is none any more. */
static bool is_gone(const struct client *client, const struct proxy_gone *gone)
{
	const struct exchange *exchange = client->exchange;
	const struct inner *inner = client->inner;

	if (inner && gone->gone(gone->context, inner->host, inner->port))
		return true;
	return exchange && exchange->host &&
	       gone->gone(gone->context, exchange->host,
			  exchange->request.port);
}

size_t proxy_revise(struct proxy *proxy, const struct proxy_gone *gone)
{
	struct client *client = LIST_FIRST(&proxy->clients);
	size_t count = 0;

	while (client) {
		struct client *next = LIST_NEXT(client, link);

		if (is_gone(client, gone)) {
			proxy_log(proxy, "cut: a new policy denies it");
			client_close(client, true);
			count++;
		}
		client = next;
	}
	pool_shed(proxy);
	return count;
}

void proxy_close(struct proxy *proxy)
{
	struct listener *listener;
	struct client *client;

	if (proxy->closing)
		return;
	proxy->closing = true;
	while ((listener = LIST_FIRST(&proxy->listeners)))
		listener_close(listener);
	while ((client = LIST_FIRST(&proxy->clients)))
		client_close(client, false);
	pool_close(proxy);
	resolver_close(proxy);
	proxy_release(proxy);
}
