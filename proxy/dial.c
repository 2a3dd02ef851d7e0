/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving a host, asking about its addresses, connecting to one. */
#include "proxy/dial.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

#include "proxy/internal.h"

enum {
	DIAL_ADDRESSES = 16, /* of one name; more are not tried */
	DIAL_TURN_MS = 5000, /* for an address that is not the last */
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/**
 * struct dial - @parts counts what still has a callback to come: the timer,
 * and the name lookup, which may outlast a cancelled dial
 */
struct dial {
	struct proxy *proxy;
	dial_done done;
	void *owner;
	struct stream *attempt;
	uv_timer_t timer;
	uv_getaddrinfo_t lookup;
	uint64_t deadline;
	unsigned int parts;
	bool over;
	bool looking;
	int error;
	size_t count;
	size_t next;
	uint16_t port;
	union address addresses[DIAL_ADDRESSES];
	char refused[256]; /* why check_address said no */
	char tried[INET6_ADDRSTRLEN];
	char host[];
};

struct dial *dial_new(struct proxy *proxy, const char *host, uint16_t port,
		      dial_done done, void *owner)
{
	size_t size = strlen(host) + 1;
	struct dial *dial = calloc(1, sizeof(*dial) + size);

	if (!dial)
		return NULL;
	dial->proxy = proxy;
	dial->done = done;
	dial->owner = owner;
	dial->port = port;
	dial->parts = 1;
	memcpy(dial->host, host, size);
	uv_timer_init(proxy->loop, &dial->timer);
	dial->timer.data = dial;
	proxy_hold(proxy);
	return dial;
}

static void dial_part_gone(struct dial *dial)
{
	struct proxy *proxy = dial->proxy;

	if (--dial->parts)
		return;
	free(dial);
	proxy_release(proxy);
}

static void on_timer_closed(uv_handle_t *handle)
{
	dial_part_gone(handle->data);
}

static void drop_attempt(struct dial *dial)
{
	if (!dial->attempt)
		return;
	dial->attempt->owner = NULL;
	stream_close(dial->attempt, false);
	dial->attempt = NULL;
}

void dial_cancel(struct dial *dial)
{
	if (dial->over)
		return;
	dial->over = true;
	drop_attempt(dial);
	if (dial->looking)
		uv_cancel((uv_req_t *)&dial->lookup);
	uv_close((uv_handle_t *)&dial->timer, on_timer_closed);
}

static void dial_finish(struct dial *dial, const struct dial_result *result)
{
	dial_done done = dial->done;
	void *owner = dial->owner;

	dial_cancel(dial);
	done(owner, result);
}

/* IPv6 addresses get their brackets back. */
static void dial_fail(struct dial *dial, unsigned int status, const char *what,
		      const char *cause)
{
	bool v6 = strchr(dial->host, ':') != NULL;
	char text[512];
	const struct dial_result result = {
		.status = status,
		.code = "upstream-failure",
		.text = text,
	};

	snprintf(text, sizeof(text), "%s %s%s%s:%u: %s", what, v6 ? "[" : "",
		 dial->host, v6 ? "]" : "", dial->port, cause);
	dial_finish(dial, &result);
}

static void dial_exhausted(struct dial *dial)
{
	bool no_descriptor =
		dial->error == UV_EMFILE || dial->error == UV_ENFILE;
	char cause[128];
	const struct dial_result result = {
		.status = 403,
		.code = "blocked-by-policy",
		.text = dial->refused,
	};

	if (!dial->error && dial->refused[0]) {
		dial_finish(dial, &result);
		return;
	}
	snprintf(cause, sizeof(cause), "%s (%s)",
		 dial->error ? uv_strerror(dial->error) : "no address",
		 dial->tried);
	dial_fail(dial,
		  dial->error == UV_ETIMEDOUT ? 504
		  : no_descriptor	      ? 503
					      : 502,
		  "cannot connect to", cause);
}

static void stream_gone(struct stream *stream)
{
	struct proxy *proxy = stream->proxy;

	free(stream);
	proxy_release(proxy);
}

struct stream *dial_adopt(struct proxy *proxy, int fd)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream || stream_init(stream, proxy, stream_gone)) {
		free(stream);
		close(fd);
		return NULL;
	}
	proxy_hold(proxy);
	if (uv_tcp_open(&stream->tcp, fd)) {
		close(fd);
		stream_close(stream, false);
		return NULL;
	}
	uv_tcp_nodelay(&stream->tcp, 1);
	return stream;
}

static void dial_next(struct dial *dial);

static void on_connect(uv_connect_t *request, int status)
{
	struct stream *stream = request->data;
	struct dial *dial = stream->owner;
	const struct dial_result result = { .stream = stream };

	if (stream->closing || !dial)
		return;
	if (status < 0) {
		dial->error = status;
		drop_attempt(dial);
		dial_next(dial);
		return;
	}
	dial->attempt = NULL;
	stream->owner = NULL;
	stream->touched = uv_now(dial->proxy->loop);
	uv_tcp_nodelay(&stream->tcp, 1);
	dial_finish(dial, &result);
}

static void on_turn_over(uv_timer_t *timer)
{
	struct dial *dial = timer->data;

	dial->error = UV_ETIMEDOUT;
	drop_attempt(dial);
	dial_next(dial);
}

/* Each address gets its share of the time that is left. */
static void arm_turn(struct dial *dial)
{
	uint64_t now = uv_now(dial->proxy->loop), left;
	bool last = dial->next == dial->count;

	left = dial->deadline > now ? dial->deadline - now : 1;
	if (!last)
		left /= dial->count - dial->next + 1;
	if (!last && left > DIAL_TURN_MS)
		left = DIAL_TURN_MS;
	uv_timer_start(&dial->timer, on_turn_over, left, 0);
}

static int dial_address(struct dial *dial, const union address *address)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	int error;

	if (!stream)
		return UV_ENOMEM;
	error = stream_init(stream, dial->proxy, stream_gone);
	if (error) {
		free(stream);
		return error;
	}
	proxy_hold(dial->proxy);
	stream->owner = dial;
	stream->connect.data = stream;
	error = uv_tcp_connect(&stream->connect, &stream->tcp, &address->any,
			       on_connect);
	/* Kept connections make room. */
	if ((error == UV_EMFILE || error == UV_ENFILE) &&
	    pool_shed(dial->proxy))
		error = uv_tcp_connect(&stream->connect, &stream->tcp,
				       &address->any, on_connect);
	if (error) {
		stream_close(stream, false);
		return error;
	}
	dial->attempt = stream;
	arm_turn(dial);
	return 0;
}

static bool address_allowed(struct dial *dial, const union address *address)
{
	const struct proxy_hooks *hooks = &dial->proxy->hooks;
	const char *reason;

	if (address->any.sa_family == AF_INET)
		uv_ip4_name(&address->v4, dial->tried, sizeof(dial->tried));
	else
		uv_ip6_name(&address->v6, dial->tried, sizeof(dial->tried));
	reason = hooks->check_address(hooks->context, dial->host, dial->port,
				      dial->tried);
	if (!reason)
		return true;
	snprintf(dial->refused, sizeof(dial->refused), "%s", reason);
	proxy_log(dial->proxy, "deny address %s of %s:%u (%s)", dial->tried,
		  dial->host, dial->port, reason);
	return false;
}

/* The hook may close the whole proxy: @over is looked at after each call. */
static void dial_next(struct dial *dial)
{
	while (!dial->over && dial->next < dial->count) {
		const union address *address = &dial->addresses[dial->next++];
		int error;

		if (!address_allowed(dial, address) || dial->over)
			continue;
		error = dial_address(dial, address);
		if (!error)
			return;
		dial->error = error;
	}
	if (!dial->over)
		dial_exhausted(dial);
}

static void on_lookup_late(uv_timer_t *timer)
{
	dial_fail(timer->data, 504, "cannot resolve the host of",
		  "the lookup took too long");
}

static void on_lookup(uv_getaddrinfo_t *request, int status,
		      struct addrinfo *found)
{
	struct dial *dial = request->data;

	dial->looking = false;
	for (struct addrinfo *a = found; a && dial->count < DIAL_ADDRESSES;
	     a = a->ai_next) {
		union address *address = &dial->addresses[dial->count];

		if ((a->ai_family != AF_INET && a->ai_family != AF_INET6) ||
		    a->ai_addrlen > sizeof(*address))
			continue;
		memcpy(address, a->ai_addr, a->ai_addrlen);
		/* The two families keep their port at the same place. */
		address->v4.sin_port = htons(dial->port);
		dial->count++;
	}
	uv_freeaddrinfo(found);
	if (!dial->over && (status < 0 || !dial->count))
		dial_fail(dial, status == UV_ETIMEDOUT ? 504 : 502,
			  "cannot resolve the host of",
			  status < 0 ? uv_strerror(status) : "no address");
	else if (!dial->over)
		dial_next(dial);
	dial_part_gone(dial);
}

static void start_lookup(struct dial *dial)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	int error;

	uv_timer_start(&dial->timer, on_lookup_late,
		       dial->proxy->limits.connect_ms, 0);
	dial->lookup.data = dial;
	error = uv_getaddrinfo(dial->proxy->loop, &dial->lookup, on_lookup,
			       dial->host, NULL, &hints);
	if (error) {
		dial_fail(dial, 502, "cannot resolve the host of",
			  uv_strerror(error));
		return;
	}
	dial->looking = true;
	dial->parts++;
}

void dial_start(struct dial *dial)
{
	union address *address = &dial->addresses[0];

	dial->deadline =
		uv_now(dial->proxy->loop) + dial->proxy->limits.connect_ms;
	if (uv_ip4_addr(dial->host, dial->port, &address->v4) != 0 &&
	    uv_ip6_addr(dial->host, dial->port, &address->v6) != 0) {
		start_lookup(dial);
		return;
	}
	dial->count = 1;
	dial_next(dial);
}
