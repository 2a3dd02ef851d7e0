/* SPDX-License-Identifier: Apache-2.0 */
/* The system's resolver, asked in a thread of libuv's. */
#include "proxy/lookup.h"

#include <signal.h>
#include <sys/socket.h>

int proxy_lookup(uv_loop_t *loop, uv_getaddrinfo_t *request,
		 uv_getaddrinfo_cb done, const char *host)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = uv_getaddrinfo(loop, request, done, host, NULL, &hints);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}
