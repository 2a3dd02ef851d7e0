/* SPDX-License-Identifier: Apache-2.0 */
/* The host's name services, for a program that libc is linked into. */
#include "core/nss.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/capture.h"
#include "core/system.h"

#define TIMEOUT_MS 60000
#define ROOM 65536

/* Between services may stand what to do next: "[NOTFOUND=return]". */
static bool all_built_in(char *services)
{
	char *rest = NULL;

	for (char *word = strtok_r(services, " \t", &rest); word;
	     word = strtok_r(NULL, " \t", &rest)) {
		if (*word == '[') {
			while (word && !strchr(word, ']'))
				word = strtok_r(NULL, " \t", &rest);
			if (!word)
				return false;
		} else if (strcmp(word, "files") && strcmp(word, "dns")) {
			return false;
		}
	}
	return true;
}

bool nss_is_built_in(const char *conf, const char *database)
{
	size_t length = strlen(database);
	char line[1024];

	for (; *conf; conf += strcspn(conf, "\n"), conf += *conf == '\n') {
		const char *at = conf + strspn(conf, " \t");
		size_t size = strcspn(at, "#\n");

		if (strncmp(at, database, length) || at[length] != ':')
			continue;
		if (size >= sizeof(line))
			return false;
		memcpy(line, at, size);
		line[size] = '\0';
		return all_built_in(line + length + 1);
	}
	/* What libc does without a line: "dns [!UNAVAIL=return] files". */
	return true;
}

/* Asks a database by getent(1). Return: 0; -ECANCELED for "not there". */
static int ask(const char *database, const char *key, char *out, size_t room)
{
	/* No PATH: what is asked decides what may be connected to. */
	static const char *const programs[] = { "/usr/bin/getent",
						"/bin/getent" };
	struct failure failure;
	int error = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		char *const argv[] = { (char *)(uintptr_t)programs[i],
				       (char *)(uintptr_t)database,
				       (char *)"--", (char *)(uintptr_t)key,
				       NULL };
		size_t size = room - 1;

		if (access(programs[i], X_OK))
			continue;
		error = capture_run(argv, TIMEOUT_MS, out, &size, &failure);
		out[size] = '\0';
		break;
	}
	return error;
}

static bool read_address(const char *text, uint16_t port,
			 struct sockaddr_storage *address, socklen_t *size)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
	char plain[INET6_ADDRSTRLEN + 64];

	memset(address, 0, sizeof(*address));
	*size = sizeof(*v4);
	v4->sin_family = AF_INET;
	v4->sin_port = htons(port);
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1)
		return true;
	/* "fe80::1%eth0": whoever has link-local names writes addresses. */
	if (snprintf(plain, sizeof(plain), "%s", text) >= (int)sizeof(plain) ||
	    strchr(plain, '%'))
		return false;
	memset(address, 0, sizeof(*address));
	*size = sizeof(*v6);
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	return inet_pton(AF_INET6, plain, &v6->sin6_addr) == 1;
}

/* One block, as freeaddrinfo(3) of glibc expects. */
static struct addrinfo *new_node(const struct sockaddr_storage *address,
				 socklen_t size, int type)
{
	struct addrinfo *node = calloc(1, sizeof(*node) + size);

	if (!node)
		return NULL;
	node->ai_addr = memcpy(node + 1, address, size);
	node->ai_addrlen = size;
	node->ai_family = address->ss_family;
	node->ai_socktype = type;
	return node;
}

/* Lines are "ADDRESS STREAM name", "ADDRESS DGRAM", ... */
static int read_answer(char *text, uint16_t port, int type,
		       struct addrinfo **out)
{
	struct sockaddr_storage address;
	char *rest = NULL;
	socklen_t size;

	*out = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *kind = line + strcspn(line, " ");

		kind += strspn(kind, " ");
		if (strncmp(kind, "STREAM", 6))
			continue;
		line[strcspn(line, " ")] = '\0';
		if (!read_address(line, port, &address, &size))
			continue;
		*out = new_node(&address, size, type);
		if (!*out)
			return EAI_MEMORY;
		out = &(*out)->ai_next;
	}
	return 0;
}

static bool read_port(const char *service, uint16_t *port)
{
	char *end = NULL;
	unsigned long value = service ? strtoul(service, &end, 10) : 0;

	*port = (uint16_t)value;
	return !service || (*service && !*end && value <= UINT16_MAX);
}

int nss_getent(const char *name, const char *service,
	       const struct addrinfo *hints, struct addrinfo **out)
{
	owned_ptr char *text = malloc(ROOM);
	uint16_t port;
	int error;

	*out = NULL;
	if (!text)
		return EAI_MEMORY;
	if (!read_port(service, &port))
		return EAI_SERVICE;
	error = ask("ahosts", name, text, ROOM);
	if (error == -ECANCELED)
		return EAI_NONAME;
	if (error)
		return error == -ETIMEDOUT ? EAI_AGAIN : EAI_FAIL;
	error = read_answer(text, port, hints ? hints->ai_socktype : 0, out);
	if (!error && !*out)
		error = EAI_NONAME;
	if (error && *out) {
		freeaddrinfo(*out);
		*out = NULL;
	}
	return error;
}

static bool take_account(const struct passwd *entry, struct account *out)
{
	return snprintf(out->name, sizeof(out->name), "%s", entry->pw_name) <
		       (int)sizeof(out->name) &&
	       snprintf(out->home, sizeof(out->home), "%s", entry->pw_dir) <
		       (int)sizeof(out->home);
}

/* In lines as passwd(5) has them. */
static bool find_account(FILE *file, const char *user, uid_t uid,
			 struct account *out)
{
	const struct passwd *entry;

	while (file && (entry = fgetpwent(file)))
		if (user ? !strcmp(entry->pw_name, user) : entry->pw_uid == uid)
			return take_account(entry, out);
	return false;
}

bool nss_account(const char *user, uid_t uid, struct account *out)
{
	char text[PATH_MAX + 1024], number[16];
	FILE *file = fopen("/etc/passwd", "re");
	bool found = find_account(file, user, uid, out);

	if (file)
		fclose(file);
	snprintf(number, sizeof(number), "%u", uid);
	if (found || ask("passwd", user ? user : number, text, sizeof(text)))
		return found;
	file = fmemopen(text, strlen(text), "r");
	found = find_account(file, user, uid, out);
	if (file)
		fclose(file);
	return found;
}
