/* SPDX-License-Identifier: Apache-2.0 */
/* TLS peers for tests of the proxy: BearSSL on a socket that the test turns. */
#ifndef SRT_SPEC_TLS_PEER_H
#define SRT_SPEC_TLS_PEER_H

#include "proxy/authority.h"
#include "proxy/verify.h"
#include "proxy_fixture.h"

/**
 * struct peer - one side of a TLS connection, over @fd
 */
struct peer {
	struct fixture *f;
	int fd;
	br_ssl_engine_context *engine;
	union {
		br_ssl_server_context server;
		br_ssl_client_context client;
	};
	br_x509_minimal_context x509;
	struct verify verify;
	const struct authority_leaf *leaf;
	unsigned char buffer[BR_SSL_BUFSIZE_BIDI];
};

/** peer_client() - handshakes as the proxy's client may begin */
struct peer *peer_client(struct fixture *f, int fd, const struct trust *trust,
			 const char *name);

/** peer_server() - as an origin, with a leaf for @name */
struct peer *peer_server(struct fixture *f, int fd, struct authority *root,
			 const char *name);

/** peer_turn() - move bytes both ways once; false when nothing moved */
bool peer_turn(struct peer *peer);

/** peer_shake() - turn until the handshake is over */
void peer_shake(struct peer *peer);

/** peer_end() - send a close_notify */
void peer_end(struct peer *peer);

void peer_put(struct peer *peer, const char *data, size_t size);
void peer_puts(struct peer *peer, const char *text);

/** peer_read() - at least one byte, or 0 when the peer has ended or failed */
size_t peer_read(struct peer *peer, char *data, size_t size);
const char *peer_head(struct peer *peer);
void peer_want(struct peer *peer, const char *text);

/** peer_error() - BearSSL's last error, once it is closed */
int peer_error(struct peer *peer);

/** peer_free() - and close the socket, without a word */
void peer_free(struct peer *peer);

#endif
