/* SPDX-License-Identifier: Apache-2.0 */
/* Handshakes of TLS: with the client, and with the server. */
#include <stdio.h>

#include "proxy/internal.h"

void shake_fail(struct client *client, unsigned char alert, const char *cause)
{
	const char record[] = { 21, 3, 3, 0, 2, 2, (char)alert };
	struct exchange *exchange = client->exchange;

	if (client->inner)
		proxy_log(client->proxy, "fail %s (%s)", client->inner->origin,
			  cause);
	else
		proxy_log(client->proxy, "fail tunnel to %s:%u (%s)",
			  exchange->host, exchange->request.port, cause);
	stream_send(&client->stream,
		    (struct proxy_text){ record, sizeof(record) });
	client->exchange = NULL;
	exchange_free(exchange);
	client_enter(client, CLIENT_LINGER);
}

void shake_begin(struct client *client)
{
	const struct inner *inner = client->inner;
	struct tls *tls = client->proxy->tls;
	const char *name = inner->sni[0] ? inner->sni : inner->host;
	const char *why = "no certificate";
	const struct authority_leaf *leaf =
		authority_leaf(tls->with.authority, name, &why);

	if (!leaf) {
		shake_fail(client, BR_ALERT_INTERNAL_ERROR, why);
		return;
	}
	client_enter(client, CLIENT_SHAKE);
	if (stream_tls_server(&client->stream, leaf, &tls->cache))
		client_close(client, true);
}

bool shake_step(struct client *client)
{
	struct stream *stream = &client->stream;

	if (stream_error(stream) || stream->eof) {
		/* Who only hangs up has refused nothing. */
		if (stream_error(stream) && stream_tls_reason(stream)[0])
			proxy_refused(client, "tls-client",
				      stream_tls_reason(stream));
		proxy_log(client->proxy, "fail %s (the client %s)",
			  client->inner->origin,
			  stream_tls_reason(stream)[0]
				  ? stream_tls_reason(stream)
				  : "reset the connection");
		client_close(client, false);
		return false;
	}
	if (!stream_tls_ready(stream))
		return false;
	client_enter(client, CLIENT_HEAD);
	return true;
}

void shake_expire(struct client *client)
{
	proxy_log(client->proxy,
		  "fail %s (the client did not finish the TLS handshake in "
		  "time)",
		  client->inner->origin);
	client_close(client, true);
}

void shake_up_begin(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct tls *tls = client->proxy->tls;
	const br_ssl_session_parameters *session =
		tls_session_find(tls, exchange->host, exchange->request.port,
				 uv_now(client->proxy->loop));

	client_enter(client, CLIENT_SHAKE_UP);
	if (stream_tls_client(exchange->up, tls->with.trust, exchange->host,
			      session))
		client_close(client, true);
}

bool shake_up_step(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct stream *up = exchange->up;
	struct proxy *proxy = client->proxy;
	br_ssl_session_parameters session;

	if (stream_error(up) || up->eof) {
		const char *reason = stream_tls_reason(up);

		if (stream_error(up) && reason[0])
			proxy_refused(client, "tls-server", reason);
		forward_fail(client, 502,
			     reason[0] ? reason
				       : "reset the connection within the TLS "
					 "handshake");
		return true;
	}
	if (!stream_tls_ready(up))
		return false;
	if (stream_tls_session(up, &session))
		tls_session_keep(proxy->tls, exchange->host,
				 exchange->request.port, uv_now(proxy->loop),
				 &session);
	explicit_bzero(&session, sizeof(session));
	upstream_begin(client);
	return true;
}

void shake_up_expire(struct client *client)
{
	forward_fail(client, 504, "did not finish the TLS handshake in time");
}
