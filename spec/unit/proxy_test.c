/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy on a real loop, between a raw client and a scripted origin. */
#include "proxy_fixture.h"

/* Requests */

static void test_get(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put_get(f, client, "/a?q=1",
		"Accept: x\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
		"TE: trailers\r\nProxy-Authorization: Basic x\r\n"
		"Proxy-Connection: keep-alive\r\nKeep-Alive: 3\r\n"
		"Upgrade: h2c\r\nX-Obs: \xff\r\n");
	origin = accept_origin(f);
	want(f, origin,
	     "GET /a?q=1 HTTP/1.1\r\nHost: %s\r\nAccept: x\r\nX-Obs: \xff\r\n"
	     "TE: trailers\r\nConnection: TE\r\n\r\n",
	     authority);
	assert_string_equal(f->address, "127.0.0.1");
	want_in(f->asked, "request 127.0.0.1:");
	want_in(f->asked, " GET http://127.0.0.1:");
	want_in(f->asked, " /a?q=1");
	want_in(f->log, "allow GET http://127.0.0.1:");
	want_out(f->log, "q=1");
	put(f, origin,
	    "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\nA: b\r\n"
	    "Connection: close, x-drop\r\nX-Drop: 1\r\nKeep-Alive: 5\r\n"
	    "Proxy-Authenticate: x\r\nSet-Cookie: 1\r\nSet-Cookie: 2\r\n\r\n"
	    "hisurplus");
	want(f, client,
	     "HTTP/1.1 200 Fine\r\nA: b\r\nSet-Cookie: 1\r\nSet-Cookie: 2\r\n"
	     "Content-Length: 2\r\n\r\nhi");
	want_quiet(f, client);
	close(origin);
	leave(f, client);
}

static void answer_plainly(struct fixture *f, int client, const char *path)
{
	int origin = accept_origin(f);
	char line[64];

	snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n", path);
	want_in(get_head(f, origin), line);
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
	    strlen(path), path);
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%s",
	     strlen(path), path);
	close(origin);
}

static void test_keep_alive(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port);

	put_get(f, client, "/one", "");
	answer_plainly(f, client, "/one");
	put_get(f, client, "/two", "");
	answer_plainly(f, client, "/two");
	assert_int_equal(f->decided, 2);
	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .reason = "no more" };
	put_get(f, client, "/three", "");
	want_in(get_head(f, client), "HTTP/1.1 403 Forbidden\r\n");
	want(f, client, "no more\n");
	assert_int_equal(f->decided, 3);
	leave(f, client);
}

/* Where others reach it, the proxy hears only who knows its token. */
static void test_login(void **state)
{
	static const struct proxy_login login = {
		.user = { "srt", 3 },
		.password = { "tok", 3 },
		.authorization = { "Basic c3J0OnRvaw==", 18 },
	};
	static const char *const wrong[] = {
		"",
		"Proxy-Authorization: Basic c3J0OnRvSw==\r\n",
		"Proxy-Authorization: Basic c3J0OnRvaw=\r\n",
		"Proxy-Authorization: Basic \r\n",
		"Proxy-Authorization: Bearer c3J0OnRvaw==\r\n",
		"Authorization: Basic c3J0OnRvaw==\r\n",
		("Proxy-Authorization: Basic c3J0OnRvaw==\r\n"
		 "Proxy-Authorization: Basic c3J0OnRvaw==\r\n"),
	};
	struct fixture *f = *state;
	int client;

	assert_int_equal(proxy_login(f->proxy, &login), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		client = connect_to(f->port);
		put_get(f, client, "/one", wrong[i]);
		const char *head = get_head(f, client);

		want_in(head, "HTTP/1.1 407 Proxy Authentication Required\r\n");
		want_in(head, "X-Proxy-Error: login-needed\r\n");
		want_in(head, "Proxy-Authenticate: Basic realm=\"srt\"\r\n");
		close(client);
	}
	client = connect_to(f->port);
	put(f, client, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority,
	    authority);
	want_in(get_head(f, client), "HTTP/1.1 407 ");
	close(client);
	client = connect_to(f->port);
	put(f, client, "\5\1%c", 0);
	want(f, client, "\5\377");
	close(client);
	assert_int_equal(f->decided, 0);
	client = connect_to(f->port);
	put_get(f, client, "/one",
		"proxy-authorization: BASIC c3J0OnRvaw==\r\n");
	answer_plainly(f, client, "/one");
	put_get(f, client, "/two", "Proxy-Authorization: Bearer tok\r\n");
	answer_plainly(f, client, "/two");
	assert_int_equal(f->decided, 2);
	leave(f, client);
}

/* Who asks about requests of others is answered, and led nowhere. */
static void test_authz(void **state)
{
	static const char *const wrong[] = {
		"GET /x HTTP/1.0\r\n\r\n",
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
		"\5\1\r\n",
	};
	struct fixture *f = *state;
	int port, client;

	assert_int_equal(proxy_authorize(f->proxy, listen_on(64, &port)), 0);
	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .respond = true, .status = 200 };
	client = connect_to(port);
	put(f, client,
	    "POST /x/a?b HTTP/1.1\r\nHost: front:81\r\n"
	    "Content-Length: 3\r\n\r\nabc");
	want_in(get_head(f, client), "HTTP/1.1 200 OK\r\n");
	want_in(f->asked, "front");
	want_in(f->asked, "81");
	f->verdict = (struct proxy_verdict){ .reason = "no" };
	put(f, client, "GET /y HTTP/1.1\r\nHost: front\r\n\r\n");
	want_in(get_head(f, client), "HTTP/1.1 403 Forbidden\r\n");
	want(f, client, "no\n");
	f->answer = ANSWER_ALLOW;
	put(f, client, "GET /y HTTP/1.1\r\nHost: %s\r\n\r\n", authority);
	want_in(get_head(f, client), "X-Proxy-Error: bad-verdict\r\n");
	close(client);
	assert_int_equal(f->decided, 3);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		client = connect_to(port);
		put(f, client, "%s", wrong[i]);
		want_in(get_head(f, client), "HTTP/1.1 40");
		close(client);
	}
	assert_int_equal(f->decided, 3);
	assert_int_equal(f->checked, 0);
}

static void test_pipelining(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port);

	put(f, client,
	    "GET %s/1 HTTP/1.1\r\nHost: %s\r\n\r\n"
	    "GET %s/2 HTTP/1.1\r\nHost: %s\r\n\r\n"
	    "GET %s/3 HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
	    "GET %s/4 HTTP/1.1\r\nHost: %s\r\n\r\n",
	    base, authority, base, authority, base, authority, base, authority);
	for (int i = 1; i <= 2; i++) {
		char path[3] = { '/', (char)('0' + i), 0 };

		pass_time(f, 20);
		assert_int_equal(f->decided, i);
		answer_plainly(f, client, path);
	}
	int origin = accept_origin(f);

	get_head(f, origin);
	put(f, origin, "HTTP/1.1 204 No\r\nContent-Length: 0\r\n\r\n");
	want(f, client, "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n");
	want_end(f, client);
	assert_int_equal(f->decided, 3);
	close(origin);
	leave(f, client);
}

/* Thousands of pipelined requests must neither recurse nor pile up. */
static void test_pipelined_denials(void **state)
{
	enum { MANY = 3000 };
	struct fixture *f = *state;
	int client = connect_to(f->port);
	static const char answer[] =
		"HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"
		"X-Proxy-Error: blocked-by-policy\r\nContent-Length: 5\r\n\r\n"
		"stop\n";
	char *all = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&all, &size);

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .reason = "stop" };
	for (int i = 0; i < MANY; i++)
		fprintf(file, "GET %s/ HTTP/1.1\r\nHost: %s\r\n\r\n", base,
			authority);
	fclose(file);
	put_bytes(f, client, all, size);
	for (int i = 0; i < MANY; i++)
		want_bytes(f, client, answer, sizeof(answer) - 1);
	assert_int_equal(f->decided, MANY);
	free(all);
	leave(f, client);
}

static void test_deny(void **state)
{
	struct fixture *f = *state;
	const struct proxy_header set = { { "X-Why", 5 }, { "rule 3", 6 } };
	int client = connect_to(f->port);

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .reason = "read-only token",
					     .status = 451,
					     .code = "my-code",
					     .set = &set,
					     .set_count = 1 };
	put(f, client,
	    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Content-Length: 5\r\n\r\nhello"
	    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	    "HEAD http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
	for (int i = 0; i < 3; i++) {
		want(f, client,
		     "HTTP/1.1 451 Unavailable For Legal Reasons\r\n"
		     "Content-Type: text/plain\r\nX-Proxy-Error: my-code\r\n"
		     "X-Why: rule 3\r\nContent-Length: 16\r\n\r\n%s",
		     i < 2 ? "read-only token\n" : "");
	}
	assert_int_equal(f->decided, 3);
	/* A status that is none of a denial, and unusable extras. */
	f->verdict = (struct proxy_verdict){
		.status = 200,
		.reason = "no",
		.code = "a\r\nb",
		.set = &(struct proxy_header){ { "a", 1 }, { "\r\nb", 3 } },
		.set_count = 1
	};
	put(f, client, "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n");
	want(f, client,
	     "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"
	     "X-Proxy-Error: blocked-by-policy\r\nContent-Length: 3\r\n\r\n"
	     "no\n");
	no_origin(f);
	assert_int_equal(f->checked, 0);
	leave(f, client);
}

/* Who was denied learns what, by which rule, and what to do instead. */
static void test_deny_in_full(void **state)
{
	static const struct {
		const char *fields;
		bool json;
	} accepts[] = {
		{ "", false },
		{ "Accept: */*\r\n", false },
		{ "Accept: application/json\r\n", true },
		{ "Accept: application/json, text/plain, */*\r\n", true },
		{ "Accept: text/html, application/json\r\n", false },
		{ "Accept: text/html;q=0.5\r\n"
		  "Accept: application/json; q=0.8\r\n",
		  true },
		{ "Accept: application/json;q=0, */*\r\n", false },
	};
	static const char lines[] =
		"Connection blocked\n\"no\"\x01\ndenied: GET http://a.test/x\n"
		"rule: r (p.lua:3)\ninstead: use b\n";
	static const char json[] =
		"{\"error\":\"\\\"no\\\"\\u0001\",\"status\":403,"
		"\"code\":\"blocked-by-policy\","
		"\"denied\":\"GET http://a.test/x\","
		"\"rule\":\"r (p.lua:3)\",\"instead\":\"use b\"}\n";
	struct fixture *f = *state;
	int client = connect_to(f->port);

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .reason = "\"no\"\x01",
					     .rule = "r (p.lua:3)",
					     .advice = "use b",
					     .title = "Connection blocked" };
	for (size_t i = 0; i < sizeof(accepts) / sizeof(accepts[0]); i++) {
		const char *type =
			accepts[i].json ? "application/json" : "text/plain";
		const char *head;

		put(f, client,
		    "GET http://a.test/x?secret HTTP/1.1\r\nHost: a.test\r\n"
		    "%s\r\n",
		    accepts[i].fields);
		head = get_head(f, client);
		want_in(head, type);
		want_in(head, "X-Proxy-Error: blocked-by-policy\r\n");
		want(f, client, "%s", accepts[i].json ? json : lines);
	}
	put(f, client,
	    "CONNECT a.test:443 HTTP/1.1\r\nAccept: application/json\r\n\r\n");
	want_in(get_head(f, client), "HTTP/1.1 403 \"no\"\r\n");
	want(f, client,
	     "{\"error\":\"\\\"no\\\"\\u0001\",\"status\":403,"
	     "\"code\":\"blocked-by-policy\","
	     "\"denied\":\"CONNECT a.test:443\",");
	leave(f, client);
}

static void test_deny_with_large_body(void **state)
{
	struct fixture *f = *state;
	char *body = calloc(1, 100000);
	int client = connect_to(f->port);

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .reason = "no" };
	put(f, client,
	    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Content-Length: 100000\r\n\r\n");
	put_bytes(f, client, body, 100000);
	want_in(get_head(f, client), "Connection: close\r\n");
	want(f, client, "no\n");
	want_end(f, client);
	leave(f, client);
	/* Of a chunked one the size is not known before. */
	client = connect_to(f->port);
	put(f, client,
	    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n186a0\r\n");
	want_out(get_head(f, client), "Connection");
	want(f, client, "no\n");
	put_bytes(f, client, body, 100000);
	want_end(f, client);
	leave(f, client);
	/* One that waits for 100 may or may not come. */
	client = connect_to(f->port);
	put(f, client,
	    "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
	    "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n");
	want_in(get_head(f, client), "Connection: close\r\n");
	want(f, client, "no\n");
	want_end(f, client);
	leave(f, client);
	free(body);
}

static void test_respond(void **state)
{
	struct fixture *f = *state;
	struct proxy_header set = { { "Content-Type", 12 }, { "a/b", 3 } };
	int client = connect_to(f->port);

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .respond = true,
					     .status = 200,
					     .set = &set,
					     .set_count = 1,
					     .body = { "{}", 2 } };
	put_get(f, client, "/", "");
	want(f, client,
	     "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n"
	     "Content-Length: 2\r\n\r\n{}");
	f->verdict.status = 204;
	f->verdict.body.size = 0;
	put_get(f, client, "/", "");
	want(f, client, "HTTP/1.1 204 No Content\r\nContent-Type: a/b\r\n\r\n");
	set.name = proxy_text_of("Content-Length");
	put_get(f, client, "/", "");
	want_in(get_head(f, client), "X-Proxy-Error: bad-verdict\r\n");
	leave(f, client);
	client = connect_to(f->port);
	put(f, client, "CONNECT a.test:443 HTTP/1.1\r\n\r\n");
	want_in(get_head(f, client), "HTTP/1.1 502 ");
	no_origin(f);
	leave(f, client);
}

static void test_edits(void **state)
{
	struct fixture *f = *state;
	const struct proxy_header set[] = {
		{ { "authorization", 13 }, { "Bearer x", 8 } },
		{ { "X-New", 5 }, { "1", 1 } },
	};
	const struct proxy_text remove[] = { { "COOKIE", 6 } };
	int client = connect_to(f->port), origin;

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .allow = true,
					     .host = "127.0.0.1",
					     .set = set,
					     .set_count = 2,
					     .remove = remove,
					     .remove_count = 1 };
	put_get(f, client, "/",
		"Authorization: old\r\nCookie: a\r\nB: c\r\n"
		"Authorization: older\r\nCookie: d\r\n");
	origin = accept_origin(f);
	want(f, origin,
	     "GET / HTTP/1.1\r\nHost: %s\r\nB: c\r\n"
	     "authorization: Bearer x\r\nX-New: 1\r\n\r\n",
	     authority);
	close(origin);
	leave(f, client);
}

static void test_bad_edits(void **state)
{
	static const struct proxy_header bad[] = {
		{ { "Content-Length", 14 }, { "1", 1 } },
		{ { "Host", 4 }, { "b", 1 } },
		{ { "connection", 10 }, { "x", 1 } },
		{ { "Transfer-Encoding", 17 }, { "chunked", 7 } },
		{ { "X: y\r\nZ", 7 }, { "1", 1 } },
		{ { "", 0 }, { "1", 1 } },
		{ { "X", 1 }, { "a\r\nb: c", 7 } },
		{ { "X", 1 }, { "a\0", 2 } },
		{ { "X", 1 }, { "\x1b", 1 } },
	};
	static const struct proxy_text remove = { "Host", 4 };
	static const char *const hosts[] = { NULL, "", "a b", "a\r\nB: c" };
	struct fixture *f = *state;

	f->answer = ANSWER_GIVEN;
	for (size_t i = 0; i < 14; i++) {
		int client = connect_to(f->port);

		f->verdict = (struct proxy_verdict){ .allow = true,
						     .host = "127.0.0.1" };
		if (i < 9) {
			f->verdict.set = &bad[i];
			f->verdict.set_count = 1;
		} else if (i < 10) {
			f->verdict.remove = &remove;
			f->verdict.remove_count = 1;
		} else {
			f->verdict.host = hosts[i - 10];
		}
		put_get(f, client, "/", "");
		want_in(get_head(f, client), "HTTP/1.1 502 Bad Gateway\r\n");
		want(f, client, "the policy's answer is unusable: ");
		leave(f, client);
	}
	no_origin(f);
}

static void test_bad_requests(void **state)
{
	static const struct {
		const char *request;
		const char *status;
		const char *reason;
	} rows[] = {
		{ "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", "400 Bad Request",
		  "this is a proxy: " },
		{ "GET https://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
		  "400 Bad Request", "https is not fetched in cleartext" },
		{ "TRACE http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
		  "405 Method Not Allowed", "the TRACE method" },
		{ "POST http://a/ HTTP/1.1\r\nHost: a\r\n"
		  "Transfer-Encoding: gzip, chunked\r\n\r\n",
		  "501 Not Implemented", "only the transfer coding" },
		{ "GET http://a/ HTTP/3.0\r\n\r\n",
		  "505 HTTP Version Not Supported", "only HTTP/1.0" },
		{ "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n",
		  "421 Misdirected Request", "Host differs" },
		/* The body came along, so nothing goes upstream. */
		{ "POST http://a/ HTTP/1.1\r\nHost: a\r\n"
		  "Transfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n",
		  "400 Bad Request", "chunk size" },
		{ "\x16\x03\x01", "400 Bad Request", "control byte" },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int client = connect_to(f->port);
		const char *head;

		put_bytes(f, client, rows[i].request, strlen(rows[i].request));
		head = get_head(f, client);
		want_in(head, rows[i].status);
		want_in(head, "X-Proxy-Error: bad-request\r\n");
		want_in(head, "Connection: close\r\n");
		want_bytes(f, client, rows[i].reason, strlen(rows[i].reason));
		leave(f, client);
	}
	assert_int_equal(f->decided, 0);
	no_origin(f);
}

static void test_large_head(void **state)
{
	const struct proxy_limits limits = { .header_bytes = 20000 };
	struct fixture *f = *state;
	char *value = calloc(1, 18001);
	int client, origin;

	restart_with(f, &limits);
	memset(value, 'a', 18000);
	client = connect_to(f->port);
	put(f, client, "GET %s/ HTTP/1.1\r\nHost: %s\r\nBig: %s\r\n\r\n", base,
	    authority, value);
	origin = accept_origin(f);
	want_in(get_head(f, origin), value);
	close(origin);
	leave(f, client);
	client = connect_to(f->port);
	put(f, client, "GET %s/ HTTP/1.1\r\nHost: %s\r\nBig: %s\r\n", base,
	    authority, value);
	put(f, client, "Big: %s\r\n\r\n", value);
	want_in(get_head(f, client), "HTTP/1.1 431 Request Header Fields");
	leave(f, client);
	free(value);
}

static void test_byte_by_byte(void **state)
{
	struct fixture *f = *state;
	char text[256];
	int client = connect_to(f->port), origin;

	snprintf(text, sizeof(text),
		 "\r\nPOST %s/ HTTP/1.1\r\nHost: %s\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n"
		 "5;x=y\r\nhello\r\n0\r\nT: 1\r\n\r\n",
		 base, authority);
	for (const char *byte = text; *byte; byte++)
		put_bytes(f, client, byte, 1);
	origin = accept_origin(f);
	want_in(get_head(f, origin), "Transfer-Encoding: chunked\r\n");
	static const char answer[] =
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

	for (const char *byte = answer; *byte; byte++)
		put_bytes(f, origin, byte, 1);
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	close(origin);
	leave(f, client);
}

/* Bodies */

static void test_chunked_both_ways(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client,
	    "POST %s/ HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n"
	    "Trailer: X-T, Host\r\n\r\n5;ext=1\r\nhello\r\n",
	    base, authority);
	origin = accept_origin(f);
	want(f, origin,
	     "POST / HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n"
	     "Trailer: X-T\r\n\r\n5\r\nhello\r\n",
	     authority);
	want_quiet(f, origin);
	put(f, client, "6\r\n world\r\n0\r\nX-T: v\r\nX-Other: w\r\n\r\n");
	/* What the head did not announce, the policy could not know of. */
	want(f, origin, "6\r\n world\r\n0\r\nX-T: v\r\n\r\n");
	put(f, origin,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
	    "Trailer: X\r\n\r\n3;a\r\nabc\r\n");
	want(f, client,
	     "HTTP/1.1 200 OK\r\nTrailer: X\r\n"
	     "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
	put(f, origin, "1\r\nd\r\n0\r\nX: y\r\nSet-Cookie: z\r\n\r\n");
	want(f, client, "1\r\nd\r\n0\r\nX: y\r\n\r\n");
	want_quiet(f, origin);
	put_get(f, client, "/next", "");
	close(origin);
	answer_plainly(f, client, "/next");
	leave(f, client);
}

static void test_close_delimited(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin, "HTTP/1.0 200 OK\r\n\r\nabc");
	want(f, client,
	     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	     "3\r\nabc\r\n");
	close(origin);
	want(f, client, "0\r\n\r\n");
	/* To an HTTP/1.0 client the end is the end of the connection. */
	put(f, client, "GET %s/ HTTP/1.0\r\n\r\n", base);
	origin = accept_origin(f);
	want_in(get_head(f, origin), "GET / HTTP/1.1\r\nHost: 127.0.0.1:");
	put(f, origin,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	    "3\r\nabc\r\n0\r\n\r\n");
	want(f, client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
	want_end(f, client);
	close(origin);
	leave(f, client);
}

static void test_bodiless(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client, "HEAD %s/ HTTP/1.1\r\nHost: %s\r\n\r\n", base,
	    authority);
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
	close(origin);
	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin,
	    "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
	want(f, client,
	     "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
	close(origin);
	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin,
	    "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n");
	want(f, client, "HTTP/1.1 204 No Content\r\n\r\n");
	close(origin);
	put_get(f, client, "/last", "");
	answer_plainly(f, client, "/last");
	leave(f, client);
}

static void test_continue(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client,
	    "POST %s/ HTTP/1.1\r\nHost: %s\r\nExpect: 100-continue\r\n"
	    "Content-Length: 5\r\n\r\n",
	    base, authority);
	origin = accept_origin(f);
	want_in(get_head(f, origin), "Expect: 100-continue\r\n");
	want_quiet(f, client);
	put(f, origin,
	    "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
	    "HTTP/1.1 100 Continue\r\n\r\n");
	want(f, client,
	     "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
	     "HTTP/1.1 100 Continue\r\n\r\n");
	put(f, client, "hello");
	want(f, origin, "hello");
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	close(origin);
	put_get(f, client, "/next", "");
	answer_plainly(f, client, "/next");
	leave(f, client);
}

/* The origin refuses without wanting the body. */
static void test_early_answer(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client,
	    "POST %s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 1000000\r\n\r\n"
	    "some",
	    base, authority);
	origin = accept_origin(f);
	get_head(f, origin);
	want(f, origin, "some");
	put(f, origin,
	    "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig");
	want(f, client,
	     "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n"
	     "Connection: close\r\n\r\nbig");
	want_end(f, client);
	want_end(f, origin);
	close(origin);
	leave(f, client);
}

static void test_interim_flood(void **state)
{
	struct fixture *f = *state;
	char flood[70 * 26] = "";
	int client = connect_to(f->port), origin;

	put(f, client, "GET %s/ HTTP/1.0\r\n\r\n", base);
	origin = accept_origin(f);
	get_head(f, origin);
	for (int i = 0; i < 70; i++)
		strcat(flood, "HTTP/1.1 100 Continue\r\n\r\n");
	put(f, origin, "%s", flood);
	want_in(get_head(f, client), "HTTP/1.1 502 ");
	close(origin);
	leave(f, client);
}

/* Moves @total patterned bytes from @from to @to while the loop turns. */
static void carry(struct fixture *f, int from, int to, size_t total)
{
	static char out[65536], in[65536];
	size_t sent = 0, got = 0;

	for (uint64_t end = now_ms() + 4 * PATIENCE_MS; got < total;) {
		size_t size =
			total - sent < sizeof(out) ? total - sent : sizeof(out);
		ssize_t n;

		for (size_t i = 0; i < size; i++)
			out[i] = (char)((sent + i) % 251);
		n = send(from, out, size, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		spin(f);
		n = recv(to, in, sizeof(in), 0);
		assert_int_not_equal(n, 0);
		for (ssize_t i = 0; i < n; i++) {
			if (in[i] != (char)((got + (size_t)i) % 251))
				fail_msg("byte %zu differs", got + (size_t)i);
		}
		got += n > 0 ? (size_t)n : 0;
		if (now_ms() > end)
			fail_msg("stuck at %zu of %zu", got, total);
	}
}

static void test_large_bodies(void **state)
{
	enum { LARGE = 20000000 };
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client,
	    "PUT %s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", base,
	    authority, LARGE);
	origin = accept_origin(f);
	want_in(get_head(f, origin), "Content-Length: 20000000\r\n");
	carry(f, client, origin, LARGE);
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LARGE);
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LARGE);
	carry(f, origin, client, LARGE);
	close(origin);
	put_get(f, client, "/next", "");
	answer_plainly(f, client, "/next");
	leave(f, client);
}

/* What a receiver does not take must wait with the sender, not in memory. */
static void test_back_pressure(void **state)
{
	enum { FAR = 100000000 };
	static char block[65536];
	struct fixture *f = *state;
	int client = connect_to(f->port), origin, small = 65536;
	size_t sent = 0;

	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	setsockopt(origin, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", FAR);
	for (int idle = 0; idle < 200 && sent < FAR;) {
		ssize_t n = send(origin, block, sizeof(block), MSG_NOSIGNAL);

		spin(f);
		sent += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
		if (n < 0)
			usleep(500);
	}
	if (sent > 40000000)
		fail_msg("%zu bytes vanished into the proxy", sent);
	close(origin);
	leave(f, client);
}

/* A client that asks and asks but never reads gets no more done. */
static void test_deaf_client(void **state)
{
	enum { FAR = 40000000 };
	static char block[65536];
	struct fixture *f = *state;
	int client = connect_to(f->port);
	size_t sent = 0, size = 0;
	char request[128];
	int length = snprintf(request, sizeof(request),
			      "GET %s/ HTTP/1.1\r\nHost: %s\r\n\r\n", base,
			      authority);

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .reason = "no" };
	for (; size + (size_t)length < sizeof(block); size += (size_t)length)
		memcpy(block + size, request, (size_t)length);
	for (int idle = 0; idle < 200 && sent < FAR;) {
		ssize_t n = send(client, block + sent % size,
				 size - sent % size, MSG_NOSIGNAL);

		spin(f);
		sent += n > 0 ? (size_t)n : 0;
		idle = n > 0 ? 0 : idle + 1;
		if (n < 0)
			usleep(500);
	}
	if (sent >= FAR)
		fail_msg("%zu bytes of requests were taken", sent);
	want_in(get_head(f, client), "HTTP/1.1 403 Forbidden\r\n");
	leave(f, client);
}

/* Upgrades and tunnels */

static void test_websocket(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put_get(f, client, "/ws",
		"Connection: Upgrade\r\nUpgrade: websocket\r\n"
		"Sec-WebSocket-Key: x\r\n");
	put(f, client, "early");
	origin = accept_origin(f);
	want(f, origin,
	     "GET /ws HTTP/1.1\r\nHost: %s\r\nSec-WebSocket-Key: x\r\n"
	     "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	     authority);
	put(f, origin,
	    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
	    "Upgrade: websocket\r\nSec-WebSocket-Accept: y\r\n\r\nframe");
	want(f, client,
	     "HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: y\r\n"
	     "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\nframe");
	want(f, origin, "early");
	put(f, client, "ping");
	want(f, origin, "ping");
	put(f, origin, "pong");
	want(f, client, "pong");
	close(origin);
	want_end(f, client);
	assert_int_equal(f->decided, 1);
	leave(f, client);
}

static void test_upgrade_refused(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put_get(f, client, "/ws",
		"Connection: Upgrade\r\nUpgrade: websocket\r\n");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
	want(f, client, "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
	close(origin);
	/* A switch that nobody asked for. */
	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin,
	    "HTTP/1.1 101 S\r\nConnection: Upgrade\r\n"
	    "Upgrade: websocket\r\n\r\n");
	want_in(get_head(f, client), "HTTP/1.1 502 ");
	want(f, client, "%s switched protocols unasked\n", authority);
	close(origin);
	leave(f, client);
}

static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";

static void test_connect(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;
	char asked[160];

	put(f, client, "CONNECT %s HTTP/1.1\r\nHost: other\r\n\r\nearly",
	    authority);
	origin = accept_origin(f);
	want(f, origin, "early");
	want(f, client, "%s", established);
	snprintf(asked, sizeof(asked), "connect %s CONNECT %s ", authority,
		 authority);
	assert_string_equal(f->asked, asked);
	/* Nothing in a tunnel is read as HTTP. */
	put(f, client, "GET /in HTTP/1.1\r\n\r\n");
	want(f, origin, "GET /in HTTP/1.1\r\n\r\n");
	put(f, origin, "HTTP/1.1 200 OK\n\n");
	want(f, client, "HTTP/1.1 200 OK\n\n");
	carry(f, client, origin, 5000000);
	carry(f, origin, client, 5000000);
	assert_int_equal(f->decided, 1);
	/* The client ends; the origin may still talk. */
	shutdown(client, SHUT_WR);
	want_end(f, origin);
	put(f, origin, "late");
	want(f, client, "late");
	close(origin);
	want_end(f, client);
	leave(f, client);
}

static void test_connect_payload_and_end(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client, "CONNECT %s HTTP/1.0\r\n\r\npayload", authority);
	shutdown(client, SHUT_WR);
	origin = accept_origin(f);
	want(f, origin, "payload");
	want_end(f, origin);
	put(f, origin, "answer");
	close(origin);
	want(f, client, "%sanswer", established);
	want_end(f, client);
	leave(f, client);
}

static void test_origin_ends_first(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	origin = accept_origin(f);
	put(f, origin, "220 hello\r\n");
	shutdown(origin, SHUT_WR);
	want(f, client, "%s220 hello\r\n", established);
	want_end(f, client);
	put(f, client, "QUIT\r\n");
	want(f, origin, "QUIT\r\n");
	close(client);
	want_end(f, origin);
	close(origin);
}

static void test_tunnel_reset(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	origin = accept_origin(f);
	want(f, client, "%s", established);
	put(f, origin, "part");
	want(f, client, "part");
	reset(origin);
	want_reset(f, client);
	leave(f, client);
	client = connect_to(f->port);
	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	origin = accept_origin(f);
	want(f, client, "%s", established);
	reset(client);
	want_reset(f, origin);
	close(origin);
}

static void test_connect_denied(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port);

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){
		.reason = "SSH is blocked; use https\r\nX: y"
	};
	put(f, client, "CONNECT github.com:22 HTTP/1.1\r\n\r\nSSH-2.0");
	want(f, client,
	     "HTTP/1.1 403 SSH is blocked; use httpsX: y\r\n"
	     "Content-Type: text/plain\r\nX-Proxy-Error: blocked-by-policy\r\n"
	     "Content-Length: 32\r\nConnection: close\r\n\r\n"
	     "SSH is blocked; use https\r\nX: y\n");
	want_end(f, client);
	assert_string_equal(f->log, "deny CONNECT github.com:22 (SSH is "
				    "blocked; use https??X: y)");
	leave(f, client);
}

/* Asks */

/* The held question is answered; the connection that follows, its head read. */
static int let_go(struct fixture *f)
{
	const struct proxy_verdict verdict = { .allow = true,
					       .host = "127.0.0.1" };
	struct proxy_ask *ask = f->held;
	int origin;

	assert_non_null(ask);
	assert_int_equal(f->cancelled, 0);
	f->held = NULL;
	proxy_answer(ask, &verdict);
	origin = accept_origin(f);
	get_head(f, origin);
	return origin;
}

static void test_held_answer(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	f->answer = ANSWER_HELD;
	put(f, client,
	    "POST %s/held HTTP/1.1\r\nHost: %s\r\nContent-Length: 5\r\n\r\n"
	    "hello",
	    base, authority);
	/* The client's end behind a whole request is no abort. */
	shutdown(client, SHUT_WR);
	no_origin(f);
	origin = let_go(f);
	want(f, origin, "hello");
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	want_end(f, client);
	close(origin);
	leave(f, client);
}

static void await_ask(struct fixture *f)
{
	for (int i = 0; i < 1000 && !f->held; i++)
		pass_time(f, 1);
	assert_non_null(f->held);
}

static void await_cancel(struct fixture *f, unsigned int count)
{
	for (int i = 0; i < 1000 && f->cancelled < count; i++)
		pass_time(f, 1);
	assert_int_equal(f->cancelled, count);
}

static void test_abort_during_ask(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port);

	f->answer = ANSWER_HELD;
	put_get(f, client, "/", "");
	await_ask(f);
	reset(client);
	await_cancel(f, 1);
	/* An end within the request's body is an abort too. */
	client = connect_to(f->port);
	put(f, client,
	    "POST %s/ HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n"
	    "\r\n5\r\nhel",
	    base, authority);
	await_ask(f);
	close(client);
	await_cancel(f, 2);
	client = connect_to(f->port);
	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	await_ask(f);
	reset(client);
	await_cancel(f, 3);
	no_origin(f);
}

enum { MUCH = 49152 };

/* Sends more of a body than is read before the verdict. */
static int pour(struct fixture *f, const char *framing)
{
	static char data[MUCH];
	int client = connect_to(f->port);

	put(f, client, "POST %s/ HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n", base,
	    authority, framing);
	await_ask(f);
	put_bytes(f, client, data, sizeof(data));
	pass_time(f, 20);
	return client;
}

/* It stops being read, and its going is seen all the same. */
static void test_abort_behind_much_unread(void **state)
{
	struct fixture *f = *state;
	int client;

	f->answer = ANSWER_HELD;
	client = pour(f, "Content-Length: 1000000");
	reset(client);
	await_cancel(f, 1);
	/* An end in the middle of the body. */
	client = pour(f, "Content-Length: 1000000");
	close(client);
	await_cancel(f, 2);
	/* What is not HTTP's: an end is no abort, a reset is. */
	client = connect_to(f->port);
	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n%040000d", authority, 0);
	await_ask(f);
	reset(client);
	await_cancel(f, 3);
	no_origin(f);
}

static void test_end_behind_much_unread(void **state)
{
	struct fixture *f = *state;
	static char data[MUCH];
	int client, origin;

	f->answer = ANSWER_HELD;
	client = pour(f, "Content-Length: 49152");
	shutdown(client, SHUT_WR);
	pass_time(f, 1500);
	origin = let_go(f);
	want_bytes(f, origin, data, sizeof(data));
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	want_end(f, client);
	close(origin);
	leave(f, client);
}

static void test_close_in_flight(void **state)
{
	struct fixture *f = *state;
	int clients[6], origin[3], port, full, fill[2];

	f->answer = ANSWER_ALLOW;
	/* A tunnel, a request awaiting its answer, one amid its body. */
	clients[0] = connect_to(f->port);
	put(f, clients[0], "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	origin[0] = accept_origin(f);
	want(f, clients[0], "%s", established);
	clients[1] = connect_to(f->port);
	put_get(f, clients[1], "/", "");
	origin[1] = accept_origin(f);
	get_head(f, origin[1]);
	clients[2] = connect_to(f->port);
	put_get(f, clients[2], "/", "");
	origin[2] = accept_origin(f);
	get_head(f, origin[2]);
	put(f, origin[2], "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
	want(f, clients[2], "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc");
	/* One dialling a peer whose backlog is full, one looking up a name. */
	full = listen_on(0, &port);
	fill[0] = connect_to(port);
	fill[1] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	clients[3] = connect_to(f->port);
	put(f, clients[3], "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", port);
	pass_time(f, 20);
	clients[4] = connect_to(f->port);
	put(f, clients[4], "CONNECT localhost:%d HTTP/1.1\r\n\r\n", port);
	/* And one that is asked about. */
	f->answer = ANSWER_HELD;
	clients[5] = connect_to(f->port);
	put_get(f, clients[5], "/", "");
	await_ask(f);
	stop_proxy(f);
	assert_int_equal(f->cancelled, 1);
	for (int i = 0; i < 6; i++) {
		char byte;

		assert_true(recv(clients[i], &byte, 1, 0) <= 0);
		assert_int_not_equal(errno, EAGAIN);
		errno = 0;
		close(clients[i]);
	}
	for (int i = 0; i < 3; i++)
		close(origin[i]);
	close(full);
	close(fill[0]);
	close(fill[1]);
}

/* Failures */

static void test_address_refused(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port);

	f->refused_address = "127.0.0.1 ::1";
	put(f, client,
	    "POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost:%d\r\n"
	    "Content-Length: 2\r\n\r\nab",
	    f->origin_port, f->origin_port);
	want(f, client,
	     "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\n"
	     "X-Proxy-Error: blocked-by-policy\r\nContent-Length: 31\r\n\r\n"
	     "resolved to a loopback address\n");
	/* The connection stays usable. */
	f->refused_address = NULL;
	put_get(f, client, "/ok", "");
	answer_plainly(f, client, "/ok");
	f->refused_address = "127.0.0.1 ::1";
	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	want_in(get_head(f, client),
		"HTTP/1.1 403 resolved to a loopback address\r\n");
	want(f, client, "resolved to a loopback address\n");
	want_end(f, client);
	no_origin(f);
	leave(f, client);
}

/* Of several addresses the first that passes and answers is taken. */
static void test_second_address(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	f->refused_address = "::1";
	put(f, client, "CONNECT localhost:%d HTTP/1.1\r\n\r\n", f->origin_port);
	origin = accept_origin(f);
	want(f, client, "%s", established);
	assert_string_equal(f->address, "127.0.0.1");
	close(origin);
	leave(f, client);
	f->refused_address = NULL;
	client = connect_to(f->port);
	put(f, client, "CONNECT localhost:%d HTTP/1.1\r\n\r\n", f->origin_port);
	origin = accept_origin(f);
	want(f, client, "%s", established);
	close(origin);
	leave(f, client);
}

/* The verdict's host is what is dialled and named, whatever was spelled. */
static void test_canonical_host(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	f->host = "127.0.0.1";
	put(f, client,
	    "GET http://A.Test.:%d/ HTTP/1.1\r\nHost: a.test.:%d\r\n\r\n",
	    f->origin_port, f->origin_port);
	origin = accept_origin(f);
	want_in(get_head(f, origin), "Host: 127.0.0.1:");
	want_in(f->asked, "request A.Test.:");
	close(origin);
	leave(f, client);
}

static void test_upstream_refuses(void **state)
{
	struct fixture *f = *state;
	int port, client = connect_to(f->port);

	close(listen_on(1, &port));
	put(f, client,
	    "GET http://127.0.0.1:%d/ HTTP/1.1\r\n"
	    "Host: 127.0.0.1:%d\r\n\r\n",
	    port, port);
	want_in(get_head(f, client), "X-Proxy-Error: upstream-failure\r\n");
	want(f, client,
	     "cannot connect to 127.0.0.1:%d: connection refused (127.0.0.1)\n",
	     port);
	put(f, client, "CONNECT [::1]:%d HTTP/1.1\r\n\r\n", port);
	want_in(get_head(f, client), "HTTP/1.1 502 Bad Gateway\r\n");
	want(f, client, "cannot connect to [::1]:%d: ", port);
	leave(f, client);
	client = connect_to(f->port);
	put(f, client, "CONNECT a..b:80 HTTP/1.1\r\n\r\n");
	want_in(get_head(f, client), "HTTP/1.1 502 Bad Gateway\r\n");
	want(f, client, "cannot resolve the host of a..b:80: ");
	leave(f, client);
}

static void test_connect_timeout(void **state)
{
	const struct proxy_limits limits = { .connect_ms = 100 };
	struct fixture *f = *state;
	int port, full = listen_on(0, &port), fill = connect_to(port), client;

	restart_with(f, &limits);
	client = connect_to(f->port);
	put(f, client, "CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n", port);
	want_in(get_head(f, client), "HTTP/1.1 504 Gateway Timeout\r\n");
	want(f, client, "cannot connect to 127.0.0.1:%d: connection timed out",
	     port);
	leave(f, client);
	close(fill);
	close(full);
}

static void test_garbage(void **state)
{
	static const char *const rows[] = {
		"SSH-2.0-OpenSSH\r\n",
		"HTTP/1.1 200 OK\nA: b\n\n",
		"HTTP/1.1 99 Low\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: br\r\n\r\n",
		"HTTP/1.1 200 OK\r\nA : b\r\n\r\n",
		"",
		"HTTP/1.1 200 OK\r\nA:",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int client = connect_to(f->port), origin;
		const char *head;

		put_get(f, client, "/", "");
		origin = accept_origin(f);
		get_head(f, origin);
		put_bytes(f, origin, rows[i], strlen(rows[i]));
		shutdown(origin, SHUT_WR);
		head = get_head(f, client);
		want_in(head, "HTTP/1.1 502 Bad Gateway\r\n");
		want_in(head, "X-Proxy-Error: upstream-failure\r\n");
		want(f, client, "%s ", authority);
		close(origin);
		leave(f, client);
	}
}

static void test_truncation(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
	close(origin);
	want(f, client, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
	want_end(f, client);
	leave(f, client);
	client = connect_to(f->port);
	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc");
	close(origin);
	want(f, client,
	     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	     "3\r\nabc\r\n");
	want_end(f, client);
	leave(f, client);
	/* A reset of a body without length must not become its end. */
	client = connect_to(f->port);
	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin, "HTTP/1.1 200 OK\r\n\r\nabc");
	want(f, client,
	     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	     "3\r\nabc\r\n");
	reset(origin);
	want_end(f, client);
	leave(f, client);
	/* To an HTTP/1.0 client only a reset can tell. */
	client = connect_to(f->port);
	put(f, client, "GET %s/ HTTP/1.0\r\n\r\n", base);
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin,
	    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc");
	want(f, client, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
	close(origin);
	want_reset(f, client);
	leave(f, client);
}

static void test_bad_chunk_midway(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	put(f, client,
	    "POST %s/ HTTP/1.1\r\nHost: %s\r\nTransfer-Encoding: chunked\r\n"
	    "\r\n3\r\nabc\r\n",
	    base, authority);
	origin = accept_origin(f);
	get_head(f, origin);
	want(f, origin, "3\r\nabc\r\n");
	put(f, client, "-1\r\n");
	want_in(get_head(f, client), "HTTP/1.1 400 Bad Request\r\n");
	want_end(f, origin);
	close(origin);
	leave(f, client);
}

static void test_client_disappears(void **state)
{
	struct fixture *f = *state;
	int client = connect_to(f->port), origin;

	/* Amid its own body: upstream must see it cut. */
	put(f, client,
	    "POST %s/ HTTP/1.1\r\nHost: %s\r\nContent-Length: 10\r\n\r\nabc",
	    base, authority);
	origin = accept_origin(f);
	get_head(f, origin);
	want(f, origin, "abc");
	close(client);
	want_end(f, origin);
	close(origin);
	/* Amid the response. */
	client = connect_to(f->port);
	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
	get_head(f, client);
	reset(client);
	want_end(f, origin);
	close(origin);
}

/* Time and descriptors */

static void test_slow_head(void **state)
{
	const struct proxy_limits limits = { .header_ms = 80 };
	struct fixture *f = *state;
	int client;

	restart_with(f, &limits);
	client = connect_to(f->port);
	want_quiet(f, client);
	put(f, client, "GET http://a/ HT");
	for (int i = 0; i < 4; i++) {
		pass_time(f, 15);
		put(f, client, "T");
	}
	want_in(get_head(f, client), "HTTP/1.1 408 Request Timeout\r\n");
	want(f, client, "the request head took too long\n");
	want_end(f, client);
	leave(f, client);
}

static void test_idle(void **state)
{
	const struct proxy_limits limits = { .idle_ms = 120, .answer_ms = 120 };
	struct fixture *f = *state;
	int client, origin;

	restart_with(f, &limits);
	client = connect_to(f->port);
	want_end(f, client);
	leave(f, client);
	client = connect_to(f->port);
	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	origin = accept_origin(f);
	want(f, client, "%s", established);
	for (int i = 0; i < 4; i++) {
		pass_time(f, 60);
		put(f, origin, "x");
		want(f, client, "x");
	}
	want_end(f, origin);
	want_reset(f, client);
	close(origin);
	leave(f, client);
	client = connect_to(f->port);
	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	want_in(get_head(f, client), "HTTP/1.1 504 Gateway Timeout\r\n");
	want_end(f, origin);
	close(origin);
	leave(f, client);
	/* A pending ask has no limit of ours. */
	f->answer = ANSWER_HELD;
	client = connect_to(f->port);
	put_get(f, client, "/", "");
	pass_time(f, 200);
	assert_non_null(f->held);
	reset(client);
	await_cancel(f, 1);
}

/* An answer may take its time where only it has it. */
static void test_answer_time(void **state)
{
	const struct proxy_limits limits = { .idle_ms = 100, .answer_ms = 400 };
	struct fixture *f = *state;
	int client, origin;

	restart_with(f, &limits);
	client = connect_to(f->port);
	put_get(f, client, "/", "");
	origin = accept_origin(f);
	get_head(f, origin);
	pass_time(f, 200);
	put(f, origin, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nh");
	want_in(get_head(f, client), "HTTP/1.1 200 ");
	want(f, client, "h");
	want_end(f, client);
	close(origin);
	leave(f, client);
}

static void test_tunnel_limit(void **state)
{
	const struct proxy_limits limits = { .tunnels = 1 };
	struct fixture *f = *state;
	int first, second, origin;

	restart_with(f, &limits);
	first = connect_to(f->port);
	put(f, first, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	origin = accept_origin(f);
	want(f, first, "%s", established);
	second = connect_to(f->port);
	put(f, second, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	want_in(get_head(f, second), "HTTP/1.1 503 Service Unavailable\r\n");
	want(f, second, "1 tunnels are open (limits.tunnels)\n");
	leave(f, second);
	/* Plain requests are not counted, and an ended tunnel makes room. */
	second = connect_to(f->port);
	put_get(f, second, "/x", "");
	answer_plainly(f, second, "/x");
	leave(f, second);
	close(origin);
	leave(f, first);
	pass_time(f, QUIET_MS);
	first = connect_to(f->port);
	put(f, first, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	close(accept_origin(f));
	want(f, first, "%s", established);
	leave(f, first);
}

/* What is held for all together has a bound; who holds little is unhurt. */
static void test_buffer_limit(void **state)
{
	enum { MANY = 40, HELD = 12000 };
	const struct proxy_limits limits = { .buffer_bytes = 200000 };
	struct fixture *f = *state;
	char *field = calloc(1, HELD);
	int clients[MANY], client, refused = 0;

	memset(field, 'a', HELD - 1);
	restart_with(f, &limits);
	for (int i = 0; i < MANY; i++) {
		clients[i] = connect_to(f->port);
		put(f, clients[i], "GET / HTTP/1.1\r\nX: %s", field);
	}
	pass_time(f, QUIET_MS);
	client = connect_to(f->port);
	put_get(f, client, "/x", "");
	answer_plainly(f, client, "/x");
	leave(f, client);
	for (int i = 0; i < MANY; i++) {
		char got[13] = "";

		if (recv(clients[i], got, 12, 0) > 0) {
			assert_string_equal(got, "HTTP/1.1 503");
			refused++;
		}
		close(clients[i]);
	}
	assert_in_range(refused, 10, MANY - 8);
	free(field);
}

static void test_connection_limit(void **state)
{
	const struct proxy_limits limits = { .connections = 2 };
	struct fixture *f = *state;
	int clients[3];

	restart_with(f, &limits);
	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .reason = "no" };
	for (int i = 0; i < 3; i++) {
		clients[i] = connect_to(f->port);
		put_get(f, clients[i], "/", "");
	}
	get_head(f, clients[0]);
	get_head(f, clients[1]);
	want_quiet(f, clients[2]);
	close(clients[0]);
	want_in(get_head(f, clients[2]), "HTTP/1.1 403 Forbidden\r\n");
	leave(f, clients[1]);
	leave(f, clients[2]);
}

/* Without descriptors clients wait, and the loop does not spin. */
static void test_no_descriptors(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, none;
	struct rusage usage[2];
	int client = connect_to(f->port);
	long used;

	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .reason = "no" };
	getrlimit(RLIMIT_NOFILE, &before);
	none = (struct rlimit){ .rlim_cur = (rlim_t)client,
				.rlim_max = before.rlim_max };
	put_get(f, client, "/first", "");
	get_head(f, client);
	want(f, client, "no\n");
	setrlimit(RLIMIT_NOFILE, &none);
	setrlimit(RLIMIT_NOFILE, &before);
	int second = connect_to(f->port);

	setrlimit(RLIMIT_NOFILE, &none);
	put_get(f, second, "/second", "");
	getrusage(RUSAGE_SELF, &usage[0]);
	for (uint64_t end = now_ms() + 300; now_ms() < end;)
		uv_run(&f->loop, UV_RUN_ONCE);
	getrusage(RUSAGE_SELF, &usage[1]);
	used = (usage[1].ru_utime.tv_sec - usage[0].ru_utime.tv_sec) * 1000000 +
	       usage[1].ru_utime.tv_usec - usage[0].ru_utime.tv_usec;
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(f->decided, 1);
	want_in(f->log, "accept: descriptors are few; waiting");
	assert_in_range(used, 0, 100000);
	want_in(get_head(f, second), "HTTP/1.1 403 Forbidden\r\n");
	leave(f, second);
	leave(f, client);
}

static void test_bad_hooks(void **state)
{
	struct fixture *f = *state;
	struct proxy_hooks hooks = { .decide = on_decide };
	struct proxy *proxy;

	assert_int_equal(proxy_new(&proxy, &f->loop, &hooks, NULL), -EINVAL);
	hooks = (struct proxy_hooks){ .check_address = on_check };
	assert_int_equal(proxy_new(&proxy, &f->loop, &hooks, NULL), -EINVAL);
	assert_true(proxy_listen(f->proxy, -1) < 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_get),
		TEST(test_keep_alive),
		TEST(test_login),
		TEST(test_authz),
		TEST(test_pipelining),
		TEST(test_pipelined_denials),
		TEST(test_deny),
		TEST(test_deny_in_full),
		TEST(test_deny_with_large_body),
		TEST(test_respond),
		TEST(test_edits),
		TEST(test_bad_edits),
		TEST(test_bad_requests),
		TEST(test_large_head),
		TEST(test_byte_by_byte),
		TEST(test_chunked_both_ways),
		TEST(test_close_delimited),
		TEST(test_bodiless),
		TEST(test_continue),
		TEST(test_early_answer),
		TEST(test_interim_flood),
		TEST(test_large_bodies),
		TEST(test_back_pressure),
		TEST(test_deaf_client),
		TEST(test_websocket),
		TEST(test_upgrade_refused),
		TEST(test_connect),
		TEST(test_connect_payload_and_end),
		TEST(test_origin_ends_first),
		TEST(test_tunnel_reset),
		TEST(test_connect_denied),
		TEST(test_held_answer),
		TEST(test_abort_during_ask),
		TEST(test_abort_behind_much_unread),
		TEST(test_end_behind_much_unread),
		TEST(test_close_in_flight),
		TEST(test_address_refused),
		TEST(test_second_address),
		TEST(test_canonical_host),
		TEST(test_upstream_refuses),
		TEST(test_connect_timeout),
		TEST(test_garbage),
		TEST(test_truncation),
		TEST(test_bad_chunk_midway),
		TEST(test_client_disappears),
		TEST(test_slow_head),
		TEST(test_idle),
		TEST(test_answer_time),
		TEST(test_tunnel_limit),
		TEST(test_buffer_limit),
		TEST(test_connection_limit),
		TEST(test_no_descriptors),
		TEST(test_bad_hooks),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
