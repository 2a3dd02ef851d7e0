/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.2 inside a stream: records outside, plain bytes for its owner. */
#ifndef SRT_PROXY_STREAM_TLS_H
#define SRT_PROXY_STREAM_TLS_H

#include <bearssl.h>

#include "proxy/authority.h"
#include "proxy/stream.h"
#include "proxy/trust.h"

/*
 * Once attached, stream_input() gives what was decrypted, stream_send() and
 * @out take what is to be encrypted, and wait for the handshake. The owner is
 * woken when the handshake is over. The end of the peer is its close_notify; a
 * bare FIN is a read_error, so nothing that ends with a connection is cut
 * unnoticed. stream_end() sends a close_notify. BearSSL then drops what still
 * comes: there are no half-closed streams here.
 *
 * TLS 1.2, ECDHE with AES-GCM or ChaCha20, SHA-2 signatures, ALPN http/1.1;
 * renegotiation is refused. BR_SSL_BUFSIZE_BIDI of buffers, and 4 KiB beside.
 */

/**
 * stream_tls_server() - be the server; input that is there belongs to it
 * @leaf: what to show; its reference is taken over, also on failure
 * @cache: of sessions, shared; borrowed
 * Return: 0, or -ENOMEM with nothing changed.
 */
int stream_tls_server(struct stream *stream, const struct authority_leaf *leaf,
		      br_ssl_session_cache_lru *cache);

/**
 * stream_tls_client() - be the client, of a server that must prove to be @host
 * @trust: roots; borrowed until the handshake is over
 * @resume: a session to go on with; NULL or an id of size 0 for none
 * Return: 0, or -ENOMEM with nothing changed.
 */
int stream_tls_client(struct stream *stream, const struct trust *trust,
		      const char *host,
		      const br_ssl_session_parameters *resume);

/** stream_tls_ready() - is the handshake over? */
bool stream_tls_ready(const struct stream *stream);

/** stream_tls_session() - what to resume later; false where that can't be */
bool stream_tls_session(const struct stream *stream,
			br_ssl_session_parameters *out);

/**
 * stream_tls_reason() - why TLS failed, as "HOST ..." goes on; "" where it
 * didn't. Printable text; borrowed from the stream.
 */
const char *stream_tls_reason(const struct stream *stream);

/* For stream.c */

/** stream_tls_read() - records have come; may wake the owner several times */
void stream_tls_read(struct stream *stream, struct proxy_text data);

/** stream_tls_cut() - the peer has ended its TCP side */
void stream_tls_cut(struct stream *stream);

/** stream_tls_send() - encrypt and write; how much was taken */
size_t stream_tls_send(struct stream *stream, struct proxy_text data);

/** stream_tls_flush() - encrypt and write @out, then the close_notify */
void stream_tls_flush(struct stream *stream);

size_t stream_tls_held(const struct stream *stream);
void stream_tls_free(struct stream *stream);

#endif
