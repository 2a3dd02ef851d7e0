/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies read before a verdict, and verdicts on responses, call by call. */
#include "proxy_fixture.h"

#include "proxy/decode.h"

static unsigned int told;

static void on_told(void *context)
{
	assert_non_null(context);
	told++;
}

/* Sends a request's head and has its verdict held. */
static int put_held(struct fixture *f, const char *fields)
{
	int client = connect_to(f->port);

	told = 0;
	f->answer = ANSWER_HELD;
	put(f, client, "POST %s/x HTTP/1.1\r\nHost: %s\r\n%s\r\n", base,
	    authority, fields);
	for (uint64_t end = now_ms() + PATIENCE_MS; !f->held;) {
		assert_true(now_ms() < end);
		spin(f);
	}
	return client;
}

static void want_told(struct fixture *f, unsigned int count)
{
	for (uint64_t end = now_ms() + PATIENCE_MS; told < count;) {
		assert_true(now_ms() < end);
		spin(f);
	}
	pass_time(f, 20);
	assert_int_equal(told, count);
}

static void wait_for_body(struct fixture *f, size_t max)
{
	assert_false(proxy_body(f->held, max));
	proxy_body_watch(f->held, on_told, f);
	proxy_body_go_on(f->held);
}

static void want_body(struct fixture *f, size_t max, const char *text)
{
	struct proxy_text body;

	assert_null(proxy_body_take(f->held, max, &body));
	assert_int_equal(body.size, strlen(text));
	assert_memory_equal(body.data ? body.data : "", text, body.size);
}

static void give(struct fixture *f, struct proxy_verdict verdict)
{
	struct proxy_ask *ask = f->held;

	f->held = NULL;
	f->answer = ANSWER_HELD;
	f->verdict = verdict;
	proxy_answer(ask, &verdict);
}

static void test_body_in_pieces(void **state)
{
	struct fixture *f = *state;
	int client = put_held(f, "Transfer-Encoding: chunked\r\n"
				 "Trailer: X-T\r\n");
	int origin;

	wait_for_body(f, 100);
	put(f, client, "3\r\nab");
	want_told(f, 0);
	put(f, client, "c\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\n");
	want_told(f, 1);
	want_body(f, 100, "abcde");
	assert_true(proxy_body(f->held, 100));
	give(f, (struct proxy_verdict){ .allow = true, .host = "127.0.0.1" });
	origin = accept_origin(f);
	want_in(get_head(f, origin), "Transfer-Encoding: chunked\r\n");
	want(f, origin, "5\r\nabcde\r\n0\r\nX-T: 1\r\n\r\n");
	close(origin);
	leave(f, client);
}

/* What is beyond the bound stays outside, and all of it goes on. */
static void test_body_too_long(void **state)
{
	struct fixture *f = *state;
	int client = put_held(f, "Content-Length: 9\r\n"), origin;
	struct proxy_text body;

	wait_for_body(f, 4);
	put(f, client, "abcdefg");
	want_told(f, 1);
	assert_ptr_equal(proxy_body_take(f->held, 4, &body), decode_too_long);
	/* Whoever asks for more gets it. */
	wait_for_body(f, 9);
	put(f, client, "hi");
	want_told(f, 2);
	want_body(f, 9, "abcdefghi");
	assert_ptr_equal(proxy_body_take(f->held, 8, &body), decode_too_long);
	give(f, (struct proxy_verdict){ .allow = true, .host = "127.0.0.1" });
	origin = accept_origin(f);
	want_in(get_head(f, origin), "Content-Length: 9\r\n");
	want(f, origin, "abcdefghi");
	close(origin);
	leave(f, client);
}

static void test_body_there_or_none(void **state)
{
	struct fixture *f = *state;
	int client = put_held(f, "");

	assert_true(proxy_body(f->held, 1));
	want_body(f, 1, "");
	give(f, (struct proxy_verdict){ .reason = "no" });
	leave(f, client);
	client = put_held(f, "Content-Length: 3\r\n\r\nabcGET");
	assert_true(proxy_body(f->held, 3));
	want_body(f, 3, "abc");
	give(f, (struct proxy_verdict){ .reason = "no" });
	leave(f, client);
}

static void test_continue_once(void **state)
{
	struct fixture *f = *state;
	int client = put_held(f, "Expect: 100-continue\r\n"
				 "Content-Length: 3\r\n");
	int origin;

	want_quiet(f, client);
	wait_for_body(f, 1);
	want(f, client, "HTTP/1.1 100 Continue\r\n\r\n");
	wait_for_body(f, 9);
	want_quiet(f, client);
	put(f, client, "abc");
	want_told(f, 1);
	give(f, (struct proxy_verdict){ .allow = true, .host = "127.0.0.1" });
	origin = accept_origin(f);
	want_out(get_head(f, origin), "Expect");
	want(f, origin, "abc");
	/* The origin's own 100 has nobody who waits for it. */
	put(f, origin,
	    "HTTP/1.1 100 Continue\r\n\r\n"
	    "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	close(origin);
	leave(f, client);
}

/* A client that goes, or sends nonsense, cancels the question. */
static void test_body_that_fails(void **state)
{
	struct fixture *f = *state;
	int client = put_held(f, "Content-Length: 9\r\n\r\nabc");

	wait_for_body(f, 9);
	reset(client);
	pass_time(f, QUIET_MS);
	assert_int_equal(f->cancelled, 1);
	client = put_held(f, "Transfer-Encoding: chunked\r\n");
	wait_for_body(f, 9);
	put(f, client, "zz\r\n");
	want_in(get_head(f, client), "HTTP/1.1 400 ");
	assert_int_equal(f->cancelled, 2);
	leave(f, client);
	client = put_held(f, "Content-Length: 9\r\n\r\nabc");
	wait_for_body(f, 9);
	shutdown(client, SHUT_WR);
	want_end(f, client);
	assert_int_equal(f->cancelled, 3);
	assert_int_equal(told, 0);
	close(client);
	no_origin(f);
	/* The end of the proxy is one of all questions. */
	client = put_held(f, "Content-Length: 9\r\n\r\nabc");
	wait_for_body(f, 9);
	stop_proxy(f);
	assert_int_equal(f->cancelled, 4);
	close(client);
}

/* A request that is allowed, with its response reviewed; its origin. */
static int put_reviewed(struct fixture *f, int *client)
{
	int origin;

	*client = put_held(f, "");
	give(f, (struct proxy_verdict){ .allow = true,
					.host = "127.0.0.1",
					.review = true,
					.token = 7 });
	origin = accept_origin(f);
	get_head(f, origin);
	return origin;
}

static void want_question(struct fixture *f)
{
	for (uint64_t end = now_ms() + PATIENCE_MS; !f->held;) {
		assert_true(now_ms() < end);
		spin(f);
	}
	assert_int_equal(f->forgotten, 0);
}

static void test_review(void **state)
{
	struct fixture *f = *state;
	const struct proxy_header set = { proxy_text_of("A"),
					  proxy_text_of("b") };
	int client, origin = put_reviewed(f, &client);

	put(f, origin,
	    "HTTP/1.1 103 H\r\nLink: x\r\n\r\n"
	    "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: 1\r\n\r\nab");
	want_question(f);
	assert_int_equal(f->decided, 2);
	want_quiet(f, client);
	wait_for_body(f, 9);
	put(f, origin, "cde");
	want_told(f, 1);
	want_body(f, 9, "abcde");
	give(f, (struct proxy_verdict){ .allow = true,
					.status = 404,
					.set = &set,
					.set_count = 1,
					.token = 7 });
	want(f, client,
	     "HTTP/1.1 404 Not Found\r\nX: 1\r\nA: b\r\n"
	     "Content-Length: 5\r\n\r\nabcde");
	assert_int_equal(f->forgotten, 1);
	close(origin);
	leave(f, client);
}

static void test_review_replaced(void **state)
{
	struct fixture *f = *state;
	int client, origin = put_reviewed(f, &client);

	put(f, origin,
	    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	want_question(f);
	give(f, (struct proxy_verdict){ .allow = true,
					.body = proxy_text_of("new"),
					.token = 7 });
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nnew");
	/* Nobody waits for the rest of what was replaced. */
	want_end(f, origin);
	assert_int_equal(f->forgotten, 1);
	close(origin);
	leave(f, client);
}

/* Who is gone is asked no more; the token goes in each case. */
static void test_review_cut_short(void **state)
{
	struct fixture *f = *state;
	int client, origin = put_reviewed(f, &client);

	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
	want_question(f);
	wait_for_body(f, 9);
	close(origin);
	want_in(get_head(f, client), "HTTP/1.1 502 ");
	assert_int_equal(f->cancelled, 1);
	assert_int_equal(f->forgotten, 1);
	leave(f, client);
	f->forgotten = 0;
	origin = put_reviewed(f, &client);
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
	want_question(f);
	wait_for_body(f, 9);
	reset(client);
	pass_time(f, QUIET_MS);
	assert_int_equal(f->cancelled, 2);
	assert_int_equal(f->forgotten, 1);
	close(origin);
	f->forgotten = 0;
	origin = put_reviewed(f, &client);
	close(origin);
	want_in(get_head(f, client), "HTTP/1.1 502 ");
	assert_int_equal(f->forgotten, 1);
	leave(f, client);
}

static void test_review_at_the_end(void **state)
{
	struct fixture *f = *state;
	int client, origin = put_reviewed(f, &client);

	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab");
	want_question(f);
	stop_proxy(f);
	assert_int_equal(f->cancelled, 1);
	assert_int_equal(f->forgotten, 1);
	close(origin);
	close(client);
}

/* A response that waits for its verdict is not read without end. */
static void test_review_holds_back(void **state)
{
	enum { FAR = 40000000 };
	struct fixture *f = *state;
	int client, origin = put_reviewed(f, &client);
	char bytes[65536] = "";
	size_t sent = 0;

	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", FAR);
	want_question(f);
	for (int quiet = 0; quiet < 100; quiet++) {
		ssize_t some = send(origin, bytes, sizeof(bytes), MSG_NOSIGNAL);

		spin(f);
		if (some > 0) {
			sent += (size_t)some;
			quiet = 0;
			assert_true(sent < FAR);
		} else {
			usleep(500);
		}
	}
	give(f, (struct proxy_verdict){ .reason = "too much", .token = 7 });
	want_in(get_head(f, client), "HTTP/1.1 502 Bad Gateway\r\n");
	want(f, client, "too much\n");
	close(origin);
	leave(f, client);
}

static void test_review_bad_verdicts(void **state)
{
	struct fixture *f = *state;
	const struct proxy_header length = { proxy_text_of("Content-Length"),
					     proxy_text_of("1") };
	const struct proxy_verdict rows[] = {
		{ .allow = true, .status = 199, .token = 7 },
		{ .allow = true, .status = 600, .token = 7 },
		{ .allow = true, .set = &length, .set_count = 1, .token = 7 },
		{ .allow = true,
		  .remove = &length.name,
		  .remove_count = 1,
		  .token = 7 },
		{ .respond = true, .status = 101, .token = 7 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int client, origin = put_reviewed(f, &client);

		put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
		want_question(f);
		give(f, rows[i]);
		want_in(get_head(f, client), "X-Proxy-Error: bad-verdict\r\n");
		assert_int_equal(f->forgotten, 1);
		f->forgotten = 0;
		close(origin);
		leave(f, client);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_body_in_pieces),	TEST(test_body_too_long),
		TEST(test_body_there_or_none),	TEST(test_continue_once),
		TEST(test_body_that_fails),	TEST(test_review),
		TEST(test_review_replaced),	TEST(test_review_cut_short),
		TEST(test_review_at_the_end),	TEST(test_review_holds_back),
		TEST(test_review_bad_verdicts),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
