/* SPDX-License-Identifier: Apache-2.0 */
/* The system's resolver, asked in a thread of libuv's. */
#ifndef SRT_PROXY_LOOKUP_H
#define SRT_PROXY_LOOKUP_H

#include <uv.h>

/**
 * proxy_lookup() - uv_getaddrinfo() of a host, for connections
 *
 * The threads, which the first question starts, have all signals blocked: what
 * comes for the process is its first thread's, whatever that has open just
 * then.
 * @request: of the caller, who keeps it until @done
 * Return: 0 or a negative error of libuv.
 */
int proxy_lookup(uv_loop_t *loop, uv_getaddrinfo_t *request,
		 uv_getaddrinfo_cb done, const char *host);

#endif
