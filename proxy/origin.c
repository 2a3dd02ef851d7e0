/* SPDX-License-Identifier: Apache-2.0 */
/* Where the kernel has led a client away from: netfilter knows. */
#include <arpa/inet.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/in.h>

#include "proxy/internal.h"

/* As SO_ORIGINAL_DST; linux/netfilter_ipv6/ip6_tables.h clashes with libc. */
enum { IP6T_SO_ORIGINAL_DST_ = 80 };

bool redirected_from(int fd, struct sockaddr *out, socklen_t size)
{
	struct sockaddr_storage own = { 0 };
	socklen_t own_size = sizeof(own);
	bool v6;

	if (getsockname(fd, (struct sockaddr *)&own, &own_size))
		return false;
	v6 = own.ss_family == AF_INET6;
	return !getsockopt(fd, v6 ? SOL_IPV6 : SOL_IP,
			   v6 ? (int)IP6T_SO_ORIGINAL_DST_ : SO_ORIGINAL_DST,
			   out, &size);
}
