/* SPDX-License-Identifier: Apache-2.0 */
/* The two ends of a client's connection, as the client has them. */
#include "proxy/internal.h"

bool proxy_ends(struct proxy_ask *ask, struct proxy_ends *out)
{
	struct client *client = ask->client;
	struct sockaddr *remote = (struct sockaddr *)&out->remote;
	socklen_t size = sizeof(out->local);
	uv_os_fd_t fd;

	*out = (struct proxy_ends){ .kept = &client->kept };
	if (uv_fileno((uv_handle_t *)&client->stream.tcp, &fd) ||
	    getpeername(fd, (struct sockaddr *)&out->local, &size))
		return false;
	/* Its own socket knows nothing of being redirected. */
	if (redirected_from(fd, remote, sizeof(out->remote)))
		return true;
	size = sizeof(out->remote);
	return !getsockname(fd, remote, &size);
}
