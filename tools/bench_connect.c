/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_connect COUNT [ADDRESS PORT]: times connect(2), for tools/bench
 * supervisor. Without an address to a listener of its own on loopback. Each
 * connection has ended on both sides before the next begins, so that nobody
 * else works meanwhile. Prints median, least and most, in microseconds.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Resets: nothing is left behind that later connections would wait for. */
static void reset(int fd)
{
	const struct linger at_once = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(fd);
}

static _Noreturn void serve(int listener)
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((fd = accept(listener, NULL, NULL)) >= 0)
		reset(fd);
	_exit(0);
}

/* In a process apart, as the proxy is. */
static void listen_here(struct sockaddr_in *to)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t size = sizeof(*to);
	pid_t pid;

	to->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)to, size) ||
	    listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)to, &size) ||
	    (pid = fork()) < 0) {
		perror("bench_connect: listener");
		exit(1);
	}
	if (pid == 0)
		serve(listener);
	close(listener);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static double one(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	double start = now_us(), took;
	char byte;

	/* On a busy machine the reset may come before we are told. */
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) &&
	    errno != ECONNRESET) {
		perror("bench_connect: connect");
		exit(1);
	}
	took = now_us() - start;
	while (recv(fd, &byte, 1, 0) > 0)
		;
	reset(fd);
	return took;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	double *took;

	if (count < 1 || (argc != 2 && argc != 4)) {
		fputs("bench_connect: COUNT [ADDRESS PORT]\n", stderr);
		return 2;
	}
	if (argc == 4) {
		to.sin_port = htons((uint16_t)strtol(argv[3], NULL, 10));
		if (inet_pton(AF_INET, argv[2], &to.sin_addr) != 1)
			return 2;
	} else {
		listen_here(&to);
	}
	took = calloc((size_t)count, sizeof(*took));
	if (!took)
		return 1;
	for (long i = -count / 10; i < count; i++) {
		double us = one(&to);

		/* The first ones warm up. */
		if (i >= 0)
			took[i] = us;
	}
	qsort(took, (size_t)count, sizeof(*took), by_size);
	printf("%.2f %.2f %.2f\n", took[count / 2], took[0], took[count - 1]);
	free(took);
	return 0;
}
