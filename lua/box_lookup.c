/* SPDX-License-Identifier: Apache-2.0 */
/* Looks names up in a thread of libuv, which can't always be called back. */
#include "lua/box_lookup.h"

#include <stdlib.h>

#include "proxy/lookup.h"

struct lookup {
	uv_getaddrinfo_t request;
	void (*done)(void *owner, int status, const struct addrinfo *found);
	void *owner; /* NULL once dropped */
};

static void on_found(uv_getaddrinfo_t *request, int status,
		     struct addrinfo *found)
{
	struct lookup *lookup = request->data;

	if (lookup->owner)
		lookup->done(lookup->owner, status, found);
	uv_freeaddrinfo(found);
	free(lookup);
}

int lookup_start(struct lookup **out, uv_loop_t *loop, const char *name,
		 void (*done)(void *owner, int status,
			      const struct addrinfo *found),
		 void *owner)
{
	struct lookup *lookup = calloc(1, sizeof(*lookup));
	int error;

	if (!lookup)
		return UV_ENOMEM;
	lookup->request.data = lookup;
	lookup->done = done;
	lookup->owner = owner;
	error = proxy_lookup(loop, &lookup->request, on_found, name);
	if (error) {
		free(lookup);
		return error;
	}
	*out = lookup;
	return 0;
}

void lookup_drop(struct lookup *lookup)
{
	lookup->owner = NULL;
	(void)uv_cancel((uv_req_t *)&lookup->request);
}
