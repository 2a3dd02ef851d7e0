/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream connections that wait for their next request. */
#ifndef SRT_PROXY_POOL_H
#define SRT_PROXY_POOL_H

#include <stdint.h>
#include <sys/queue.h>

#include "proxy/stream.h"

struct idle;
struct proxy_via;

/* What a connection speaks; those of different kinds are never mixed up. */
enum pool_kind {
	POOL_TLS = 1,	    /* it is a TLS session with the host */
	POOL_TO_PARENT = 2, /* it leads to the parent proxy, not to the host */
};

/**
 * struct pool - idle connections, the latest used first
 * @timer: goes off when the one that waits longest has waited enough
 *
 * A connection stays at the address that the policy let pass for its host and
 * port, and is only ever used for these, so nothing is to be asked again. One
 * to a parent proxy serves only what leaves by that parent, for the same host
 * and port.
 */
struct pool {
	TAILQ_HEAD(idle_list, idle) idle;
	uv_timer_t timer;
	unsigned int count;
};

/** pool_init() - an empty one; its timer holds the proxy until pool_close() */
void pool_init(struct proxy *proxy);

/**
 * pool_park() - keep @stream for @host (canonical) and @port, or close it
 * @via: the proxy it leads to, or by; copied; NULL: to the host itself
 * @kind: of enum pool_kind
 * @stream: owned; nothing may be under way on it in either direction
 */
void pool_park(struct proxy *proxy, const char *host, uint16_t port,
	       const struct proxy_via *via, unsigned int kind,
	       struct stream *stream);

/**
 * pool_take() - a connection to @host and @port by @via, alive just now
 * Return: owned by the caller, who sets its owner and wake; NULL for none.
 */
struct stream *pool_take(struct proxy *proxy, const char *host, uint16_t port,
			 const struct proxy_via *via, unsigned int kind);

/** pool_has() - is one there, as far as is known? */
bool pool_has(const struct proxy *proxy, const char *host, uint16_t port,
	      const struct proxy_via *via, unsigned int kind);

/** pool_shed() - close all to free descriptors; false when there were none */
bool pool_shed(struct proxy *proxy);

/** pool_close() - close all */
void pool_close(struct proxy *proxy);

#endif
