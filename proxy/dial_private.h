/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that dial share. */
#ifndef SRT_PROXY_DIAL_PRIVATE_H
#define SRT_PROXY_DIAL_PRIVATE_H

#include <arpa/inet.h>

#include "proxy/dial.h"
#include "proxy/internal.h"

enum {
	DIAL_ADDRESSES = 16,	 /* of one name; more are not tried */
	DIAL_STAGGER_MS = 250,	 /* RFC 8305 8: Connection Attempt Delay */
	DIAL_UNIX_RETRY_MS = 20, /* where a Unix socket's backlog is full */
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/** struct attempt - a stream that is connecting, and to where; borrowed */
struct attempt {
	struct stream *stream;
	const union address *address;
};

/**
 * struct dial - @parts counts what still has a callback to come: the timer,
 * and the name lookup, which may outlast a cancelled dial
 * @via: owned copy, its texts behind it; NULL: to the host itself
 * @attempts: under way, @racing of them
 * @parent: connected to @via, which was asked for a tunnel
 * @error, @failed: the failure to tell about, and of which address
 * @refused: why check_address said no
 */
struct dial {
	struct proxy *proxy;
	dial_done done;
	void *owner;
	struct proxy_via *via;
	bool tunnel;
	bool trusted;
	bool over;
	bool looking;
	uv_timer_t timer;
	uv_getaddrinfo_t lookup;
	uint64_t deadline;
	unsigned int parts;
	int error;
	struct stream *parent;
	struct http1_scan scan;
	unsigned int interim;
	struct attempt attempts[DIAL_ADDRESSES];
	size_t racing;
	size_t count;
	size_t next;
	uint16_t port;
	union address addresses[DIAL_ADDRESSES];
	char failed[INET6_ADDRSTRLEN];
	char refused[256];
	char host[];
};

/* dial.c */

void dial_finish(struct dial *dial, const struct dial_result *result);

/** dial_fail() - "@what HOST:PORT: @cause"; @error: negative, or 0 */
void dial_fail(struct dial *dial, unsigned int status, int error,
	       const char *what, const char *cause);

/** dial_no_room() - are descriptors what is missing? */
static inline bool dial_no_room(int error)
{
	return error == UV_EMFILE || error == UV_ENFILE;
}

/** dial_status() - of a failure to connect */
unsigned int dial_status(int error);

/** dial_left() - ms until the deadline, 1 at least */
uint64_t dial_left(const struct dial *dial);

/** dial_stream() - an unconnected stream whose owner is @dial, or NULL */
struct stream *dial_stream(struct dial *dial);

/** dial_connected() - a stream to the host, or to the parent, is there */
void dial_connected(struct dial *dial, struct stream *stream);

/* dial_race.c: the addresses, all of them allowed */

void race_start(struct dial *dial);
void race_drop(struct dial *dial);

/* dial_via.c: parents */

/** via_connect_unix() - reach @via at its Unix socket */
void via_connect_unix(struct dial *dial);

/** via_open_tunnel() - ask the parent on @stream for the destination */
void via_open_tunnel(struct dial *dial, struct stream *stream);

#endif
