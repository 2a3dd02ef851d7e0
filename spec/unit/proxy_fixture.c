/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the proxy share: a loop, a scripted origin, raw clients. */
#include "proxy_fixture.h"

char base[64], authority[32];

void spin(struct fixture *f)
{
	uv_run(&f->loop, UV_RUN_NOWAIT);
}

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void pass_time(struct fixture *f, unsigned int ms)
{
	for (uint64_t end = now_ms() + ms; now_ms() < end; usleep(500))
		spin(f);
}

void on_decide(void *context, struct proxy_ask *ask,
	       const struct proxy_question *q)
{
	struct fixture *f = context;
	struct proxy_verdict verdict = { .allow = true };
	char host[300];

	f->decided++;
	snprintf(f->asked, sizeof(f->asked), "%s %.*s:%u %.*s %.*s %.*s%s%.*s",
		 q->kind == PROXY_ASK_CONNECT ? "connect" : "request",
		 (int)q->host.size, q->host.data, q->port, (int)q->method.size,
		 q->method.data, (int)q->target.size, q->target.data,
		 (int)q->path.size, q->path.data ? q->path.data : "",
		 q->query.data ? "?" : "", (int)q->query.size,
		 q->query.data ? q->query.data : "");
	if (f->answer == ANSWER_HELD) {
		f->held = ask;
		return;
	}
	snprintf(host, sizeof(host), "%.*s", (int)q->host.size, q->host.data);
	verdict.host = f->host ? f->host : host;
	proxy_answer(ask, f->answer == ANSWER_GIVEN ? &f->verdict : &verdict);
}

static void on_cancelled(void *context, struct proxy_ask *ask)
{
	struct fixture *f = context;

	assert_ptr_equal(ask, f->held);
	f->held = NULL;
	f->cancelled++;
}

static void on_forget(void *context, int token)
{
	struct fixture *f = context;

	assert_int_equal(token, f->verdict.token);
	f->forgotten++;
}

const char *on_check(void *context, const char *host, uint16_t port,
		     const char *address)
{
	struct fixture *f = context;

	assert_non_null(host);
	assert_int_not_equal(port, 0);
	f->checked++;
	snprintf(f->address, sizeof(f->address), "%s", address);
	if (f->refused_address && strstr(f->refused_address, address))
		return "resolved to a loopback address";
	return NULL;
}

static void on_log(void *context, const char *line)
{
	struct fixture *f = context;

	snprintf(f->log, sizeof(f->log), "%s", line);
}

int listen_on(int backlog, int *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, backlog), 0);
	getsockname(fd, (struct sockaddr *)&address, &size);
	*port = ntohs(address.sin_port);
	return fd;
}

void start_proxy(struct fixture *f, const struct proxy_limits *limits)
{
	const struct proxy_hooks hooks = {
		.context = f,
		.decide = on_decide,
		.cancelled = on_cancelled,
		.forget = on_forget,
		.check_address = on_check,
		.log = on_log,
	};

	assert_int_equal(proxy_new(&f->proxy, &f->loop, &hooks, limits), 0);
	assert_int_equal(proxy_listen(f->proxy, listen_on(64, &f->port)), 0);
}

void stop_proxy(struct fixture *f)
{
	if (f->proxy)
		proxy_close(f->proxy);
	f->proxy = NULL;
	assert_null(f->held);
	uv_run(&f->loop, UV_RUN_DEFAULT);
}

int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	uv_loop_init(&f->loop);
	start_proxy(f, NULL);
	f->origin = listen_on(16, &f->origin_port);
	fcntl(f->origin, F_SETFL, O_NONBLOCK);
	snprintf(authority, sizeof(authority), "127.0.0.1:%d", f->origin_port);
	snprintf(base, sizeof(base), "http://%s", authority);
	*state = f;
	return 0;
}

int tear_down(void **state)
{
	struct fixture *f = *state;

	stop_proxy(f);
	/* Anything left open would show here, anything not freed under ASan. */
	assert_int_equal(uv_loop_close(&f->loop), 0);
	close(f->origin);
	free(f);
	return 0;
}

void restart_with(struct fixture *f, const struct proxy_limits *limits)
{
	stop_proxy(f);
	start_proxy(f, limits);
}

int connect_to(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(
		connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

int accept_origin(struct fixture *f)
{
	for (uint64_t end = now_ms() + PATIENCE_MS; now_ms() < end;
	     usleep(200)) {
		int fd;

		spin(f);
		fd = accept4(f->origin, NULL, NULL,
			     SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	fail_msg("nobody connected to the origin; last log: %s", f->log);
	return -1;
}

void no_origin(struct fixture *f)
{
	pass_time(f, QUIET_MS);
	assert_int_equal(accept(f->origin, NULL, NULL), -1);
}

void put_bytes(struct fixture *f, int fd, const char *data, size_t size)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (size) {
		ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);

		spin(f);
		if (sent > 0) {
			data += sent;
			size -= (size_t)sent;
		} else if (errno != EAGAIN || now_ms() > end) {
			fail_msg("send: %s", strerror(errno));
		}
	}
}

/* Sends formatted text; %b and %a are not there, base and authority are. */
void put(struct fixture *f, int fd, const char *format, ...)
{
	char *text;
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vasprintf(&text, format, arguments);
	va_end(arguments);
	assert_true(size >= 0);
	put_bytes(f, fd, text, (size_t)size);
	free(text);
}

/* A GET request through the proxy for @path at the origin. */
void put_get(struct fixture *f, int fd, const char *path, const char *fields)
{
	put(f, fd, "GET %s%s HTTP/1.1\r\nHost: %s\r\n%s\r\n", base, path,
	    authority, fields);
}

ssize_t get_some(struct fixture *f, int fd, char *data, size_t size)
{
	for (uint64_t end = now_ms() + PATIENCE_MS; now_ms() < end;
	     usleep(200)) {
		ssize_t got;

		spin(f);
		got = recv(fd, data, size, 0);
		if (got >= 0 || errno != EAGAIN)
			return got;
	}
	fail_msg("nothing came; last log: %s", f->log);
	return -1;
}

void want_bytes(struct fixture *f, int fd, const char *text, size_t size)
{
	char *got = calloc(1, size + 1);

	for (size_t have = 0; have < size;) {
		ssize_t more = get_some(f, fd, got + have, size - have);

		have += more > 0 ? (size_t)more : 0;
		if (more <= 0 || memcmp(got, text, have) != 0) {
			print_error("wanted: %s\ngot: %s\n", text, got);
			fail_msg("%s", more ? "other bytes" : "ended");
		}
	}
	free(got);
}

/* Exactly these bytes come next. */
void want(struct fixture *f, int fd, const char *format, ...)
{
	char *text;
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = vasprintf(&text, format, arguments);
	va_end(arguments);
	assert_true(size >= 0);
	want_bytes(f, fd, text, (size_t)size);
	free(text);
}

/* Reads a head, byte by byte so that nothing behind it is taken. */
const char *get_head(struct fixture *f, int fd)
{
	static char head[70000];
	size_t size = 0;

	do {
		if (get_some(f, fd, &head[size], 1) != 1)
			fail_msg("no whole head: %.*s", (int)size, head);
		head[++size] = '\0';
	} while (!strstr(head, "\r\n\r\n") && size < sizeof(head) - 1);
	return head;
}

void want_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

void want_out(const char *text, const char *part)
{
	if (strcasestr(text, part))
		fail_msg("\"%s\" is in \"%s\"", part, text);
}

void want_end(struct fixture *f, int fd)
{
	char byte;
	ssize_t got = get_some(f, fd, &byte, 1);

	if (got != 0)
		fail_msg("no end but %s",
			 got > 0 ? "more bytes" : strerror(errno));
}

void want_reset(struct fixture *f, int fd)
{
	char byte;

	assert_int_equal(get_some(f, fd, &byte, 1), -1);
	assert_int_equal(errno, ECONNRESET);
}

/* Neither bytes nor an end for a while. */
void want_quiet(struct fixture *f, int fd)
{
	char byte;

	pass_time(f, QUIET_MS);
	assert_int_equal(recv(fd, &byte, 1, MSG_PEEK), -1);
	assert_int_equal(errno, EAGAIN);
}

void reset(int fd)
{
	const struct linger linger = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	close(fd);
}

/* Drains the client's side and closes it. */
void leave(struct fixture *f, int fd)
{
	close(fd);
	spin(f);
}
