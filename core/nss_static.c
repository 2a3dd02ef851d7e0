/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getaddrinfo(3) of the program that libc is linked into, libuv's lookups too:
 * the linker is told to --wrap it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/nss.h"
#include "core/system.h"

int __wrap_getaddrinfo(const char *name, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out);
int __real_getaddrinfo(const char *name, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out);

/* The whole of a small text file; false where that can't be had. */
static bool read_text(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "re");
	size_t size;

	text[0] = '\0';
	if (!file)
		return errno == ENOENT;
	size = fread(text, 1, room, file);
	fclose(file);
	if (size == room)
		return false;
	text[size] = '\0';
	return strlen(text) == size;
}

int __wrap_getaddrinfo(const char *name, const char *service,
		       const struct addrinfo *hints, struct addrinfo **out)
{
	char conf[16384];

	if (!name || (!sys_missing("nss") &&
		      read_text("/etc/nsswitch.conf", conf, sizeof(conf)) &&
		      nss_is_built_in(conf, "hosts")))
		return __real_getaddrinfo(name, service, hints, out);
	return nss_getent(name, service, hints, out);
}
