/* SPDX-License-Identifier: Apache-2.0 */
/* The upstream side of an exchange: a kept connection or a new one. */
#include "proxy/internal.h"

static void on_wake(void *owner)
{
	client_pump(owner);
}

static void tunnel_open(struct client *client)
{
	static const char done[] =
		"HTTP/1.1 200 Connection established\r\n\r\n";

	if (client->exchange->socks_version)
		socks_granted(client);
	else if (!client->exchange->raw)
		pbuf_add(&client->stream.out, done, sizeof(done) - 1);
	client_tunnel(client);
}

/* May the request be sent again when a kept connection turns out dead? */
static bool is_replayable(const struct exchange *exchange)
{
	return exchange->reused && exchange->idempotent &&
	       exchange->request.framing == HTTP1_NONE;
}

static void use(struct client *client, struct stream *up)
{
	struct exchange *exchange = client->exchange;

	exchange->up = up;
	up->owner = client;
	up->wake = on_wake;
	up->large = true;
	if (exchange->request.connect) {
		tunnel_open(client);
		return;
	}
	/* What came of the body meanwhile is read before any goes up. */
	if (!exchange_check_early(client))
		return;
	client_enter(client, CLIENT_EXCHANGE);
	stream_send(up, pbuf_text(&exchange->forward));
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
	if (result->stream) {
		use(client, result->stream);
	} else {
		/* A refusal by policy leaves the connection usable. */
		if (exchange->request.connect && result->status == 403)
			reply.phrase = result->text;
		proxy_log(client->proxy, "fail %s", result->text);
		reply_send(client, &reply, decision_ends(client));
	}
	client_pump(client);
}

static void dial(struct client *client)
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

void upstream_open(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct stream *kept = NULL;

	if (exchange->request.connect &&
	    client->proxy->tunnel_count >= client->proxy->limits.tunnels) {
		reply_failure(client, 503, "too-many-tunnels",
			      "%u tunnels are open (limits.tunnels)",
			      client->proxy->tunnel_count);
		return;
	}
	/* A WebSocket goes through a parent in a tunnel of its own. */
	if (!exchange->request.connect &&
	    (!exchange->via || exchange->by_parent))
		kept = pool_take(client->proxy, exchange->host,
				 exchange->request.port, exchange->via);
	exchange->reused = kept != NULL;
	if (kept)
		use(client, kept);
	else
		dial(client);
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
	dial(client);
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
		  exchange->via, up);
}
