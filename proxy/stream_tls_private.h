/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of TLS streams share. */
#ifndef SRT_PROXY_STREAM_TLS_PRIVATE_H
#define SRT_PROXY_STREAM_TLS_PRIVATE_H

#include "proxy/stream_tls.h"
#include "proxy/tls_engine.h"
#include "proxy/verify.h"

/**
 * struct stream_tls - of one stream; the contexts point into it: never moved
 * @engine: that of @server or @client
 * @leaf: of a server, a reference
 * @verify: of a client, owned, until the handshake is over
 * @distrust: why @verify refused; owned
 * @raw: records that the engine can't take before its own are written
 * @failed: BR_ERR_* of the engine; @cut: the peer left without a close_notify
 * @closed: our close_notify was asked for
 */
struct stream_tls {
	br_ssl_engine_context *engine;
	union {
		br_ssl_server_context server;
		br_ssl_client_context client;
	};
	const struct authority_leaf *leaf;
	struct verify *verify;
	struct tls_auth auth;
	struct pbuf raw;
	char *distrust;
	int failed;
	bool is_server;
	bool ready;
	bool closed;
	bool cut;
	unsigned char buffer[BR_SSL_BUFSIZE_BIDI];
};

/** stream_tls_feed() - give records to the engine; shows what they hold */
void stream_tls_feed(struct stream *stream, struct proxy_text data);

/** stream_tls_drop_proof() - what only a handshake needs */
void stream_tls_drop_proof(struct stream_tls *tls);

#endif
