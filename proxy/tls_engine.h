/* SPDX-License-Identifier: Apache-2.0 */
/* BearSSL engines as both sides of the proxy want them. */
#ifndef SRT_PROXY_TLS_ENGINE_H
#define SRT_PROXY_TLS_ENGINE_H

#include <bearssl.h>
#include <stdbool.h>

#include "proxy/authority.h"

/**
 * struct tls_auth - answers a server that asks for a client certificate
 * @vtable: first, as BearSSL wants it
 * @asked: the server did; it got none
 */
struct tls_auth {
	const br_ssl_client_certificate_class *vtable;
	bool asked;
};

/** tls_engine_server() - set up to show @leaf; buffers and reset come next */
void tls_engine_server(br_ssl_server_context *server,
		       const struct authority_leaf *leaf,
		       br_ssl_session_cache_lru *cache);

/** tls_engine_client() - set up to verify by @x509; buffers and reset as above
 */
void tls_engine_client(br_ssl_client_context *client,
		       const br_x509_class **x509, struct tls_auth *auth);

/**
 * tls_engine_error() - what an error of an engine means, as "HOST ..." goes on
 * @server: of the engine that talks to a client
 * @asked: a client certificate was asked for
 */
const char *tls_engine_error(int error, bool server, bool asked);

/** tls_engine_alert() - what to tell a peer that gets no alert from BearSSL */
unsigned char tls_engine_alert(int error);

#endif
