/* SPDX-License-Identifier: Apache-2.0 */
/* Tunnels whose requests are read. */
#include <stdio.h>

#include "proxy/internal.h"

static void close_spare(struct inner *inner)
{
	struct stream *spare = inner->spare;

	inner->spare = NULL;
	if (!spare)
		return;
	spare->owner = NULL;
	spare->wake = NULL;
	stream_close(spare, false);
}

/* It was asked for nothing yet, so whatever comes makes it useless. */
static void on_spare_wake(void *owner)
{
	close_spare(owner);
}

void inner_free(struct inner *inner)
{
	if (!inner)
		return;
	close_spare(inner);
	free(inner->host);
	free(inner->spelled);
	free(inner->origin);
	free(inner->via);
	free(inner);
}

struct stream *inner_spare(struct client *client)
{
	struct inner *inner = client->inner;
	const struct exchange *exchange = client->exchange;
	struct stream *spare = inner ? inner->spare : NULL;

	if (!spare || exchange->by_parent ||
	    exchange->request.port != inner->port ||
	    strcmp(exchange->host, inner->host) != 0 ||
	    !via_same(exchange->via, inner->via))
		return NULL;
	inner->spare = NULL;
	return spare;
}

static bool name_all(struct inner *inner, struct exchange *exchange)
{
	struct proxy_text spelled = exchange->request.host;
	bool v6 = strchr(exchange->host, ':') != NULL;

	inner->spelled = strndup(spelled.data, spelled.size);
	if (asprintf(&inner->origin, "%s://%s%s%s:%u",
		     inner->tls ? "https" : "http", v6 ? "[" : "",
		     exchange->host, v6 ? "]" : "", inner->port) < 0)
		inner->origin = NULL;
	inner->host = exchange->host;
	exchange->host = NULL;
	return inner->spelled && inner->origin;
}

static void take_spare(struct inner *inner, struct exchange *exchange)
{
	struct stream *up = exchange->up;

	exchange->up = NULL;
	if (!up)
		return;
	up->owner = inner;
	up->wake = on_spare_wake;
	inner->spare = up;
	stream_want(up, true);
}

void inner_begin(struct client *client, const char *sni)
{
	struct exchange *exchange = client->exchange;
	struct inner *inner = calloc(1, sizeof(*inner));

	if (!inner) {
		client_close(client, true);
		return;
	}
	client->inner = inner;
	inner->tls = sni != NULL;
	inner->port = exchange->request.port;
	inner->via = exchange->via;
	inner->protocol = exchange->question.protocol;
	exchange->via = NULL;
	if (sni)
		snprintf(inner->sni, sizeof(inner->sni), "%s", sni);
	take_spare(inner, exchange);
	inner->counts_tls = exchange->terminated;
	exchange->terminated = false;
	exchange->tunnel = false;
	if (!name_all(inner, exchange)) {
		client_close(client, true);
		return;
	}
	client->exchange = NULL;
	exchange_free(exchange);
	client->scan = (struct http1_scan){ 0 };
	client->blanks = 0;
	if (inner->tls)
		shake_begin(client);
	else
		client_enter(client, CLIENT_HEAD);
}
