/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling on loopback addresses, with a resolver of the tests' own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "proxy/dial.h"
#include "proxy/internal.h"

enum { NAMES = 8 };

/* What "x.test" resolves to; a name that begins with "dead" never answers. */
static const char *resolves_to[NAMES];
static sem_t dead;

static struct addrinfo *entry(const char *text)
{
	struct addrinfo *info =
		calloc(1, sizeof(*info) + sizeof(struct sockaddr_in6));
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(info + 1);
	struct sockaddr_in *v4 = (struct sockaddr_in *)v6;

	info->ai_addr = (struct sockaddr *)v6;
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		info->ai_addrlen = sizeof(*v4);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		info->ai_addrlen = sizeof(*v6);
	}
	info->ai_family = v6->sin6_family;
	return info;
}

/* Stands in for libc's in this program, so for libuv, too. */
int getaddrinfo(const char *restrict node, const char *restrict service,
		const struct addrinfo *restrict hints,
		struct addrinfo **restrict out)
{
	struct addrinfo **at = out;

	(void)service;
	(void)hints;
	*out = NULL;
	if (!strncmp(node, "dead", 4)) {
		sem_wait(&dead);
		return EAI_AGAIN;
	}
	for (size_t i = 0; i < NAMES && resolves_to[i]; i++) {
		*at = entry(resolves_to[i]);
		at = &(*at)->ai_next;
	}
	return *out ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *list)
{
	while (list) {
		struct addrinfo *next = list->ai_next;

		free(list);
		list = next;
	}
}

struct fixture {
	uv_loop_t loop;
	struct proxy *proxy;
	uint16_t port;
	int fds[32];
	size_t fd_count;
	const char *refused; /* by check_address */
	char checked[256];
	unsigned int done;
	unsigned int status;
	int error;
	char text[512];
	char peer[INET6_ADDRSTRLEN];
	uint64_t started;
	uint64_t took;
};

static void on_decide(void *context, struct proxy_ask *ask,
		      const struct proxy_question *question)
{
	(void)context;
	(void)ask;
	(void)question;
	fail_msg("nobody is a client here");
}

static const char *on_check(void *context, const char *host, uint16_t port,
			    const char *address)
{
	struct fixture *f = context;
	size_t size = strlen(f->checked);

	assert_non_null(host);
	assert_int_equal(port, f->port);
	snprintf(f->checked + size, sizeof(f->checked) - size, "%s ", address);
	return f->refused && strstr(f->refused, address) ? "not this one"
							 : NULL;
}

static union {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
} place;

static socklen_t place_at(const char *text, uint16_t port)
{
	memset(&place, 0, sizeof(place));
	if (uv_ip4_addr(text, port, &place.v4) == 0)
		return sizeof(place.v4);
	assert_int_equal(uv_ip6_addr(text, port, &place.v6), 0);
	return sizeof(place.v6);
}

static int keep(struct fixture *f, int fd)
{
	assert_true(fd >= 0);
	f->fds[f->fd_count++] = fd;
	return fd;
}

/* A listener; the first one's port is everybody's. */
static int serve(struct fixture *f, const char *text, int backlog)
{
	socklen_t size = place_at(text, f->port);
	int fd = keep(f, socket(place.any.sa_family,
				SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	assert_int_equal(bind(fd, &place.any, size), 0);
	assert_int_equal(listen(fd, backlog), 0);
	getsockname(fd, &place.any, &size);
	f->port = ntohs(place.v4.sin_port);
	return fd;
}

/* A listener whose queue is full: what comes then gets no answer. */
static void black_hole(struct fixture *f, const char *text)
{
	serve(f, text, 0);
	for (int i = 0; i < 4; i++) {
		socklen_t size = place_at(text, f->port);
		int fd = keep(f,
			      socket(place.any.sa_family,
				     SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
				     0));

		(void)connect(fd, &place.any, size);
	}
}

static void start(struct fixture *f, unsigned int connect_ms)
{
	const struct proxy_hooks hooks = { .context = f,
					   .decide = on_decide,
					   .check_address = on_check };
	const struct proxy_limits limits = { .connect_ms = connect_ms };

	assert_int_equal(proxy_new(&f->proxy, &f->loop, &hooks, &limits), 0);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	uv_loop_init(&f->loop);
	memset(resolves_to, 0, sizeof(resolves_to));
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	proxy_close(f->proxy);
	uv_run(&f->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&f->loop), 0);
	while (f->fd_count)
		close(f->fds[--f->fd_count]);
	free(f);
	return 0;
}

static void on_done(void *owner, const struct dial_result *result)
{
	struct fixture *f = owner;
	int size = sizeof(place);

	f->done++;
	f->took = uv_hrtime() / 1000000 - f->started;
	f->status = result->status;
	f->error = result->error;
	if (!result->stream) {
		snprintf(f->text, sizeof(f->text), "%s", result->text);
		return;
	}
	uv_tcp_getpeername(&result->stream->tcp, &place.any, &size);
	uv_ip_name(&place.any, f->peer, sizeof(f->peer));
	stream_close(result->stream, false);
}

static struct dial *dial(struct fixture *f, const char *host)
{
	struct dial *dial = dial_new(f->proxy, host, f->port, on_done, f);

	uv_update_time(&f->loop);
	f->started = uv_hrtime() / 1000000;
	dial_start(dial);
	return dial;
}

/* Turns the loop until @count dials are done. */
static void wait_for(struct fixture *f, unsigned int count)
{
	uint64_t end = uv_hrtime() + 10000000000ULL;

	while (f->done < count && uv_hrtime() < end) {
		uv_run(&f->loop, UV_RUN_NOWAIT);
		usleep(500);
	}
	assert_int_equal(f->done, count);
}

static void want_peer(struct fixture *f, const char *peer)
{
	wait_for(f, 1);
	if (strcmp(f->peer, peer) != 0)
		fail_msg("%s, wanted %s: %s", f->peer, peer, f->text);
}

static size_t open_fds(void)
{
	size_t count = 0;
	DIR *dir = opendir("/proc/self/fd");

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static void test_first_that_answers(void **state)
{
	struct fixture *f = *state;

	start(f, 5000);
	serve(f, "127.0.0.6", 8);
	serve(f, "::1", 8);
	resolves_to[0] = "127.0.0.6";
	resolves_to[1] = "::1";
	dial(f, "x.test");
	want_peer(f, "127.0.0.6");
	assert_string_equal(f->checked, "127.0.0.6 ::1 ");
}

static void turn(struct fixture *f)
{
	for (int i = 0; i < 20; i++)
		uv_run(&f->loop, UV_RUN_NOWAIT);
}

static void test_silence_gets_company(void **state)
{
	struct fixture *f = *state;
	size_t before;

	start(f, 5000);
	serve(f, "::1", 8);
	black_hole(f, "127.0.0.5");
	resolves_to[0] = "::1";
	dial(f, "x.test");
	want_peer(f, "::1");
	turn(f);
	before = open_fds();
	f->done = 0;
	resolves_to[0] = "127.0.0.5";
	resolves_to[1] = "::1";
	dial(f, "x.test");
	want_peer(f, "::1");
	/* Not the whole time that a dial has. */
	assert_in_range(f->took, 240, 4500);
	/* The loser is gone. */
	turn(f);
	assert_int_equal(open_fds(), before);
}

static void test_families_take_turns(void **state)
{
	struct fixture *f = *state;

	start(f, 5000);
	serve(f, "::1", 8);
	black_hole(f, "127.0.0.5");
	/* These would answer as well, were they asked before it. */
	serve(f, "127.0.0.7", 8);
	serve(f, "127.0.0.8", 8);
	resolves_to[0] = "127.0.0.5";
	resolves_to[1] = "127.0.0.7";
	resolves_to[2] = "127.0.0.8";
	resolves_to[3] = "::1";
	dial(f, "x.test");
	want_peer(f, "::1");
	assert_true(f->took >= 240);
}

static void test_late_answer_still_wins(void **state)
{
	struct fixture *f = *state;
	int fd;

	start(f, 8000);
	black_hole(f, "127.0.0.5");
	fd = f->fds[0];
	black_hole(f, "127.0.0.7");
	resolves_to[0] = "127.0.0.5";
	resolves_to[1] = "127.0.0.7";
	dial(f, "x.test");
	for (int i = 0; i < 300 && !f->done; i++) {
		uv_run(&f->loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
	assert_int_equal(f->done, 0);
	/*
	 * Room at the first, as often as it fills up: those that filled it
	 * knock again, too.
	 */
	for (int i = 0; i < 8000 && !f->done; i++) {
		int got = accept(fd, NULL, NULL);

		if (got >= 0)
			keep(f, got);
		uv_run(&f->loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
	want_peer(f, "127.0.0.5");
}

static void test_failure_is_not_waited_for(void **state)
{
	struct fixture *f = *state;

	start(f, 5000);
	serve(f, "127.0.0.6", 8);
	resolves_to[0] = "127.0.0.9";
	resolves_to[1] = "::1";
	for (size_t i = 2; i < NAMES - 1; i++)
		resolves_to[i] = "127.0.0.10";
	resolves_to[NAMES - 1] = "127.0.0.6";
	dial(f, "x.test");
	want_peer(f, "127.0.0.6");
	/* Waiting would take a quarter of a second for each. */
	assert_in_range(f->took, 0, (NAMES - 1) * 250 - 50);
}

static void test_refused_is_not_dialled(void **state)
{
	struct fixture *f = *state;
	int refused;

	start(f, 5000);
	refused = serve(f, "127.0.0.6", 8);
	serve(f, "127.0.0.7", 8);
	f->refused = "127.0.0.6 ::1";
	resolves_to[0] = "127.0.0.6";
	resolves_to[1] = "::1";
	resolves_to[2] = "127.0.0.7";
	dial(f, "x.test");
	want_peer(f, "127.0.0.7");
	assert_int_equal(accept(refused, NULL, NULL), -1);
	assert_string_equal(f->checked, "127.0.0.6 ::1 127.0.0.7 ");
}

static void test_all_refused(void **state)
{
	struct fixture *f = *state;

	start(f, 5000);
	serve(f, "127.0.0.6", 8);
	f->refused = "127.0.0.6 ::1";
	resolves_to[0] = "127.0.0.6";
	resolves_to[1] = "::1";
	dial(f, "x.test");
	wait_for(f, 1);
	assert_int_equal(f->status, 403);
	assert_string_equal(f->text, "not this one");
	assert_int_equal(accept(f->fds[0], NULL, NULL), -1);
}

static void test_telling_failure(void **state)
{
	struct fixture *f = *state;

	start(f, 5000);
	serve(f, "127.0.0.6", 8);
	/* What has no way there does not hide what was refused. */
	resolves_to[0] = "127.0.0.9";
	resolves_to[1] = "2001:db8::1";
	dial(f, "x.test");
	wait_for(f, 1);
	/* Where there is a way, it leads nowhere (RFC 3849). */
	if (f->error == UV_ETIMEDOUT)
		return;
	assert_int_equal(f->status, 502);
	assert_int_equal(f->error, UV_ECONNREFUSED);
	assert_non_null(strstr(f->text, "(127.0.0.9)"));
}

static void test_deadline(void **state)
{
	struct fixture *f = *state;

	start(f, 400);
	black_hole(f, "127.0.0.5");
	black_hole(f, "127.0.0.7");
	resolves_to[0] = "127.0.0.5";
	resolves_to[1] = "127.0.0.7";
	dial(f, "x.test");
	wait_for(f, 1);
	assert_int_equal(f->status, 504);
	assert_int_equal(f->error, UV_ETIMEDOUT);
	assert_in_range(f->took, 380, 8000);
}

static void test_no_address(void **state)
{
	struct fixture *f = *state;

	start(f, 5000);
	f->port = 1;
	dial(f, "x.test");
	wait_for(f, 1);
	assert_int_equal(f->status, 502);
	assert_non_null(strstr(f->text, "cannot resolve the host of x.test:1"));
}

/* Four dead names: libuv's default would leave no thread for others. */
static void test_resolver_that_never_answers(void **state)
{
	struct fixture *f = *state;
	char name[32];

	start(f, 2000);
	serve(f, "127.0.0.6", 8);
	resolves_to[0] = "127.0.0.6";
	for (int i = 0; i < 4; i++) {
		snprintf(name, sizeof(name), "dead%d.test", i);
		dial(f, name);
	}
	dial(f, "x.test");
	/* Behind those it would have failed with them. */
	want_peer(f, "127.0.0.6");
	wait_for(f, 5);
	assert_int_equal(f->status, 504);
	assert_non_null(strstr(f->text, "the lookup took too long"));
	for (int i = 0; i < 4; i++)
		sem_post(&dead);
}

static void test_cancelled(void **state)
{
	struct fixture *f = *state;
	struct dial *one, *two;

	start(f, 5000);
	black_hole(f, "127.0.0.5");
	resolves_to[0] = "127.0.0.5";
	one = dial(f, "dead.test");
	two = dial(f, "x.test");
	for (int i = 0; i < 100; i++) {
		uv_run(&f->loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
	dial_cancel(one);
	dial_cancel(two);
	sem_post(&dead);
	for (int i = 0; i < 50; i++) {
		uv_run(&f->loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
	assert_int_equal(f->done, 0);
}

/* A parent's own address is nobody's question; the destination's is. */
static void test_parent(void **state)
{
	struct fixture *f = *state;
	struct proxy_via via = { .host = "parent.test" };
	struct dial *dial;

	start(f, 5000);
	serve(f, "127.0.0.6", 8);
	via.port = f->port;
	f->refused = "127.0.0.6 10.0.0.1";
	resolves_to[0] = "127.0.0.6";
	dial = dial_new(f->proxy, "far.test", f->port, on_done, f);
	assert_int_equal(dial_via(dial, &via, false), 0);
	dial_start(dial);
	want_peer(f, "127.0.0.6");
	assert_string_equal(f->checked, "");
	dial = dial_new(f->proxy, "10.0.0.1", f->port, on_done, f);
	assert_int_equal(dial_via(dial, &via, true), 0);
	dial_start(dial);
	wait_for(f, 2);
	assert_int_equal(f->status, 403);
	assert_string_equal(f->checked, "10.0.0.1 ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_first_that_answers),
		TEST(test_silence_gets_company),
		TEST(test_families_take_turns),
		TEST(test_late_answer_still_wins),
		TEST(test_failure_is_not_waited_for),
		TEST(test_refused_is_not_dialled),
		TEST(test_all_refused),
		TEST(test_telling_failure),
		TEST(test_deadline),
		TEST(test_no_address),
		TEST(test_resolver_that_never_answers),
		TEST(test_cancelled),
		TEST(test_parent),
	};

	signal(SIGPIPE, SIG_IGN);
	sem_init(&dead, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
