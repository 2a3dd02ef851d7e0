/* SPDX-License-Identifier: Apache-2.0 */
/* Clients handed to a proxy of the user's own, byte for byte, unasked. */
#include "proxy/internal.h"

static void on_dialled(void *owner, const struct dial_result *result)
{
	struct client *client = owner;
	struct exchange *exchange = client->exchange;

	exchange->dial = NULL;
	if (!result->stream) {
		proxy_log(client->proxy, "fail %s", result->text);
		client_close(client, true);
		return;
	}
	upstream_take(client, result->stream);
	client_enter(client, CLIENT_TUNNEL);
	client_pump(client);
}

void passage_begin(struct client *client, uint16_t port)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	struct dial *dial =
		dial_new(client->proxy, "127.0.0.1", port, on_dialled, client);

	client->exchange = exchange;
	if (!exchange || !dial) {
		if (dial)
			dial_cancel(dial);
		client_close(client, true);
		return;
	}
	http1_body_start(&exchange->body, HTTP1_NONE, 0);
	exchange->request.connect = true;
	exchange->dial = dial;
	client_enter(client, CLIENT_DIAL);
	dial_trust(dial);
	dial_start(dial);
}
