/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client for tools/bench tls: HTTPS through a proxy's CONNECT, by OpenSSL.
 *
 *   bench_tls_client requests PORT HOST:PORT AUTH CAFILE CONNECTIONS SECONDS
 *	GET /k on connections that stay open, all in one thread: per second
 *   bench_tls_client handshakes PORT HOST:PORT AUTH CAFILE CONNECTIONS SECONDS
 *	new tunnel, full handshake, one GET /k, close: per second
 *   bench_tls_client download PORT HOST:PORT AUTH CAFILE PATH
 *	one GET: bytes, and bytes per second, of the body
 *   bench_tls_client idle PORT HOST:PORT AUTH CAFILE COUNT
 *	COUNT connections that had an answer each; says "open COUNT" and keeps
 *	them until a line comes
 *
 * HOST is an IPv4 address, which the certificate must be for; PORT 0 of the
 * proxy: no proxy. AUTH is the value of Proxy-Authorization, or empty.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 1 << 18, MOST = 64 };

static struct sockaddr_in to = { .sin_family = AF_INET };
static char host[64], hello[1024], request[1024];
static SSL_CTX *tls;
static double end;
static atomic_ulong count;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	ERR_print_errors_fp(stderr);
	exit(1);
}

/* The head of the answer to CONNECT, byte by byte: what follows is TLS. */
static void granted(int fd)
{
	char head[4096];
	size_t size = 0;

	while (size < sizeof(head) - 1) {
		if (recv(fd, &head[size], 1, 0) != 1)
			die("no answer to CONNECT");
		head[++size] = '\0';
		if (size >= 4 && !memcmp(&head[size - 4], "\r\n\r\n", 4))
			break;
	}
	if (strncmp(head, "HTTP/1.1 200", 12))
		die(head);
}

static SSL *dial(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	SSL *ssl = SSL_new(tls);

	if (fd < 0 || !ssl || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		die("cannot connect");
	if (*hello) {
		if (send(fd, hello, strlen(hello), MSG_NOSIGNAL) < 0)
			die("cannot send");
		granted(fd);
	}
	SSL_set_fd(ssl, fd);
	X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
	if (SSL_connect(ssl) != 1)
		die("handshake");
	return ssl;
}

static void hang_up(SSL *ssl)
{
	int fd = SSL_get_fd(ssl);

	SSL_free(ssl);
	close(fd);
}

/* Bytes of the body; the head says how many. */
static unsigned long long get(SSL *ssl, char *buffer)
{
	unsigned long long length, total;
	int got, size = 0;
	char *body = NULL, *field;

	if (SSL_write(ssl, request, (int)strlen(request)) <= 0)
		die("cannot send");
	while (!body) {
		got = SSL_read(ssl, buffer + size, PIECE - 1 - size);
		if (got <= 0)
			die("no answer");
		size += got;
		buffer[size] = '\0';
		body = strstr(buffer, "\r\n\r\n");
	}
	field = strcasestr(buffer, "\r\nContent-Length: ");
	if (strncmp(buffer, "HTTP/1.1 200", 12) || !field || field > body)
		die(buffer);
	length = strtoull(field + 18, NULL, 10);
	total = (unsigned long long)(buffer + size - (body + 4));
	while (total < length) {
		got = SSL_read(ssl, buffer, PIECE);
		if (got <= 0)
			die("cut off");
		total += (unsigned long long)got;
	}
	return total;
}

/* One connection that stays open, and what came of its present answer. */
struct kept {
	SSL *ssl;
	int size;
	char buffer[8192];
};

static void ask(struct kept *kept)
{
	kept->size = 0;
	if (SSL_write(kept->ssl, request, (int)strlen(request)) <= 0)
		die("cannot send");
}

static int is_whole(const struct kept *kept)
{
	const char *body = strstr(kept->buffer, "\r\n\r\n");
	const char *field = strcasestr(kept->buffer, "\r\nContent-Length: ");
	long got;

	if (!body)
		return 0;
	if (strncmp(kept->buffer, "HTTP/1.1 200", 12) || !field || field > body)
		die(kept->buffer);
	got = kept->size - (body + 4 - kept->buffer);
	return got >= strtol(field + 18, NULL, 10);
}

/* Takes what has come; where the answer is whole, asks for the next. */
static void go_on(struct kept *kept)
{
	do {
		int room = (int)sizeof(kept->buffer) - 1 - kept->size;
		int got = SSL_read(kept->ssl, kept->buffer + kept->size, room);

		if (got <= 0) {
			if (SSL_get_error(kept->ssl, got) !=
			    SSL_ERROR_WANT_READ)
				die("cut off");
			return;
		}
		kept->size += got;
		kept->buffer[kept->size] = '\0';
		if (is_whole(kept)) {
			count++;
			ask(kept);
		}
	} while (SSL_pending(kept->ssl));
}

/*
 * One thread, so that the load takes little of the machine from what is
 * measured: threads that sleep and wake for each answer take half as much more.
 */
static void requests(int connections, double seconds)
{
	struct kept *all = calloc((size_t)connections, sizeof(*all));
	struct epoll_event events[MOST];
	int queue = epoll_create1(EPOLL_CLOEXEC);
	double start;

	if (!all || queue < 0)
		die("cannot wait");
	for (int i = 0; i < connections; i++) {
		struct epoll_event event = { EPOLLIN, { .ptr = &all[i] } };
		int fd;

		all[i].ssl = dial();
		fd = SSL_get_fd(all[i].ssl);
		if (fcntl(fd, F_SETFL, O_NONBLOCK) ||
		    epoll_ctl(queue, EPOLL_CTL_ADD, fd, &event))
			die("cannot wait");
	}
	start = now();
	end = start + seconds;
	for (int i = 0; i < connections; i++)
		ask(&all[i]);
	while (now() < end) {
		int ready = epoll_wait(queue, events, MOST, 1000);

		for (int i = 0; i < ready; i++)
			go_on(events[i].data.ptr);
	}
	printf("%.0f\n", (double)count / (now() - start));
}

static void *handshakes(void *unused)
{
	char *buffer = malloc(PIECE);

	while (now() < end) {
		SSL *ssl = dial();

		get(ssl, buffer);
		hang_up(ssl);
		count++;
	}
	free(buffer);
	return unused;
}

static void in_threads(void *(*work)(void *), int threads, double seconds)
{
	pthread_t ids[MOST];
	double start = now();

	end = start + seconds;
	for (int i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, work, NULL))
			die("cannot make a thread");
	for (int i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	printf("%.0f\n", (double)count / (now() - start));
}

static void download(void)
{
	char *buffer = malloc(PIECE);
	SSL *ssl = dial();
	double start = now();
	unsigned long long total = get(ssl, buffer);

	printf("%llu %.0f\n", total, (double)total / (now() - start));
}

static void idle(int wanted)
{
	char *buffer = malloc(PIECE);

	for (int i = 0; i < wanted; i++)
		get(dial(), buffer);
	printf("open %d\n", wanted);
	fflush(stdout);
	getchar();
}

static void set_up(char **argv)
{
	const char *colon = strchr(argv[3], ':');
	int proxy = atoi(argv[2]);

	if (!colon || colon - argv[3] >= (long)sizeof(host))
		die("HOST:PORT");
	memcpy(host, argv[3], (size_t)(colon - argv[3]));
	to.sin_port = htons((uint16_t)(proxy ? proxy : atoi(colon + 1)));
	if (proxy)
		to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		inet_pton(AF_INET, host, &to.sin_addr);
	if (proxy)
		snprintf(hello, sizeof(hello),
			 "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s%s%s\r\n",
			 argv[3], argv[3],
			 *argv[4] ? "Proxy-Authorization: " : "", argv[4],
			 *argv[4] ? "\r\n" : "");
	tls = SSL_CTX_new(TLS_client_method());
	if (!tls || SSL_CTX_load_verify_file(tls, argv[5]) != 1)
		die(argv[5]);
	SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
	/* Each handshake is a full one. */
	SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(tls, SSL_OP_NO_TICKET);
}

int main(int argc, char **argv)
{
	if (argc < 7)
		return 2;
	(void)signal(SIGPIPE, SIG_IGN);
	set_up(argv);
	snprintf(request, sizeof(request),
		 "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n",
		 strcmp(argv[1], "download") ? "/k" : argv[6], argv[3]);
	if (!strcmp(argv[1], "download"))
		download();
	else if (!strcmp(argv[1], "idle"))
		idle(atoi(argv[6]));
	else if (argc < 8 || atoi(argv[6]) < 1 || atoi(argv[6]) > MOST)
		return 2;
	else if (!strcmp(argv[1], "requests"))
		requests(atoi(argv[6]), atof(argv[7]));
	else
		in_threads(handshakes, atoi(argv[6]), atof(argv[7]));
	return 0;
}
