/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client for tools/bench proxy: opens tunnels through an HTTP proxy.
 *
 *   bench_client connects PORT HOST:PORT AUTH SECONDS PARALLEL
 *	new tunnels one after another, each closed at once: per second
 *   bench_client tunnel PORT HOST:PORT AUTH PATH
 *	one GET through one tunnel: bytes per second of the body; PORT 0: direct
 *   bench_client idle PORT HOST:PORT AUTH COUNT
 *	COUNT tunnels; says "open COUNT" and keeps them until a line comes
 *
 * AUTH is the value of Proxy-Authorization, or empty.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PARALLEL_MAX = 64, PIECE = 1 << 20 };

static struct sockaddr_in proxy = { .sin_family = AF_INET };
static char hello[1024];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int dial(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0)
		die("connect");
	return fd;
}

static int ask(void)
{
	int fd = dial(&proxy);

	if (send(fd, hello, strlen(hello), MSG_NOSIGNAL) < 0)
		die("send");
	return fd;
}

/* Reads the head of the answer; what follows it stays unread. */
static void answered(int fd)
{
	char head[4096];
	size_t size = 0;

	while (size < sizeof(head) - 1) {
		if (recv(fd, &head[size], 1, 0) != 1)
			die("no answer");
		head[++size] = '\0';
		if (size >= 4 && memcmp(&head[size - 4], "\r\n\r\n", 4) == 0)
			break;
	}
	if (strncmp(head, "HTTP/1.1 200", 12) &&
	    strncmp(head, "HTTP/1.0 200", 12)) {
		fprintf(stderr, "%s", head);
		exit(1);
	}
}

static void connects(double seconds, int parallel)
{
	struct pollfd slots[PARALLEL_MAX];
	double start = now(), end = start + seconds;
	unsigned long count = 0;
	char answer[4096];

	if (parallel < 1 || parallel > PARALLEL_MAX)
		parallel = PARALLEL_MAX;
	for (int i = 0; i < parallel; i++)
		slots[i] = (struct pollfd){ ask(), POLLIN, 0 };
	while (now() < end) {
		if (poll(slots, (nfds_t)parallel, 1000) <= 0)
			die("no answer");
		for (int i = 0; i < parallel; i++) {
			ssize_t got;

			if (!slots[i].revents)
				continue;
			/* The answer is short and comes in one piece. */
			got = recv(slots[i].fd, answer, sizeof(answer) - 1, 0);
			if (got < 12 || memcmp(&answer[9], "200", 3))
				die("refused");
			close(slots[i].fd);
			count++;
			slots[i].fd = ask();
		}
	}
	printf("%.0f\n", (double)count / (now() - start));
}

static void tunnel(const char *authority, const char *path)
{
	char request[1024], *buffer = malloc(PIECE);
	int fd = proxy.sin_port ? ask() : -1;
	unsigned long long total = 0;
	double start;
	ssize_t got;

	if (fd >= 0) {
		answered(fd);
	} else {
		char host[64];
		struct sockaddr_in to = { .sin_family = AF_INET };
		const char *colon = strchr(authority, ':');

		snprintf(host, sizeof(host), "%.*s", (int)(colon - authority),
			 authority);
		inet_pton(AF_INET, host, &to.sin_addr);
		to.sin_port = htons((uint16_t)atoi(colon + 1));
		fd = dial(&to);
	}
	snprintf(request, sizeof(request),
		 "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
		 path, authority);
	start = now();
	if (!buffer || send(fd, request, strlen(request), MSG_NOSIGNAL) < 0)
		die("send");
	answered(fd);
	while ((got = recv(fd, buffer, PIECE, 0)) > 0)
		total += (unsigned long long)got;
	printf("%llu %.0f\n", total, (double)total / (now() - start));
	free(buffer);
}

static void idle(int count)
{
	for (int i = 0; i < count; i++)
		answered(ask());
	printf("open %d\n", count);
	fflush(stdout);
	getchar();
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	proxy.sin_port = htons((uint16_t)atoi(argv[2]));
	proxy.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	snprintf(hello, sizeof(hello),
		 "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n", argv[3],
		 argv[3], *argv[4] ? "Proxy-Authorization: " : "", argv[4],
		 *argv[4] ? "\r\n" : "");
	if (!strcmp(argv[1], "connects"))
		connects(atof(argv[5]), argc > 6 ? atoi(argv[6]) : 16);
	else if (!strcmp(argv[1], "tunnel"))
		tunnel(argv[3], argv[5]);
	else if (!strcmp(argv[1], "idle"))
		idle(atoi(argv[5]));
	else
		return 2;
	return 0;
}
