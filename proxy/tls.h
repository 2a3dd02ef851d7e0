/* SPDX-License-Identifier: Apache-2.0 */
/* What all terminated connections of a proxy share. */
#ifndef SRT_PROXY_TLS_H
#define SRT_PROXY_TLS_H

#include <bearssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "proxy/authority.h"
#include "proxy/proxy.h"
#include "proxy/trust.h"

enum {
	TLS_CACHE_BYTES = 65536, /* of sessions with clients, 100 bytes each */
	TLS_SESSIONS = 128,	 /* with servers */
	TLS_SESSION_MS = 3600000,
	TLS_TUNNELS = 256,
	TLS_HANDSHAKE_MS = 10000,
};

/**
 * struct tls_session - one to resume with a server
 * @host: owned; NULL where the place is free
 */
struct tls_session {
	char *host;
	uint64_t until;
	uint64_t used;
	uint16_t port;
	br_ssl_session_parameters parameters;
};

/**
 * struct tls - made with the first tunnel that is terminated
 * @count: of tunnels that are, or may become, terminated
 */
struct tls {
	struct proxy_tls with;
	unsigned int count;
	br_ssl_session_cache_lru cache;
	struct tls_session sessions[TLS_SESSIONS];
	unsigned char store[TLS_CACHE_BYTES];
};

/** tls_new() - owned by the caller; NULL without memory */
struct tls *tls_new(const struct proxy_tls *with);

/** tls_free() - wipes the sessions; NULL is fine */
void tls_free(struct tls *tls);

/** tls_session_find() - borrowed until the next call; NULL for none */
const br_ssl_session_parameters *tls_session_find(struct tls *tls,
						  const char *host,
						  uint16_t port, uint64_t now);

/** tls_session_keep() - of a verified handshake with @host */
void tls_session_keep(struct tls *tls, const char *host, uint16_t port,
		      uint64_t now,
		      const br_ssl_session_parameters *parameters);

#endif
