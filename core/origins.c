/* SPDX-License-Identifier: Apache-2.0 */
/* Where connections were on their way to that the agent made to the proxy. */
#include "core/origins.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW };
enum { PORTS = 65536, V4_AT = 12 /* within a mapped address */ };

/* @there: written last, read first */
struct origin {
	uint8_t address[16];
	uint16_t port;
	uint8_t there;
};

struct origins {
	struct origin v4[PORTS];
	struct origin v6[PORTS];
};

struct origins *origins_new(void)
{
	struct origins *origins =
		mmap(NULL, sizeof(*origins), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return origins == MAP_FAILED ? NULL : origins;
}

static struct origins *map(int fd)
{
	struct origins *origins =
		mmap(NULL, sizeof(*origins), PROT_READ | PROT_WRITE, MAP_SHARED,
		     fd, 0);

	return origins == MAP_FAILED ? NULL : origins;
}

struct origins *origins_shared(int *fd)
{
	struct origins *origins = NULL;

	*fd = memfd_create("srt-lua", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	/* Nobody who has it can have others read beyond its end. */
	if (*fd >= 0 && ftruncate(*fd, sizeof(*origins)) == 0 &&
	    fcntl(*fd, F_ADD_SEALS, SEALS) == 0)
		origins = map(*fd);
	if (!origins && *fd >= 0) {
		close(*fd);
		*fd = -1;
	}
	return origins;
}

struct origins *origins_map(int fd)
{
	struct stat st;

	if (fcntl(fd, F_GET_SEALS) != SEALS || fstat(fd, &st) ||
	    st.st_size != sizeof(struct origins))
		return NULL;
	return map(fd);
}

void origins_free(struct origins *origins)
{
	if (origins)
		(void)munmap(origins, sizeof(*origins));
}

static uint16_t port_of(const struct sockaddr *name)
{
	/* The two families keep it at the same place. */
	return ((const struct sockaddr_in *)name)->sin_port;
}

bool origins_put(struct origins *origins, const struct sockaddr *local,
		 const struct sockaddr *to)
{
	const struct in6_addr *v6 =
		&((const struct sockaddr_in6 *)to)->sin6_addr;
	uint16_t at = ntohs(port_of(local));
	struct origin *origin;

	if (to->sa_family != AF_INET && to->sa_family != AF_INET6)
		return false;
	origin = to->sa_family == AF_INET || IN6_IS_ADDR_V4MAPPED(v6)
			 ? &origins->v4[at]
			 : &origins->v6[at];
	__atomic_store_n(&origin->there, 0, __ATOMIC_RELEASE);
	if (to->sa_family == AF_INET)
		memcpy(origin->address,
		       &((const struct sockaddr_in *)to)->sin_addr, 4);
	else if (IN6_IS_ADDR_V4MAPPED(v6))
		memcpy(origin->address, v6->s6_addr + V4_AT, 4);
	else
		memcpy(origin->address, v6, sizeof(*v6));
	origin->port = port_of(to);
	__atomic_store_n(&origin->there, 1, __ATOMIC_RELEASE);
	return true;
}

bool origins_take(struct origins *origins, const struct sockaddr *peer,
		  struct sockaddr_storage *to)
{
	bool is_v4 = peer->sa_family == AF_INET;
	uint16_t at = ntohs(port_of(peer));
	struct origin *origin = is_v4 ? &origins->v4[at] : &origins->v6[at];
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;

	if (!__atomic_exchange_n(&origin->there, 0, __ATOMIC_ACQ_REL))
		return false;
	memset(to, 0, sizeof(*to));
	to->ss_family = peer->sa_family;
	v4->sin_port = origin->port;
	if (is_v4)
		memcpy(&v4->sin_addr, origin->address, sizeof(v4->sin_addr));
	else
		memcpy(&v6->sin6_addr, origin->address, sizeof(v6->sin6_addr));
	return true;
}
