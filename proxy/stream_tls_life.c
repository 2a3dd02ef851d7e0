/* SPDX-License-Identifier: Apache-2.0 */
/* TLS streams: how they begin, what became of them, how they end. */
#include "proxy/internal.h"
#include "proxy/stream_private.h"
#include "proxy/stream_tls_private.h"

void stream_tls_drop_proof(struct stream_tls *tls)
{
	authority_leaf_put(tls->leaf);
	tls->leaf = NULL;
	verify_free(tls->verify);
	free(tls->verify);
	tls->verify = NULL;
}

bool stream_tls_ready(const struct stream *stream)
{
	return stream->tls->ready;
}

bool stream_tls_session(const struct stream *stream,
			br_ssl_session_parameters *out)
{
	const struct stream_tls *tls = stream->tls;

	if (!tls->ready || tls->failed)
		return false;
	br_ssl_engine_get_session_parameters(tls->engine, out);
	return out->session_id_len > 0;
}

const char *stream_tls_reason(const struct stream *stream)
{
	const struct stream_tls *tls = stream->tls;

	if (!tls || (!tls->failed && !tls->cut))
		return "";
	if (tls->distrust)
		return tls->distrust;
	if (tls->failed || (tls->cut && tls->auth.asked && !tls->ready))
		return tls_engine_error(tls->failed, tls->is_server,
					tls->auth.asked && !tls->ready);
	return tls->ready ? "ended the connection without TLS's close_notify"
			  : "ended the connection within the TLS handshake";
}

size_t stream_tls_held(const struct stream *stream)
{
	const struct stream_tls *tls = stream->tls;

	return tls ? sizeof(*tls) + tls->raw.capacity : 0;
}

void stream_tls_free(struct stream *stream)
{
	struct stream_tls *tls = stream->tls;

	if (!tls)
		return;
	stream->tls = NULL;
	stream_tls_drop_proof(tls);
	pbuf_free(&tls->raw);
	free(tls->distrust);
	/* Keys, and what came in plain. */
	explicit_bzero(tls, sizeof(*tls));
	free(tls);
}

/* The buffer's pages come when they are used. */
static struct stream_tls *new_tls(void)
{
	struct stream_tls *tls = malloc(sizeof(*tls));

	if (tls)
		memset(tls, 0, offsetof(struct stream_tls, buffer));
	return tls;
}

/* What had come belongs to TLS. */
static void attach(struct stream *stream, struct stream_tls *tls)
{
	struct proxy_text input = stream_input(stream);
	struct pbuf kept = stream->in;

	if (!kept.size)
		stream->fresh = (struct proxy_text){ NULL, 0 };
	stream->in = (struct pbuf){ 0 };
	stream->tls = tls;
	/* No engine has anything to show before its peer has heard of it. */
	stream_tls_feed(stream, input);
	pbuf_free(&kept);
	stream_account(stream);
}

int stream_tls_server(struct stream *stream, const struct authority_leaf *leaf,
		      br_ssl_session_cache_lru *cache)
{
	struct stream_tls *tls = new_tls();

	if (!tls) {
		authority_leaf_put(leaf);
		return -ENOMEM;
	}
	tls->leaf = leaf;
	tls->is_server = true;
	tls->engine = &tls->server.eng;
	tls_engine_server(&tls->server, leaf, cache);
	br_ssl_engine_set_buffer(tls->engine, tls->buffer, sizeof(tls->buffer),
				 1);
	br_ssl_server_reset(&tls->server);
	attach(stream, tls);
	return 0;
}

int stream_tls_client(struct stream *stream, const struct trust *trust,
		      const char *host, const br_ssl_session_parameters *resume)
{
	struct stream_tls *tls = new_tls();
	struct verify *verify = calloc(1, sizeof(*verify));
	unsigned char address[sizeof(struct in6_addr)];
	bool named = uv_inet_pton(AF_INET, host, address) != 0 &&
		     uv_inet_pton(AF_INET6, host, address) != 0;

	if (!tls || !verify) {
		free(tls);
		free(verify);
		return -ENOMEM;
	}
	verify_init(verify, trust, host);
	tls->verify = verify;
	tls->engine = &tls->client.eng;
	tls_engine_client(&tls->client, &verify->class, &tls->auth);
	br_ssl_engine_set_buffer(tls->engine, tls->buffer, sizeof(tls->buffer),
				 1);
	if (resume)
		br_ssl_engine_set_session_parameters(tls->engine, resume);
	/* RFC 6066 3: no addresses. The verifier knows whom it expects. */
	br_ssl_client_reset(&tls->client, named ? host : NULL, resume != NULL);
	attach(stream, tls);
	return 0;
}
