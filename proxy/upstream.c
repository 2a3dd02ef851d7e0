/* SPDX-License-Identifier: Apache-2.0 */
/* The upstream side of an exchange: a kept connection or a new one. */
#include "proxy/internal.h"

static void on_wake(void *owner)
{
	client_pump(owner);
}

void upstream_take(struct client *client, struct stream *up)
{
	client->exchange->up = up;
	up->owner = client;
	up->wake = on_wake;
	up->large = true;
}

static void tunnel_open(struct client *client)
{
	static const char done[] =
		"HTTP/1.1 200 Connection established\r\n\r\n";
	const struct exchange *exchange = client->exchange;

	if (exchange->socks_version && !exchange->granted)
		socks_granted(client);
	else if (!exchange->raw && !exchange->granted)
		pbuf_add(&client->stream.out, done, sizeof(done) - 1);
	if (exchange->terminate || exchange->inspect)
		peek_begin(client);
	else
		client_tunnel(client);
}

/* May the request be sent again when a kept connection turns out dead? */
static bool is_replayable(const struct exchange *exchange)
{
	return exchange->reused && exchange->idempotent &&
	       exchange->request.framing == HTTP1_NONE;
}

static bool is_tls(const struct exchange *exchange)
{
	return exchange->inner && exchange->inner->tls;
}

/* What a connection speaks, for the pool. */
static unsigned int kind_of(const struct exchange *exchange)
{
	return (is_tls(exchange) || exchange->terminate ? POOL_TLS : 0) |
	       (exchange->by_parent ? POOL_TO_PARENT : 0);
}

static void use(struct client *client, struct stream *up)
{
	struct exchange *exchange = client->exchange;

	upstream_take(client, up);
	if (exchange->request.connect) {
		tunnel_open(client);
		return;
	}
	if (is_tls(exchange) && !up->tls)
		shake_up_begin(client);
	else
		upstream_begin(client);
}

void upstream_begin(struct client *client)
{
	struct exchange *exchange = client->exchange;

	/* What came of the body meanwhile is read before any goes up. */
	if (!exchange_check_early(client))
		return;
	client_enter(client, CLIENT_EXCHANGE);
	stream_send(exchange->up, pbuf_text(&exchange->forward));
	if (!is_replayable(exchange))
		pbuf_free(&exchange->forward);
}

static void on_dialled(void *owner, const struct dial_result *result)
{
	struct client *client = owner;
	struct exchange *exchange = client->exchange;
	struct reply reply = { .status = result->status,
			       .error = result->error,
			       .code = result->code,
			       .reason = result->text,
			       .json = exchange->json };

	exchange->dial = NULL;
	if (!result->stream && result->status == 403)
		proxy_refused(client, "address", result->text);
	if (result->stream) {
		use(client, result->stream);
	} else if (exchange->granted) {
		proxy_log(client->proxy, "fail %s", result->text);
		client_close(client, true);
	} else {
		/* A refusal by policy leaves the connection usable. */
		if (exchange->request.connect && result->status == 403)
			reply.phrase = result->text;
		proxy_log(client->proxy, "fail %s", result->text);
		reply_send(client, &reply, decision_ends(client));
	}
	client_pump(client);
}

void upstream_dial(struct client *client)
{
	struct exchange *exchange = client->exchange;

	client_enter(client, CLIENT_DIAL);
	exchange->dial = dial_new(client->proxy, exchange->host,
				  exchange->request.port, on_dialled, client);
	if (!exchange->dial ||
	    (exchange->via &&
	     dial_via(exchange->dial, exchange->via, !exchange->by_parent)))
		client_close(client, false);
	else
		dial_start(exchange->dial);
}

static void open_tunnel(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct proxy *proxy = client->proxy;

	if (proxy->tunnel_count >= proxy->limits.tunnels) {
		reply_failure(client, 503, "too-many-tunnels",
			      "%u tunnels are open (limits.tunnels)",
			      proxy->tunnel_count);
		return;
	}
	if (!exchange->terminate) {
		upstream_dial(client);
		return;
	}
	if (proxy->tls->count >= proxy->tls->with.tunnels) {
		reply_failure(client, 503, "too-many-tunnels",
			      "%u tunnels are terminated at once "
			      "(network.tlsTerminate.maxTunnels)",
			      proxy->tls->count);
		return;
	}
	exchange->terminated = true;
	proxy->tls->count++;
	/* A connection that is kept shows that the server can be reached. */
	if (pool_has(proxy, exchange->host, exchange->request.port,
		     exchange->via, kind_of(exchange)))
		tunnel_open(client);
	else
		upstream_dial(client);
}

void upstream_open(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct stream *up = NULL;

	if (exchange->request.connect) {
		open_tunnel(client);
		return;
	}
	/* A plain WebSocket goes through a parent in a tunnel of its own. */
	if (!exchange->via || exchange->by_parent || exchange->inner)
		up = pool_take(client->proxy, exchange->host,
			       exchange->request.port, exchange->via,
			       kind_of(exchange));
	exchange->reused = up != NULL;
	if (!up)
		up = inner_spare(client);
	if (up)
		use(client, up);
	else
		upstream_dial(client);
}

void upstream_drop(struct exchange *exchange)
{
	if (!exchange->up)
		return;
	exchange->up->owner = NULL;
	exchange->up->wake = NULL;
	stream_close(exchange->up, false);
	exchange->up = NULL;
}

bool upstream_retry(struct client *client)
{
	struct exchange *exchange = client->exchange;

	if (!is_replayable(exchange) || exchange->response != RESPONSE_HEAD ||
	    exchange->interim || exchange->scan.at ||
	    stream_input(exchange->up).size)
		return false;
	proxy_log(client->proxy, "retry %s:%u (a kept connection had ended)",
		  exchange->host, exchange->request.port);
	upstream_drop(exchange);
	exchange->reused = false;
	upstream_dial(client);
	return true;
}

void upstream_release(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct stream *up = exchange->up;

	/* Bytes behind a response belong to no request of ours. */
	if (!exchange->reusable || stream_pending(up) ||
	    stream_input(up).size) {
		upstream_drop(exchange);
		return;
	}
	exchange->up = NULL;
	pool_park(client->proxy, exchange->host, exchange->request.port,
		  exchange->via, kind_of(exchange), up);
}
