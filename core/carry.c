/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of the caller's own, joined to two descriptors. */
#include "core/carry.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CARRY_BUFFER = 65536 };

/* The way in, which has a thread of its own. */
struct way {
	int from;
	int socket;
};

static int dial_one(const struct addrinfo *address)
{
	int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (!connect(fd, address->ai_addr, address->ai_addrlen))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

int carry_dial(const char *host, uint16_t port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	char service[8];
	int fd = -ENXIO, error;

	snprintf(service, sizeof(service), "%u", port);
	error = getaddrinfo(host, service, &hints, &found);
	if (error)
		return error - 1000;
	for (const struct addrinfo *a = found; a && fd < 0; a = a->ai_next)
		fd = dial_one(a);
	freeaddrinfo(found);
	return fd;
}

int carry_send(int socket, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t sent = send(socket, at, size, MSG_NOSIGNAL);

		if (sent < 0 && errno != EINTR)
			return -errno;
		if (sent > 0) {
			at += sent;
			size -= (size_t)sent;
		}
	}
	return 0;
}

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t done = write(fd, data, size);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			data += done;
			size -= (size_t)done;
		}
	}
	return 0;
}

static ssize_t read_some(int fd, char *data, size_t size)
{
	ssize_t got;

	do {
		got = read(fd, data, size);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/* What can't be sent any more shows in the other way, as the peer's reset. */
static void *carry_in(void *argument)
{
	static char buffer[CARRY_BUFFER];
	const struct way *way = argument;
	ssize_t got;

	do {
		got = read_some(way->from, buffer, sizeof(buffer));
	} while (got > 0 && !carry_send(way->socket, buffer, (size_t)got));
	shutdown(way->socket, SHUT_WR);
	return NULL;
}

static int carry_out(int socket, int out)
{
	static char buffer[CARRY_BUFFER];
	ssize_t got;
	int error = 0;

	do {
		got = read_some(socket, buffer, sizeof(buffer));
		if (got > 0)
			error = write_all(out, buffer, (size_t)got);
	} while (got > 0 && !error);
	return got < 0 ? (int)got : error;
}

int carry_both(int in, int out, int socket)
{
	struct way way = { in, socket };
	pthread_t thread;
	int error;

	signal(SIGPIPE, SIG_IGN);
	error = pthread_create(&thread, NULL, carry_in, &way);
	if (error)
		return -error;
	error = carry_out(socket, out);
	if (error) {
		/* The other way may wait for input that never comes. */
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		return error;
	}
	/* A socket can be both @in and @out, and then closing says nothing. */
	shutdown(out, SHUT_WR);
	close(out);
	pthread_join(thread, NULL);
	return 0;
}
