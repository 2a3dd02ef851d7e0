/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving a host, asking about its addresses, connecting to one. */
#ifndef SRT_PROXY_DIAL_H
#define SRT_PROXY_DIAL_H

#include <stdint.h>

#include "proxy/stream.h"

struct dial;

/**
 * struct dial_result - how it went
 * @stream: connected, owned by the receiver; NULL on failure
 * @status, @code, @text: of a failure, for the client; borrowed
 */
struct dial_result {
	struct stream *stream;
	unsigned int status;
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

/** dial_start() - go; every address is asked about before it is dialled */
void dial_start(struct dial *dial);

/** dial_cancel() - give up; @done is not called; the dial is gone */
void dial_cancel(struct dial *dial);

#endif
