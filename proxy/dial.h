/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching a host: resolve, ask about its addresses, connect to one. */
#ifndef SRT_PROXY_DIAL_H
#define SRT_PROXY_DIAL_H

#include <stdint.h>

#include "proxy/proxy.h"
#include "proxy/stream.h"

struct dial;

/**
 * struct dial_result - how it went
 * @stream: connected, owned by the receiver; NULL on failure
 * @status, @code, @text: of a failure, for the client; borrowed
 * @error: of upstream-failure: what the system said last, negative
 */
struct dial_result {
	struct stream *stream;
	unsigned int status;
	int error;
	const char *code;
	const char *text;
};

typedef void (*dial_done)(void *owner, const struct dial_result *result);

/**
 * dial_new() - prepare to reach @host (canonical, copied) on @port
 * @done: called once, perhaps from within dial_start(); the dial is gone then
 * Return: the dial, or NULL without memory.
 */
struct dial *dial_new(struct proxy *proxy, const char *host, uint16_t port,
		      dial_done done, void *owner);

/**
 * dial_adopt() - a stream from a connected socket, as a dial would give
 * Return: owned by the caller, or NULL; @fd is taken over in any case.
 */
struct stream *dial_adopt(struct proxy *proxy, int fd);

/** via_copy() - owned, in one piece for free(); NULL without memory */
struct proxy_via *via_copy(const struct proxy_via *via);

/** via_same() - do both (each may be NULL) lead the same way? */
bool via_same(const struct proxy_via *a, const struct proxy_via *b);

/**
 * dial_via() - go by another proxy, which resolves the host
 * @via: copied
 * @tunnel: have it open a tunnel (CONNECT); else the stream leads to the proxy
 *	itself, for requests in absolute form
 *
 * The proxy's own addresses are not asked about, they are the user's choice;
 * of the destination, an address is, a name can't be.
 * Return: 0, or -ENOMEM.
 */
int dial_via(struct dial *dial, const struct proxy_via *via, bool tunnel);

/** dial_trust() - ask about no address: the destination is the user's own */
void dial_trust(struct dial *dial);

/**
 * dial_start() - go; every address is asked about before any is dialled
 *
 * The families take turns, and an address that does not answer within 250 ms
 * gets company (RFC 8305); who connects first wins.
 */
void dial_start(struct dial *dial);

/** dial_cancel() - give up; @done is not called; the dial is gone */
void dial_cancel(struct dial *dial);

#endif
