/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching a host: resolve, ask about its addresses, connect to one. */
#include "proxy/dial.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "proxy/dial_private.h"
#include "proxy/lookup.h"

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

void dial_trust(struct dial *dial)
{
	dial->trusted = true;
}

static void dial_part_gone(struct dial *dial)
{
	struct proxy *proxy = dial->proxy;

	if (--dial->parts)
		return;
	free(dial->via);
	free(dial);
	proxy_release(proxy);
}

static void on_timer_closed(uv_handle_t *handle)
{
	dial_part_gone(handle->data);
}

void dial_cancel(struct dial *dial)
{
	if (dial->over)
		return;
	dial->over = true;
	race_drop(dial);
	if (dial->parent) {
		dial->parent->wake = NULL;
		stream_close(dial->parent, false);
		dial->parent = NULL;
	}
	if (dial->looking)
		uv_cancel((uv_req_t *)&dial->lookup);
	uv_close((uv_handle_t *)&dial->timer, on_timer_closed);
}

void dial_finish(struct dial *dial, const struct dial_result *result)
{
	dial_done done = dial->done;
	void *owner = dial->owner;

	dial_cancel(dial);
	done(owner, result);
}

/* IPv6 addresses get their brackets back. */
void dial_fail(struct dial *dial, unsigned int status, int error,
	       const char *what, const char *cause)
{
	bool v6 = strchr(dial->host, ':') != NULL;
	char text[512];
	const struct dial_result result = {
		.status = status,
		.error = error,
		.code = "upstream-failure",
		.text = text,
	};

	snprintf(text, sizeof(text), "%s %s%s%s:%u: %s", what, v6 ? "[" : "",
		 dial->host, v6 ? "]" : "", dial->port, cause);
	dial_finish(dial, &result);
}

static void dial_refuse(struct dial *dial)
{
	const char *code = dial->proxy->hooks.address_code;
	const struct dial_result result = {
		.status = 403,
		.code = code ? code : "blocked-by-policy",
		.text = dial->refused,
	};

	dial_finish(dial, &result);
}

unsigned int dial_status(int error)
{
	return error == UV_ETIMEDOUT ? 504 : dial_no_room(error) ? 503 : 502;
}

uint64_t dial_left(const struct dial *dial)
{
	uint64_t now = uv_now(dial->proxy->loop);

	return dial->deadline > now ? dial->deadline - now : 1;
}

static void stream_gone(struct stream *stream)
{
	struct proxy *proxy = stream->proxy;

	free(stream);
	proxy_release(proxy);
}

struct stream *dial_stream(struct dial *dial)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	if (stream_init(stream, dial->proxy, stream_gone)) {
		free(stream);
		return NULL;
	}
	proxy_hold(dial->proxy);
	stream->owner = dial;
	return stream;
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

void dial_connected(struct dial *dial, struct stream *stream)
{
	const struct dial_result result = { .stream = stream };

	stream->touched = uv_now(dial->proxy->loop);
	uv_tcp_nodelay(&stream->tcp, 1);
	if (dial->via && dial->tunnel) {
		via_open_tunnel(dial, stream);
		return;
	}
	stream->owner = NULL;
	dial_finish(dial, &result);
}

/* Only @host's own answer is told; a parent's address is the user's affair. */
static bool address_allowed(struct dial *dial, const char *address)
{
	const struct proxy_hooks *hooks = &dial->proxy->hooks;
	const char *reason = hooks->check_address(hooks->context, dial->host,
						  dial->port, address);

	if (!reason)
		return true;
	snprintf(dial->refused, sizeof(dial->refused), "%s", reason);
	if (!dial->over)
		proxy_log(dial->proxy, "deny address %s of %s:%u (%s)", address,
			  dial->host, dial->port, reason);
	return false;
}

/* Keeps the addresses that are allowed; the hook may close the whole proxy. */
static void keep_allowed(struct dial *dial)
{
	char text[INET6_ADDRSTRLEN];
	size_t kept = 0;

	for (size_t i = 0; i < dial->count && !dial->over; i++) {
		const union address *address = &dial->addresses[i];

		uv_ip_name(&address->any, text, sizeof(text));
		if (address_allowed(dial, text))
			dial->addresses[kept++] = *address;
	}
	dial->count = kept;
}

static void dial_addresses(struct dial *dial)
{
	if (!dial->via && !dial->trusted)
		keep_allowed(dial);
	if (dial->over)
		return;
	if (dial->count)
		race_start(dial);
	else
		dial_refuse(dial);
}

static const char *lookup_of(const struct dial *dial)
{
	return dial->via ? "cannot resolve the name of the parent proxy for"
			 : "cannot resolve the host of";
}

static void on_lookup_late(uv_timer_t *timer)
{
	struct dial *dial = timer->data;

	dial_fail(dial, 504, UV_ETIMEDOUT, lookup_of(dial),
		  "the lookup took too long");
}

static void take_addresses(struct dial *dial, const struct addrinfo *found)
{
	uint16_t port = dial->via ? dial->via->port : dial->port;

	for (const struct addrinfo *a = found;
	     a && dial->count < DIAL_ADDRESSES; a = a->ai_next) {
		union address *address = &dial->addresses[dial->count];

		if ((a->ai_family != AF_INET && a->ai_family != AF_INET6) ||
		    a->ai_addrlen > sizeof(*address))
			continue;
		memcpy(address, a->ai_addr, a->ai_addrlen);
		/* The two families keep their port at the same place. */
		address->v4.sin_port = htons(port);
		dial->count++;
	}
}

static void on_lookup(uv_getaddrinfo_t *request, int status,
		      struct addrinfo *found)
{
	struct dial *dial = request->data;

	dial->looking = false;
	if (!dial->over)
		take_addresses(dial, found);
	uv_freeaddrinfo(found);
	if (!dial->over && (status < 0 || !dial->count))
		dial_fail(dial, status == UV_ETIMEDOUT ? 504 : 502, status,
			  lookup_of(dial),
			  status < 0 ? uv_strerror(status) : "no address");
	else if (!dial->over)
		dial_addresses(dial);
	dial_part_gone(dial);
}

static void start_lookup(struct dial *dial, const char *host)
{
	int error;

	uv_timer_start(&dial->timer, on_lookup_late, dial_left(dial), 0);
	dial->lookup.data = dial;
	error = proxy_lookup(dial->proxy->loop, &dial->lookup, on_lookup, host);
	if (error) {
		dial_fail(dial, 502, error, lookup_of(dial),
			  uv_strerror(error));
		return;
	}
	dial->looking = true;
	dial->parts++;
}

static bool read_address(const char *host, uint16_t port,
			 union address *address)
{
	return uv_ip4_addr(host, port, &address->v4) == 0 ||
	       uv_ip6_addr(host, port, &address->v6) == 0;
}

/* What leaves by a parent: an address can be judged here, a name can't. */
static bool destination_allowed(struct dial *dial)
{
	union address address;

	return !read_address(dial->host, dial->port, &address) ||
	       address_allowed(dial, dial->host);
}

void dial_start(struct dial *dial)
{
	const char *host = dial->via ? dial->via->host : dial->host;
	uint16_t port = dial->via ? dial->via->port : dial->port;

	dial->deadline =
		uv_now(dial->proxy->loop) + dial->proxy->limits.connect_ms;
	if (dial->via && !destination_allowed(dial)) {
		if (!dial->over)
			dial_refuse(dial);
		return;
	}
	if (dial->over)
		return;
	if (!host) {
		via_connect_unix(dial);
	} else if (read_address(host, port, &dial->addresses[0])) {
		dial->count = 1;
		dial_addresses(dial);
	} else {
		start_lookup(dial, host);
	}
}
