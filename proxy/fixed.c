/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that speak no proxy protocol: all of a listener go to one place. */
#include <unistd.h>

#include "proxy/internal.h"

enum { KEEPALIVE_SECONDS = 60 };

static bool name_destination(struct exchange *exchange, const struct fixed *to)
{
	struct http1_request *request = &exchange->request;

	exchange->head = strdup(to->name);
	if (!exchange->head)
		return false;
	request->method = proxy_text_of("FORWARD");
	request->target = proxy_text_of(exchange->head);
	request->host = request->target;
	request->host.size = to->host_size;
	request->port = to->port;
	return true;
}

void fixed_begin(struct client *client, const struct fixed *to)
{
	struct exchange *exchange;

	switch (to->kind) {
	case FIXED_PASSAGE:
		passage_begin(client, to->port);
		return;
	case FIXED_REDIRECTED:
		redirected_begin(client);
		return;
	case FIXED_DNS:
		client_enter(client, CLIENT_DNS);
		return;
	case FIXED_AUTHZ:
		client->authz = true;
		client->fresh = false; /* no SOCKS */
		client_enter(client, CLIENT_HEAD);
		return;
	default:
		break;
	}
	exchange = calloc(1, sizeof(*exchange));
	if (!exchange) {
		client_close(client, true);
		return;
	}
	client->exchange = exchange;
	exchange->raw = true;
	exchange->close_after = true;
	exchange->request.connect = true;
	/* Ends may vanish without a word only where a network lies between. */
	uv_tcp_keepalive(&client->stream.tcp, 1, KEEPALIVE_SECONDS);
	if (to->kind == FIXED_OPENER) {
		exchange->opener = to->opener;
		exchange->ask.client = client;
		exchange->ask.open = true;
		client_enter(client, CLIENT_ASK);
		to->opener.open(to->opener.context, &exchange->ask);
	} else if (name_destination(exchange, to)) {
		exchange_ask(client);
	} else {
		client_close(client, true);
	}
}

void proxy_opened(struct proxy_ask *ask, int fd)
{
	struct client *client = ask->client;
	struct stream *stream = fd < 0 ? NULL : dial_adopt(client->proxy, fd);

	ask->open = false;
	if (stream) {
		upstream_take(client, stream);
		client_enter(client, CLIENT_TUNNEL);
		client_pump(client);
		return;
	}
	proxy_log(client->proxy, "fail published port: %s",
		  fd < 0 ? uv_strerror(fd) : "out of memory");
	client_close(client, true);
}
