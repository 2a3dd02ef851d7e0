/* SPDX-License-Identifier: Apache-2.0 */
/* No client is led here: each one has asked for the proxy. */
#include "proxy/internal.h"

bool redirected_from(int fd, struct sockaddr *out, socklen_t size)
{
	(void)fd;
	(void)out;
	(void)size;
	return false;
}
