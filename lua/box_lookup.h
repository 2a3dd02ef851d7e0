/* SPDX-License-Identifier: Apache-2.0 */
/* A name lookup that its owner may drop. */
#ifndef SRT_LUA_BOX_LOOKUP_H
#define SRT_LUA_BOX_LOOKUP_H

#include <uv.h>

struct lookup;

/**
 * lookup_start - resolve a name as the proxy does
 * @out: valid until @done is called or lookup_drop()
 * @done: from the loop; @status is 0 or a code of libuv, @found is freed
 *	afterwards
 *
 * Return: 0 or a code of libuv.
 */
int lookup_start(struct lookup **out, uv_loop_t *loop, const char *name,
		 void (*done)(void *owner, int status,
			      const struct addrinfo *found),
		 void *owner);

/** lookup_drop - no longer of interest; what libuv still holds frees itself */
void lookup_drop(struct lookup *lookup);

#endif
