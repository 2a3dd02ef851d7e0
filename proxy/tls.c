/* SPDX-License-Identifier: Apache-2.0 */
/* What all terminated connections of a proxy share. */
#include "proxy/tls.h"

#include <stdlib.h>
#include <string.h>

struct tls *tls_new(const struct proxy_tls *with)
{
	struct tls *tls = malloc(sizeof(*tls));

	if (!tls)
		return NULL;
	/* The store's pages come when they are used. */
	memset(tls, 0, offsetof(struct tls, store));
	tls->with = *with;
	if (!with->tunnels)
		tls->with.tunnels = TLS_TUNNELS;
	if (!with->handshake_ms)
		tls->with.handshake_ms = TLS_HANDSHAKE_MS;
	br_ssl_session_cache_lru_init(&tls->cache, tls->store,
				      sizeof(tls->store));
	return tls;
}

static void forget(struct tls_session *session)
{
	free(session->host);
	explicit_bzero(session, sizeof(*session));
}

void tls_free(struct tls *tls)
{
	if (!tls)
		return;
	for (size_t i = 0; i < TLS_SESSIONS; i++)
		forget(&tls->sessions[i]);
	explicit_bzero(tls, sizeof(*tls));
	free(tls);
}

static struct tls_session *find(struct tls *tls, const char *host,
				uint16_t port)
{
	for (size_t i = 0; i < TLS_SESSIONS; i++) {
		struct tls_session *session = &tls->sessions[i];

		if (session->host && session->port == port &&
		    strcmp(session->host, host) == 0)
			return session;
	}
	return NULL;
}

const br_ssl_session_parameters *
tls_session_find(struct tls *tls, const char *host, uint16_t port, uint64_t now)
{
	struct tls_session *session = find(tls, host, port);

	if (!session)
		return NULL;
	if (session->until <= now) {
		forget(session);
		return NULL;
	}
	session->used = now;
	return &session->parameters;
}

/* A free place, or the one that was not used for longest. */
static struct tls_session *make_room(struct tls *tls)
{
	struct tls_session *oldest = &tls->sessions[0];

	for (size_t i = 0; i < TLS_SESSIONS; i++) {
		struct tls_session *session = &tls->sessions[i];

		if (!session->host)
			return session;
		if (session->used < oldest->used)
			oldest = session;
	}
	forget(oldest);
	return oldest;
}

void tls_session_keep(struct tls *tls, const char *host, uint16_t port,
		      uint64_t now, const br_ssl_session_parameters *parameters)
{
	struct tls_session *session = find(tls, host, port);

	if (!session) {
		char *name = strdup(host);

		if (!name)
			return;
		session = make_room(tls);
		session->host = name;
		session->port = port;
		session->until = now + TLS_SESSION_MS;
	} else if (memcmp(session->parameters.session_id,
			  parameters->session_id,
			  sizeof(parameters->session_id)) != 0) {
		/* A resumed one does not become younger. */
		session->until = now + TLS_SESSION_MS;
	}
	session->used = now;
	session->parameters = *parameters;
}
