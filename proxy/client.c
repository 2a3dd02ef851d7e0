/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a client connection: states, time limits, clean-up. */
#include <poll.h>
#include <unistd.h>

#include "proxy/internal.h"
#include "proxy/socks.h"

enum { CLIENT_BLANKS = 4 }; /* empty lines before a request (RFC 9112 2.2) */

static uint64_t client_now(const struct client *client)
{
	return uv_now(client->proxy->loop);
}

void client_enter(struct client *client, enum client_state state)
{
	if (client->state == CLIENT_CLOSED)
		return;
	client->state = state;
	client->since = client_now(client);
	client->again = true;
	client->stream.large =
		state == CLIENT_EXCHANGE || state == CLIENT_TUNNEL;
}

void client_tunnel(struct client *client)
{
	client->exchange->tunnel = true;
	client->proxy->tunnel_count++;
	client_enter(client, CLIENT_TUNNEL);
}

static void client_part_gone(struct client *client)
{
	struct proxy *proxy = client->proxy;

	if (--client->handles)
		return;
	free(client->kept);
	free(client);
	proxy_release(proxy);
}

static void on_stream_closed(struct stream *stream)
{
	client_part_gone((struct client *)((char *)stream -
					   offsetof(struct client, stream)));
}

static void on_timer_closed(uv_handle_t *handle)
{
	client_part_gone(handle->data);
}

void client_close(struct client *client, bool reset)
{
	struct proxy *proxy = client->proxy;
	struct exchange *exchange = client->exchange;

	if (client->state == CLIENT_CLOSED)
		return;
	client->state = CLIENT_CLOSED;
	LIST_REMOVE(client, link);
	stream_close(&client->stream, reset);
	uv_close((uv_handle_t *)&client->timer, on_timer_closed);
	client->exchange = NULL;
	exchange_free(exchange);
	if (client->inner) {
		proxy->tunnel_count--;
		if (client->inner->counts_tls)
			proxy->tls->count--;
		inner_free(client->inner);
		client->inner = NULL;
	}
	proxy_client_gone(proxy);
}

/*
 * A body that ends with the connection tells nothing when it ends early, so
 * its connection is reset; the other framings show by themselves.
 */
void client_cut(struct client *client)
{
	struct exchange *exchange = client->exchange;

	client->reset = !exchange || exchange->until_close;
	client->exchange = NULL;
	exchange_free(exchange);
	client_enter(client, CLIENT_LINGER);
}

/* The request is dealt with; what remains of its body decides what follows. */
void client_next(struct client *client)
{
	struct exchange *exchange = client->exchange;

	if (exchange->close_after) {
		client->exchange = NULL;
		exchange_free(exchange);
		client_enter(client, CLIENT_LINGER);
	} else if (!http1_body_done(&exchange->body)) {
		client->drained = 0;
		client_enter(client, CLIENT_DRAIN);
	} else {
		client->exchange = NULL;
		exchange_free(exchange);
		client->scan = (struct http1_scan){ 0 };
		client->blanks = 0;
		client_enter(client, CLIENT_HEAD);
	}
}

/* True when an empty line was skipped. */
static bool skip_blank(struct client *client, ssize_t size)
{
	if (size != 2 || client->scan.lines || client->blanks == CLIENT_BLANKS)
		return false;
	client->blanks++;
	client->scan = (struct http1_scan){ 0 };
	stream_consume(&client->stream, 2);
	return true;
}

static bool step_head(struct client *client)
{
	struct proxy_text input = stream_input(&client->stream);
	struct http1_refusal refusal;
	ssize_t size;

	/* Answers come in order, and no faster than the client takes them. */
	if (stream_pending(&client->stream))
		return false;
	if (input.size && client->fresh) {
		client->fresh = false;
		/* No HTTP request begins with such a byte. */
		if (socks_starts(input.data[0]))
			return socks_begin(client);
	}
	if (input.size && !client->scan.at)
		client->since = client_now(client);
	size = http1_scan(&client->scan, input.data, input.size,
			  client->proxy->limits.header_bytes, &refusal);
	if (size < 0) {
		reply_failure(client, refusal.status, "bad-request", "%s",
			      refusal.reason);
		return true;
	}
	if (size > 0)
		return skip_blank(client, size) ||
		       exchange_begin(client, (size_t)size);
	if (input.size > PROXY_PATIENT &&
	    client->proxy->held > client->proxy->limits.buffer_bytes) {
		reply_failure(client, 503, "too-busy",
			      "too much is held for all connections together "
			      "(limits.bufferBytes)");
		return true;
	}
	if (client->stream.eof)
		client_enter(client, CLIENT_LINGER);
	return client->stream.eof;
}

/* A client that has ended its side before its request was whole is gone. */
static bool step_wait(struct client *client)
{
	const char *reason;

	if (client->state == CLIENT_ASK && collect_request(client))
		return true;
	if (client->stream.eof &&
	    exchange_check_body(client, &reason) == HTTP1_MORE)
		client_close(client, false);
	return false;
}

/*
 * Who waits behind more than we keep is not read, so no event tells when it
 * goes: it is looked at now and then. Behind an end nothing can follow, so
 * that the rest, which the kernel holds already, is read; a reset has thrown
 * even that away. Only who ends behind more than the kernel takes stays
 * unnoticed, until the hook's own time is up.
 */
static void look_at(struct client *client)
{
	struct pollfd poll_fd = { .events = POLLRDHUP };

	client->since = client_now(client);
	if (uv_fileno((uv_handle_t *)&client->stream.tcp, &poll_fd.fd) ||
	    poll(&poll_fd, 1, 0) <= 0)
		return;
	if (poll_fd.revents & (POLLHUP | POLLERR))
		client_close(client, false);
	else
		client->finite = true;
}

static bool step_drain(struct client *client)
{
	struct http1_body *body = &client->exchange->body;
	struct proxy_text input = stream_input(&client->stream), piece;
	const char *reason;
	enum http1_step step;
	size_t used;

	step = http1_body_next(body, input.data, input.size, &used, &piece,
			       &reason);
	stream_consume(&client->stream, used);
	client->drained += used;
	if (step == HTTP1_END) {
		client_next(client);
		return true;
	}
	if (step == HTTP1_BAD || client->drained > PROXY_DRAIN ||
	    (step == HTTP1_MORE && client->stream.eof)) {
		client->exchange->close_after = true;
		client_next(client);
		return true;
	}
	return http1_goes_on(step);
}

/*
 * Closing at once with input unread would reset the connection and could cost
 * the client our last answer, so its end is awaited for a moment.
 */
static bool step_linger(struct client *client)
{
	struct stream *stream = &client->stream;

	stream_consume(stream, stream_input(stream).size);
	if (client->reset) {
		if (!stream_pending(stream))
			client_close(client, true);
		return false;
	}
	if (!stream->end_wanted)
		stream_end(stream);
	if (stream->ended && !client->ended) {
		client->ended = true;
		client->since = client_now(client);
	}
	if (stream->ended && stream->eof)
		client_close(client, false);
	return false;
}

static bool client_step(struct client *client)
{
	if (stream_error(&client->stream)) {
		/* An upstream of a tunnel shall see a failure too. */
		if (client->state == CLIENT_TUNNEL)
			return relay_step(client);
		if (client->state == CLIENT_SHAKE)
			return shake_step(client);
		client_close(client, false);
		return false;
	}
	switch (client->state) {
	case CLIENT_HEAD:
		return step_head(client);
	case CLIENT_SOCKS:
		return socks_step(client);
	case CLIENT_DNS:
		return resolver_step(client);
	case CLIENT_ASK:
	case CLIENT_DIAL:
		return step_wait(client);
	case CLIENT_PEEK:
		return peek_step(client);
	case CLIENT_SHAKE:
		return shake_step(client);
	case CLIENT_SHAKE_UP:
		step_wait(client);
		return client->state != CLIENT_CLOSED && shake_up_step(client);
	case CLIENT_EXCHANGE:
		return forward_step(client);
	case CLIENT_TUNNEL:
		return relay_step(client);
	case CLIENT_DRAIN:
		return step_drain(client);
	case CLIENT_LINGER:
		return step_linger(client);
	case CLIENT_CLOSED:
		break;
	}
	return false;
}

static bool wants_input(const struct client *client)
{
	const struct exchange *exchange = client->exchange;
	bool room = client->stream.in.size < PROXY_AHEAD;

	switch (client->state) {
	case CLIENT_HEAD:
		return room || !stream_pending(&client->stream);
	case CLIENT_SOCKS:
	case CLIENT_DNS:
		return room;
	case CLIENT_ASK:
	case CLIENT_DIAL:
		return room || (client->finite &&
				client->proxy->held <
					client->proxy->limits.buffer_bytes / 2);
	case CLIENT_PEEK:
	case CLIENT_SHAKE:
	case CLIENT_SHAKE_UP:
		return room;
	case CLIENT_EXCHANGE:
		if (http1_body_done(&exchange->body))
			return room;
		return !exchange->up->write_error &&
		       !stream_pending(exchange->up);
	case CLIENT_TUNNEL:
		return !stream_pending(exchange->up);
	default:
		return true;
	}
}

/* When the present state has lasted long enough; 0 for never. */
static uint64_t deadline_of(const struct client *client)
{
	const struct proxy_limits *limits = &client->proxy->limits;
	const struct exchange *exchange = client->exchange;
	uint64_t touched = client->stream.touched;

	switch (client->state) {
	case CLIENT_HEAD:
		if (client->scan.at)
			return client->since + limits->header_ms;
		break;
	case CLIENT_SOCKS:
		return client->since + limits->header_ms;
	case CLIENT_ASK:  /* the hook has its own budget */
	case CLIENT_DIAL: /* so has the dial */
		return client->stream.reading || client->stream.eof
			       ? 0
			       : client->since + PROXY_LOOK_MS;
	case CLIENT_CLOSED:
		return 0;
	case CLIENT_PEEK:
		return peek_deadline(client);
	case CLIENT_SHAKE:
	case CLIENT_SHAKE_UP:
		return client->since + client->proxy->tls->with.handshake_ms;
	case CLIENT_DRAIN:
		return client->since + PROXY_DRAIN_MS;
	case CLIENT_EXCHANGE:
		if (exchange->response == RESPONSE_ASK && !exchange->got.wanted)
			return 0;
		break;
	case CLIENT_TUNNEL: /* of a raw one both ends are on this machine */
		if (exchange->raw && !exchange->redirected)
			return 0;
		break;
	case CLIENT_LINGER: /* what the client sends on buys it no time */
		return client->since +
		       (client->ended ? PROXY_LINGER_MS : limits->idle_ms);
	default:
		break;
	}
	if (exchange && exchange->up && exchange->up->touched > touched)
		touched = exchange->up->touched;
	if (client->state == CLIENT_EXCHANGE &&
	    exchange->response == RESPONSE_HEAD &&
	    http1_body_done(&exchange->body))
		return touched + limits->answer_ms;
	return touched + limits->idle_ms;
}

static void client_expire(struct client *client)
{
	switch (client->state) {
	case CLIENT_HEAD:
		if (client->scan.at)
			reply_failure(client, 408, "bad-request",
				      "the request head took too long");
		else
			client_enter(client, CLIENT_LINGER);
		break;
	case CLIENT_PEEK:
		peek_expire(client);
		break;
	case CLIENT_SHAKE:
		shake_expire(client);
		break;
	case CLIENT_SHAKE_UP:
		shake_up_expire(client);
		break;
	case CLIENT_ASK:
	case CLIENT_DIAL:
		look_at(client);
		break;
	case CLIENT_EXCHANGE:
		forward_expire(client);
		break;
	case CLIENT_DRAIN:
		client->exchange->close_after = true;
		client_next(client);
		break;
	default:
		client_close(client, client->state == CLIENT_TUNNEL);
	}
}

static void client_arm(struct client *client);

/* The timer is set lazily: when it goes off it may be early. */
static void on_timer(uv_timer_t *timer)
{
	struct client *client = timer->data;
	uint64_t deadline = deadline_of(client);

	client->armed = 0;
	if (deadline && deadline <= client_now(client)) {
		client_expire(client);
		client_pump(client);
	} else {
		client_arm(client);
	}
}

static void client_arm(struct client *client)
{
	uint64_t deadline = deadline_of(client), now = client_now(client);

	if (!deadline || (client->armed && client->armed <= deadline))
		return;
	client->armed = deadline;
	uv_timer_start(&client->timer, on_timer,
		       deadline > now ? deadline - now : 1, 0);
}

/* How many of the connection's four ways have failed. */
static unsigned int client_errors(const struct client *client)
{
	const struct stream *stream = &client->stream;
	unsigned int errors = !!stream->read_error + !!stream->write_error;

	stream = client->exchange ? client->exchange->up : NULL;
	if (stream)
		errors += !!stream->read_error + !!stream->write_error;
	return errors;
}

/*
 * Writes what was queued. True when that changed what the next step may do
 * and no event will tell: all is out, or a way has failed.
 */
static bool client_flush(struct client *client)
{
	struct stream *down = &client->stream;
	struct stream *up = client->exchange ? client->exchange->up : NULL;
	unsigned int errors = client_errors(client);
	size_t before = stream_pending(down), after;

	stream_flush(down);
	after = stream_pending(down);
	if (before && !after)
		return true;
	if (up) {
		before = stream_pending(up);
		stream_flush(up);
		after = stream_pending(up);
	}
	return (before && !after) || client_errors(client) != errors;
}

static void client_settle(struct client *client)
{
	struct exchange *exchange = client->exchange;
	unsigned int errors = client_errors(client);

	if (exchange && exchange->up) {
		stream_want(exchange->up, !stream_pending(&client->stream) &&
						  review_reads(exchange));
		stream_acknowledge(exchange->up);
		if (!http1_body_done(&exchange->body))
			stream_acknowledge(&client->stream);
	}
	stream_want(&client->stream, wants_input(client));
	client_arm(client);
	if (client_errors(client) != errors)
		client->again = true;
}

void client_pump(struct client *client)
{
	client->again = true;
	if (client->pumping)
		return;
	client->pumping = true;
	while (client->again && client->state != CLIENT_CLOSED) {
		client->again = false;
		if (client_step(client))
			client->again = true;
		if (client->again || client->state == CLIENT_CLOSED)
			continue;
		if (client_flush(client))
			client->again = true;
		else
			client_settle(client);
	}
	client->pumping = false;
}

static void on_wake(void *owner)
{
	client_pump(owner);
}

void client_accept(struct proxy *proxy, int fd, const struct fixed *to)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client || stream_init(&client->stream, proxy, on_stream_closed)) {
		free(client);
		close(fd);
		return;
	}
	client->proxy = proxy;
	client->handles = 2;
	client->stream.owner = client;
	client->stream.wake = on_wake;
	uv_timer_init(proxy->loop, &client->timer);
	client->timer.data = client;
	proxy_hold(proxy);
	proxy->client_count++;
	LIST_INSERT_HEAD(&proxy->clients, client, link);
	if (uv_tcp_open(&client->stream.tcp, fd)) {
		close(fd);
		client_close(client, false);
		return;
	}
	uv_tcp_nodelay(&client->stream.tcp, 1);
	client->fresh = true;
	if (to)
		fixed_begin(client, to);
	else
		client_enter(client, CLIENT_HEAD);
	client_pump(client);
}
