/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that speak SOCKS: from the first byte to the question, and replies.
 */
#include <stdio.h>

#include "proxy/internal.h"
#include "proxy/socks.h"
#include "proxy/ssh.h"

bool socks_begin(struct client *client)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	if (exchange)
		exchange->socks = calloc(1, sizeof(*exchange->socks));
	client->exchange = exchange;
	if (!exchange || !exchange->socks) {
		client_close(client, false);
		return false;
	}
	exchange->socks->login = proxy_wants(client->proxy);
	client_enter(client, CLIENT_SOCKS);
	return true;
}

/* As CONNECT spells it. */
static bool make_target(struct exchange *exchange)
{
	const struct socks *socks = exchange->socks;
	bool v6 = strchr(socks->host, ':') != NULL;

	return asprintf(&exchange->head, "%s%s%s:%u", v6 ? "[" : "",
			socks->host, v6 ? "]" : "", socks->port) >= 0;
}

static void ask_for(struct client *client)
{
	struct exchange *exchange = client->exchange;
	const struct socks *socks = exchange->socks;

	if (!make_target(exchange)) {
		exchange->head = NULL;
		client_close(client, false);
		return;
	}
	exchange->socks_version = socks->version;
	exchange->request = (struct http1_request){
		.method = proxy_text_of(socks->version == 4 ? "SOCKS4"
							    : "SOCKS5"),
		.target = proxy_text_of(exchange->head),
		.host = proxy_text_of(socks->host),
		.port = socks->port,
		.connect = true,
	};
	http1_body_start(&exchange->body, HTTP1_NONE, 0);
	exchange_ask(client);
}

bool socks_step(struct client *client)
{
	struct socks *socks = client->exchange->socks;
	struct stream *stream = &client->stream;
	struct proxy_text input = stream_input(stream);
	enum socks_step step;
	size_t used;

	step = socks_next(socks, input.data, input.size, &used);
	stream_consume(stream, used);
	pbuf_add(&stream->out, (const char *)socks->answer, socks->answer_size);
	if (step == SOCKS_REQUEST) {
		ask_for(client);
	} else if (step == SOCKS_BAD) {
		proxy_log(client->proxy, "refuse SOCKS%u (%s)", socks->version,
			  socks->reason);
		client_cut(client);
	} else if (step == SOCKS_MORE) {
		if (stream->eof)
			client_cut(client);
		return stream->eof;
	}
	return true;
}

void socks_granted(struct client *client)
{
	unsigned char reply[SOCKS_REPLY_MAX];
	size_t size = socks_reply(client->exchange->socks_version,
				  SOCKS_GRANTED, reply);

	pbuf_add(&client->stream.out, (const char *)reply, size);
}

static enum socks_code code_of_error(int error)
{
	switch (error) {
	case UV_ECONNREFUSED:
		return SOCKS_REFUSED;
	case UV_ENETUNREACH:
		return SOCKS_NETWORK_UNREACHABLE;
	default:
		return SOCKS_HOST_UNREACHABLE;
	}
}

/* A failure of ours, of the way there, or a denial by the policy. */
static enum socks_code code_of(const struct reply *reply)
{
	if (!reply->code)
		return SOCKS_DENIED;
	if (!strcmp(reply->code, "upstream-failure"))
		return code_of_error(reply->error);
	if (!strcmp(reply->code, "bad-verdict") ||
	    !strcmp(reply->code, "internal-error") ||
	    !strcmp(reply->code, "too-many-tunnels"))
		return SOCKS_FAILURE;
	return SOCKS_DENIED;
}

bool reply_is_denial(const struct reply *reply)
{
	return code_of(reply) == SOCKS_DENIED;
}

void socks_answer(struct client *client, const struct reply *reply)
{
	struct exchange *exchange = client->exchange;
	struct pbuf *out = &client->stream.out;
	enum socks_code code = code_of(reply);
	unsigned char bytes[SOCKS_REPLY_MAX];

	/* Where nobody shows a SOCKS code, an SSH client can be told why. */
	if (code == SOCKS_DENIED && exchange->request.port == SSH_PORT) {
		socks_granted(client);
		ssh_refuse(out, reply->reason ? reply->reason : "denied");
	} else {
		pbuf_add(out, (const char *)bytes,
			 socks_reply(exchange->socks_version, code, bytes));
	}
	exchange->close_after = true;
	client_next(client);
}
