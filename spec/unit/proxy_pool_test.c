/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream connections that serve more than one request. */
#include "proxy_fixture.h"

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

/* One whole exchange on an upstream connection that is there already. */
static void serve(struct fixture *f, int client, int origin, const char *path)
{
	char line[64];

	snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n", path);
	want_in(get_head(f, origin), line);
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
	    strlen(path), path);
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
	     strlen(path), path);
}

static int begin(struct fixture *f, int client, const char *path)
{
	int origin;

	put_get(f, client, path, "");
	origin = accept_origin(f);
	serve(f, client, origin, path);
	return origin;
}

static void test_reuse(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), other = connect_to(f->port);
	int origin = begin(f, client, "/1"), second;

	put_get(f, client, "/2", "");
	serve(f, client, origin, "/2");
	/* Another client gets it too, but not while it is taken. */
	put_get(f, other, "/3", "");
	want_in(get_head(f, origin), "GET /3 ");
	put_get(f, client, "/4", "");
	second = accept_origin(f);
	serve(f, client, second, "/4");
	put(f, origin, OK_EMPTY);
	want(f, other, OK_EMPTY);
	/* The address was checked for each new connection only. */
	assert_int_equal(f->checked, 2);
	assert_int_equal(f->decided, 4);
	no_origin(f);
	close(origin);
	close(second);
	leave(f, client);
	leave(f, other);
}

/* The name decides, not the address: a.test may be allowed, localhost not. */
static void test_not_for_others(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin, second;

	f->host = "localhost";
	origin = begin(f, client, "/1");
	f->host = "127.0.0.1";
	second = begin(f, client, "/2");
	want_quiet(f, origin);
	f->host = "localhost";
	put_get(f, client, "/3", "");
	serve(f, client, origin, "/3");
	/* A tunnel never gets a used connection. */
	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	want_in(get_head(f, client), "HTTP/1.1 200 ");
	close(accept_origin(f));
	close(origin);
	close(second);
	leave(f, client);
}

/* Takes the next connection for the request, which must come in that form. */
static int begin_via(struct fixture *f, int client, const char *path)
{
	char line[128];
	int origin;

	put_get(f, client, path, "");
	origin = accept_origin(f);
	snprintf(line, sizeof(line), "GET %s%s HTTP/1.1\r\n", base, path);
	want_in(get_head(f, origin), line);
	put(f, origin, OK_EMPTY);
	want(f, client, OK_EMPTY);
	return origin;
}

/* One that leads to a parent is another destination, with its credentials. */
static void test_not_across_ways(void **state)
{
	struct fixture *f = *state;
	struct proxy_via one = { .host = "127.0.0.1" }, two;
	int client = connect_to(f->port), direct = begin(f, client, "/1");
	int first, second;

	one.port = (uint16_t)f->origin_port;
	two = one;
	two.authorization = "Basic eA==";
	f->verdict = (struct proxy_verdict){ .allow = true,
					     .host = "127.0.0.1",
					     .via = &one };
	f->answer = ANSWER_GIVEN;
	first = begin_via(f, client, "/2");
	f->verdict.via = &two;
	second = begin_via(f, client, "/3");
	want_quiet(f, direct);
	want_quiet(f, first);
	f->verdict.via = &one;
	put_get(f, client, "/4", "");
	want_in(get_head(f, first), "GET http://");
	put(f, first, OK_EMPTY);
	want(f, client, OK_EMPTY);
	f->answer = ANSWER_ALLOW;
	put_get(f, client, "/5", "");
	serve(f, client, direct, "/5");
	no_origin(f);
	close(direct);
	close(first);
	close(second);
	leave(f, client);
}

/* What makes a connection unfit, and how the response then looks to the client.
 */
static void test_not_kept(void **state)
{
	static const struct {
		const char *fields;
		const char *answer;
	} rows[] = {
		{ "", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\n"
		      "Content-Length: 0\r\n\r\n" },
		{ "", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n" },
		{ "", "HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n" },
		{ "", "HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n" },
		{ "", OK_EMPTY "HTTP/1.1 200 Evil\r\n\r\n" },
		{ "", OK_EMPTY "\r\n" },
		{ "Authorization: NTLM TlRM\r\n", OK_EMPTY },
		{ "Authorization: negotiate x\r\n", OK_EMPTY },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int client = connect_to(f->port), origin;

		put_get(f, client, "/a", rows[i].fields);
		origin = accept_origin(f);
		get_head(f, origin);
		put(f, origin, "%s", rows[i].answer);
		want_in(get_head(f, client), "HTTP/1.1 20");
		want_end(f, origin);
		close(origin);
		close(begin(f, client, "/b"));
		leave(f, client);
	}
}

/* Bytes that nobody asked for are never the next response. */
static void test_unsolicited(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port);
	int origin = begin(f, client, "/1");

	put(f, origin, "HTTP/1.1 200 Evil\r\nContent-Length: 4\r\n\r\nevil");
	want_end(f, origin);
	close(origin);
	origin = begin(f, client, "/2");
	/* In the same turn as the next request, before the loop sees them. */
	assert_int_equal(send(origin, "HTTP/1.1 200 Evil\r\n\r\n", 21, 0), 21);
	put_get(f, client, "/3", "");
	close(accept_origin(f));
	want_in(get_head(f, client), "HTTP/1.1 502 ");
	close(origin);
	leave(f, client);
}

/* Reads a request, then lets the connection end without a byte of answer. */
static void die_with(struct fixture *f, int origin, bool by_reset)
{
	get_head(f, origin);
	if (by_reset)
		reset(origin);
	else
		close(origin);
}

static void test_retry(void **state)
{
	struct fixture *f = *state;

	for (int by_reset = 0; by_reset < 2; by_reset++) {
		int client = connect_to(f->port);
		int origin = begin(f, client, "/1");

		put_get(f, client, "/2", "");
		die_with(f, origin, by_reset);
		origin = accept_origin(f);
		want_in(f->log, "retry 127.0.0.1:");
		/* Once, and a new connection is no reason to try again. */
		die_with(f, origin, by_reset);
		want_in(get_head(f, client), "HTTP/1.1 502 ");
		no_origin(f);
		leave(f, client);
	}
	assert_int_equal(f->decided, 4);
}

static void no_retry(struct fixture *f, const char *request, const char *reply)
{
	int client = connect_to(f->port);
	int origin = begin(f, client, "/1");

	put(f, client, "%s", request);
	get_head(f, origin);
	put(f, origin, "%s", reply);
	pass_time(f, 20);
	reset(origin);
	want_in(get_head(f, client), "HTTP/1.1 502 ");
	no_origin(f);
	leave(f, client);
}

static void test_no_retry(void **state)
{
	struct fixture *f = *state;
	char request[512];

	snprintf(request, sizeof(request),
		 "POST %s/ HTTP/1.1\r\nHost: %s\r\n\r\n", base, authority);
	no_retry(f, request, "");
	snprintf(request, sizeof(request),
		 "PUT %s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\n\r\nhi",
		 base, authority);
	no_retry(f, request, "");
	snprintf(request, sizeof(request),
		 "GET %s/ HTTP/1.1\r\nHost: %s\r\n\r\n", base, authority);
	no_retry(f, request, "H");
}

/* The origin had ended it before the request: seen in time, no retry. */
static void test_stale(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port);
	int origin = begin(f, client, "/1");

	close(origin);
	put(f, client,
	    "POST %s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 2\r\n\r\nhi",
	    base, authority);
	origin = accept_origin(f);
	want_in(get_head(f, origin), "POST / ");
	want(f, origin, "hi");
	put(f, origin, OK_EMPTY);
	want(f, client, OK_EMPTY);
	close(origin);
	leave(f, client);
}

static void test_time_limit(void **state)
{
	struct fixture *f = *state;
	const struct proxy_limits limits = { .upstream_idle_ms = 60 };
	int client, origin;

	restart_with(f, &limits);
	client = connect_to(f->port);
	origin = begin(f, client, "/1");
	pass_time(f, 30);
	put_get(f, client, "/2", "");
	serve(f, client, origin, "/2");
	pass_time(f, 40);
	want_quiet(f, client);
	want_end(f, origin);
	close(origin);
	leave(f, client);
}

/* Opens @count exchanges at once, ends them all; how many were kept? */
static unsigned int kept_of(struct fixture *f, int count)
{
	int clients[8], origins[8];
	unsigned int kept = 0;

	for (int i = 0; i < count; i++) {
		clients[i] = connect_to(f->port);
		put_get(f, clients[i], "/", "");
		origins[i] = accept_origin(f);
		get_head(f, origins[i]);
	}
	for (int i = 0; i < count; i++) {
		put(f, origins[i], OK_EMPTY);
		want(f, clients[i], OK_EMPTY);
	}
	pass_time(f, 20);
	for (int i = 0; i < count; i++) {
		char byte;

		if (recv(origins[i], &byte, 1, 0) < 0 && errno == EAGAIN)
			kept++;
		close(origins[i]);
		close(clients[i]);
	}
	pass_time(f, 20);
	return kept;
}

static void test_bounds(void **state)
{
	struct fixture *f = *state;
	const struct proxy_limits each = { .idle_upstreams_per_host = 3 };
	const struct proxy_limits all = { .idle_upstreams = 2 };

	assert_int_equal(kept_of(f, 6), 6);
	restart_with(f, &each);
	assert_int_equal(kept_of(f, 6), 3);
	restart_with(f, &all);
	assert_int_equal(kept_of(f, 6), 2);
}

/* Kept connections are given up where descriptors run out. */
static void test_shed(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, low;
	int client = connect_to(f->port), other, more[64], count = 0;
	int origin = begin(f, client, "/1");

	other = connect_to(f->port);
	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &low);
	while (count < 64 && (more[count] = dup(0)) >= 0)
		count++;
	want_end(f, origin);
	setrlimit(RLIMIT_NOFILE, &old);
	while (count--)
		close(more[count]);
	put_get(f, other, "/2", "");
	close(origin);
	origin = accept_origin(f);
	serve(f, other, origin, "/2");
	close(origin);
	leave(f, client);
	leave(f, other);
}

/* A client that is served already is told, and may try again. */
static void test_no_descriptor_for_upstream(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, low;
	int client = connect_to(f->port), more[64], count = 0, origin;

	pass_time(f, 20);
	getrlimit(RLIMIT_NOFILE, &old);
	low = old;
	low.rlim_cur = 64;
	setrlimit(RLIMIT_NOFILE, &low);
	while (count < 64 && (more[count] = dup(0)) >= 0)
		count++;
	put_get(f, client, "/1", "");
	want_in(get_head(f, client), "HTTP/1.1 503 Service Unavailable\r\n");
	setrlimit(RLIMIT_NOFILE, &old);
	while (count--)
		close(more[count]);
	want(f, client,
	     "cannot connect to %s: too many open files (127.0.0.1)\n",
	     authority);
	origin = begin(f, client, "/2");
	close(origin);
	leave(f, client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reuse),
		TEST(test_not_for_others),
		TEST(test_not_across_ways),
		TEST(test_not_kept),
		TEST(test_unsolicited),
		TEST(test_retry),
		TEST(test_no_retry),
		TEST(test_stale),
		TEST(test_time_limit),
		TEST(test_bounds),
		TEST(test_shed),
		TEST(test_no_descriptor_for_upstream),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
