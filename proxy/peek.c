/* SPDX-License-Identifier: Apache-2.0 */
/* Tunnels that are not to stay unread: who speaks first, and what. */
#include "proxy/hello.h"
#include "proxy/internal.h"

/* A client that keeps silent may wait for a server that is not dialled yet. */
enum { QUIET_MS = 500 };

void peek_begin(struct client *client)
{
	struct exchange *exchange = client->exchange;

	exchange->granted = true;
	if (!exchange->tunnel) {
		exchange->tunnel = true;
		client->proxy->tunnel_count++;
	}
	client_enter(client, CLIENT_PEEK);
}

uint64_t peek_deadline(const struct client *client)
{
	const struct exchange *exchange = client->exchange;
	const struct proxy *proxy = client->proxy;

	if (!exchange->up)
		return client->since + QUIET_MS;
	/* Nothing but HTTP is looked for: anything may take its time. */
	if (!exchange->terminate)
		return client->stream.touched + proxy->limits.idle_ms;
	return client->since + proxy->tls->with.handshake_ms;
}

static void refuse(struct client *client, const char *cause)
{
	const struct exchange *exchange = client->exchange;

	proxy_log(client->proxy, "refuse tunnel to %s:%u (%s)", exchange->host,
		  exchange->request.port, cause);
	client_close(client, true);
}

void peek_expire(struct client *client)
{
	const struct exchange *exchange = client->exchange;

	if (!exchange->up)
		upstream_dial(client);
	else
		refuse(client, exchange->terminate
				       ? "the client began no TLS in time"
				       : "nothing moved");
}

/* Bytes both ways, unread, where the policy lets that be. */
static bool stay_opaque(struct client *client)
{
	struct exchange *exchange = client->exchange;

	if (exchange->refuse_opaque) {
		proxy_refused(client, "tunnel", "it is neither TLS nor HTTP");
		refuse(client, "neither TLS nor HTTP; "
			       "network.refuseOpaqueTunnels");
		return false;
	}
	if (!exchange->up) {
		upstream_dial(client);
		return true;
	}
	if (exchange->terminated) {
		exchange->terminated = false;
		client->proxy->tls->count--;
	}
	exchange_forget(exchange);
	client_enter(client, CLIENT_TUNNEL);
	return true;
}

/* One that waits for its client would not: it speaks HTTP or TLS after all. */
static bool server_first(struct client *client, struct proxy_text input)
{
	const struct exchange *exchange = client->exchange;
	static const char http[] = "HTTP/";
	size_t size =
		input.size < sizeof(http) - 1 ? input.size : sizeof(http) - 1;

	if ((exchange->inspect && memcmp(input.data, http, size) == 0) ||
	    (exchange->terminate &&
	     (input.data[0] == 21 || input.data[0] == 22))) {
		refuse(client, "the server answered before it was asked");
		return false;
	}
	return stay_opaque(client);
}

static bool client_first(struct client *client, struct proxy_text input)
{
	const struct exchange *exchange = client->exchange;
	struct hello hello;

	switch (hello_read(&hello, input.data, input.size)) {
	case HELLO_MORE:
		if (!client->stream.eof && input.size < PROXY_AHEAD)
			return false;
		refuse(client, "its first message is cut off or too long");
		return false;
	case HELLO_BAD:
		if (!exchange->terminate)
			return stay_opaque(client);
		shake_fail(client, BR_ALERT_DECODE_ERROR, hello.reason);
		return true;
	case HELLO_TLS:
		if (!exchange->terminate)
			return stay_opaque(client);
		if (hello.newer) {
			shake_fail(client, BR_ALERT_PROTOCOL_VERSION,
				   "the client offers no TLS 1.2, and "
				   "termination speaks nothing newer; name the "
				   "host in "
				   "network.tlsTerminate.excludeDomains");
			return true;
		}
		inner_begin(client, hello.name);
		return true;
	case HELLO_HTTP:
		if (!exchange->inspect)
			return stay_opaque(client);
		inner_begin(client, NULL);
		return true;
	case HELLO_OTHER:
		break;
	}
	return stay_opaque(client);
}

bool peek_step(struct client *client)
{
	struct stream *up = client->exchange->up;
	struct proxy_text input = stream_input(&client->stream);

	if (up && stream_error(up)) {
		client_close(client, true);
		return false;
	}
	if (up && stream_input(up).size)
		return server_first(client, stream_input(up));
	if (up && up->eof)
		return stay_opaque(client);
	/* What comes next may be encrypted, this answer must not be. */
	if (stream_pending(&client->stream))
		return false;
	if (input.size)
		return client_first(client, input);
	return client->stream.eof && stay_opaque(client);
}
