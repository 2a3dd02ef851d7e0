/* SPDX-License-Identifier: Apache-2.0 */
/* Termination: TLS with both sides, requests inside, and all that may fail. */
#include "tls_peer.h"

#define OK_EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

/* The proxy's CA, that of the origins, and who trusts whom. */
static struct authority *ours, *theirs;
static struct trust *trusts_ours, *trusts_theirs;
static struct fixture *fixture;

static struct trust *trust_in(struct authority *root)
{
	struct trust *trust = trust_new();
	struct trust_count count;

	assert_int_equal(trust_add(trust, authority_certificate(root), &count),
			 0);
	assert_int_equal(count.added, 1);
	return trust;
}

static struct authority *new_authority(void)
{
	const struct proxy_text none = { NULL, 0 };
	struct authority *made;
	const char *why;

	assert_int_equal(authority_new(&made, none, none, &why), 0);
	return made;
}

static void terminate(struct fixture *f, unsigned int tunnels,
		      unsigned int handshake_ms)
{
	const struct proxy_tls with = {
		.authority = ours,
		.trust = trusts_theirs,
		.tunnels = tunnels,
		.handshake_ms = handshake_ms,
	};

	assert_int_equal(proxy_terminate(f->proxy, &with), 0);
	f->answer = ANSWER_GIVEN;
	f->verdict = (struct proxy_verdict){ .allow = true,
					     .host = "127.0.0.1",
					     .terminate = true,
					     .inspect = true };
}

static int set_up_tls(void **state)
{
	set_up(state);
	fixture = *state;
	terminate(*state, 0, 0);
	return 0;
}

static int once(void **state)
{
	(void)state;
	ours = new_authority();
	theirs = new_authority();
	trusts_ours = trust_in(ours);
	trusts_theirs = trust_in(theirs);
	return 0;
}

static int over(void **state)
{
	(void)state;
	trust_free(trusts_ours);
	trust_free(trusts_theirs);
	authority_free(ours);
	authority_free(theirs);
	return 0;
}

static int open_tunnel(struct fixture *f)
{
	int client = connect_to(f->port);

	put(f, client, "CONNECT %s HTTP/1.1\r\nHost: x\r\n\r\n", authority);
	want_in(get_head(f, client), "HTTP/1.1 200 ");
	return client;
}

/* A client through its handshake, and the connection that was made for it. */
static struct peer *open_client(struct fixture *f, int *origin)
{
	int fd = open_tunnel(f);
	struct peer *client;

	if (origin)
		*origin = accept_origin(f);
	client = peer_client(f, fd, trusts_ours, "127.0.0.1");
	peer_shake(client);
	return client;
}

static void ask(struct peer *client, const char *path)
{
	char text[256];

	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n",
		 path, authority);
	peer_puts(client, text);
}

/* A client has asked, and its server is there, before the handshake. */
static struct peer *open_asked(struct fixture *f, struct peer **client,
			       const char *path, struct authority *issuer,
			       const char *name)
{
	int fd;

	*client = open_client(f, &fd);
	ask(*client, path);
	return peer_server(f, fd, issuer, name);
}

/* Both sides are there, and one request has come through. */
static struct peer *open_both(struct fixture *f, struct peer **client)
{
	struct peer *origin =
		open_asked(f, client, "/first", theirs, "127.0.0.1");

	peer_shake(origin);
	want_in(peer_head(origin), "GET /first HTTP/1.1\r\n");
	return origin;
}

static void test_request(void **state)
{
	struct fixture *f = *state;
	struct peer *client, *origin = open_both(f, &client);

	want_in(f->asked, "/first");
	peer_puts(origin, OK_EMPTY);
	peer_want(client, OK_EMPTY);
	/* The next request takes the same way, and is asked about. */
	ask(client, "/second");
	want_in(peer_head(origin), "GET /second ");
	want_in(f->asked, "/second");
	peer_puts(origin, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
			  "\r\n3\r\nabc\r\n0\r\n\r\n");
	want_in(peer_head(client), "Transfer-Encoding: chunked\r\n");
	peer_want(client, "3\r\nabc\r\n0\r\n\r\n");
	no_origin(f);
	assert_int_equal(f->decided, 3);
	assert_int_equal(f->checked, 1);
	peer_free(client);
	peer_free(origin);
}

static void test_pool(void **state)
{
	struct fixture *f = *state;
	struct peer *client, *origin = open_both(f, &client), *other;

	peer_puts(origin, OK_EMPTY);
	peer_want(client, OK_EMPTY);
	/* A new tunnel to the same host needs no new connection. */
	other = open_client(f, NULL);
	ask(other, "/other");
	want_in(peer_head(origin), "GET /other ");
	peer_puts(origin, OK_EMPTY);
	peer_want(other, OK_EMPTY);
	no_origin(f);
	/* One that has ended is noticed. */
	peer_free(origin);
	pass_time(f, QUIET_MS);
	ask(other, "/again");
	origin = peer_server(f, accept_origin(f), theirs, "127.0.0.1");
	peer_shake(origin);
	want_in(peer_head(origin), "GET /again ");
	peer_free(client);
	peer_free(other);
	peer_free(origin);
}

/* A client sends a request that goes nowhere. */
static void want_refused(struct fixture *f, const char *request,
			 const char *status)
{
	struct peer *client = open_client(f, NULL);

	peer_puts(client, request);
	want_in(peer_head(client), status);
	close(accept_origin(f));
	peer_free(client);
}

static void test_host(void **state)
{
	static const char *const bad[] = {
		"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"GET https://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		want_refused(f, bad[i], "HTTP/1.1 421 ");
		assert_int_equal(f->decided, i + 1);
	}
}

static void test_bad_requests(void **state)
{
	static const struct {
		const char *text, *status;
	} rows[] = {
		{ "GET / HTTP/1.1\r\n\r\n", " 400 " },
		{ "TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", " 405 " },
		{ "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", " 405 " },
		{ "GET * HTTP/1.1\r\nHost: x\r\n\r\n", " 400 " },
		{ "BAD\r\n\r\n", " 400 " },
		{ "GET /\\x HTTP/1.1\r\nHost: x\r\n\r\n", " 400 " },
		{ "GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n",
		  " 400 " },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		want_refused(f, rows[i].text, rows[i].status);
	}
}

static void test_denied(void **state)
{
	struct fixture *f = *state;
	int fd;
	struct peer *client = open_client(f, &fd);

	f->verdict = (struct proxy_verdict){ .reason = "not this" };
	ask(client, "/x");
	want_in(peer_head(client), "HTTP/1.1 403 ");
	want_quiet(f, fd);
	close(fd);
	peer_free(client);
}

/* The origin's certificate is another's, or nobody's. */
static void test_untrusted(void **state)
{
	struct fixture *f = *state;

	for (int i = 0; i < 2; i++) {
		struct peer *client, *origin;

		origin = open_asked(f, &client, "/x", i ? theirs : ours,
				    i ? "other.test" : "127.0.0.1");
		while (peer_turn(origin))
			;
		want_in(peer_head(client), "HTTP/1.1 502 ");
		want_in(f->log, "can't be trusted: ");
		pass_time(f, 20);
		while (peer_turn(origin))
			;
		/* It was told, and sent nothing of the request. */
		assert_true(peer_error(origin) > BR_ERR_RECV_FATAL_ALERT);
		peer_free(client);
		peer_free(origin);
	}
}

static void test_client_distrusts(void **state)
{
	struct fixture *f = *state;
	int fd = open_tunnel(f);
	struct peer *client = peer_client(f, fd, trusts_theirs, "127.0.0.1");
	const unsigned char alert[] = {
		21, 3, 3, 0, 2, 2, BR_ALERT_UNKNOWN_CA
	};

	while (!(br_ssl_engine_current_state(client->engine) & BR_SSL_CLOSED))
		peer_turn(client);
	assert_true(peer_error(client) > BR_ERR_X509_OK);
	put_bytes(f, fd, (const char *)alert, sizeof(alert));
	want_end(f, fd);
	want_in(f->log, "does not trust the CA");
	close(accept_origin(f));
	peer_free(client);
}

/* The origin dies after each so many bytes that it has sent or received. */
static void test_origin_dies(void **state)
{
	struct fixture *f = *state;

	for (int turns = 0; turns < 8; turns++) {
		struct peer *client, *origin;

		origin = open_asked(f, &client, "/x", theirs, "127.0.0.1");
		for (int i = 0; i < turns; i++) {
			peer_turn(origin);
			pass_time(f, 2);
		}
		if (turns % 2)
			shutdown(origin->fd, SHUT_WR);
		else
			reset(dup(origin->fd));
		close(origin->fd);
		origin->fd = open("/dev/null", O_RDONLY);
		want_in(peer_head(client), "HTTP/1.1 502 ");
		peer_free(client);
		peer_free(origin);
	}
}

/* And the client. Nothing is left of either but what the loop closes. */
static void test_client_dies(void **state)
{
	struct fixture *f = *state;

	for (int turns = 0; turns < 6; turns++) {
		int fd = open_tunnel(f), up = accept_origin(f);
		struct peer *client =
			peer_client(f, fd, trusts_ours, "127.0.0.1");

		for (int i = 0; i < turns; i++) {
			peer_turn(client);
			pass_time(f, 2);
		}
		if (turns % 2)
			reset(fd);
		else
			close(fd);
		client->fd = open("/dev/null", O_RDONLY);
		want_end(f, up);
		close(up);
		peer_free(client);
	}
}

/* A body that ends with the connection is whole only with a close_notify. */
static void test_truncation(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\nhalf";
	struct fixture *f = *state;

	for (int honest = 0; honest < 2; honest++) {
		struct peer *client, *origin = open_both(f, &client);

		peer_puts(origin, head);
		want_in(peer_head(client), "Transfer-Encoding: chunked");
		peer_want(client, "4\r\nhalf\r\n");
		if (honest)
			peer_end(origin);
		peer_free(origin);
		if (honest) {
			peer_want(client, "0\r\n\r\n");
		} else {
			char byte;

			assert_int_equal(peer_read(client, &byte, 1), 0);
			want_in(f->log, "close_notify");
		}
		peer_free(client);
	}
}

static void test_renegotiation(void **state)
{
	struct fixture *f = *state;
	struct peer *client, *origin = open_both(f, &client);

	peer_puts(origin, OK_EMPTY);
	peer_want(client, OK_EMPTY);
	assert_true(br_ssl_engine_renegotiate(client->engine));
	for (int i = 0; i < 50; i++) {
		peer_turn(client);
		usleep(500);
	}
	/* BearSSL takes the refusal for an error of its own. */
	assert_int_equal(peer_error(client),
			 BR_ERR_RECV_FATAL_ALERT + BR_ALERT_NO_RENEGOTIATION);
	peer_free(client);
	peer_free(origin);
}

static void test_damaged_record(void **state)
{
	struct fixture *f = *state;
	int origin;
	struct peer *client = open_client(f, &origin);
	char record[64] = { 23, 3, 3, 0, 40 };

	put_bytes(f, client->fd, record, 45);
	want_end(f, client->fd);
	close(origin);
	peer_free(client);
}

static void test_oversized_record(void **state)
{
	struct fixture *f = *state;
	int origin;
	struct peer *client = open_client(f, &origin);
	const char record[] = { 23, 3, 3, 0x7f, (char)0xff };

	put_bytes(f, client->fd, record, sizeof(record));
	want_end(f, client->fd);
	close(origin);
	peer_free(client);
}

/* A client that reads nothing holds up the origin, and loses nothing. */
static void test_slow_reader(void **state)
{
	enum { PIECE = 16384, TOTAL = 16 << 20 };
	struct fixture *f = *state;
	struct peer *client, *origin = open_both(f, &client);
	static char piece[PIECE];
	size_t sent = 0, got = 0, room;
	uint64_t quiet = now_ms();
	char head[128];

	snprintf(head, sizeof(head),
		 "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", TOTAL);
	peer_puts(origin, head);
	want_in(peer_head(client), "200 OK");
	memset(piece, 'x', sizeof(piece));
	while (sent < TOTAL && now_ms() < quiet + 300) {
		unsigned char *place;

		peer_turn(origin);
		place = br_ssl_engine_sendapp_buf(origin->engine, &room);
		if (!place)
			continue;
		room = room < TOTAL - sent ? room : TOTAL - sent;
		memset(place, 'x', room);
		br_ssl_engine_sendapp_ack(origin->engine, room);
		br_ssl_engine_flush(origin->engine, 0);
		sent += room;
		quiet = now_ms();
	}
	assert_true(sent < TOTAL);
	while (got < TOTAL) {
		size_t more = peer_read(client, piece, sizeof(piece));
		unsigned char *place;

		assert_true(more > 0);
		got += more;
		peer_turn(origin);
		place = sent < TOTAL ? br_ssl_engine_sendapp_buf(origin->engine,
								 &room)
				     : NULL;
		if (!place)
			continue;
		room = room < TOTAL - sent ? room : TOTAL - sent;
		memset(place, 'x', room);
		br_ssl_engine_sendapp_ack(origin->engine, room);
		br_ssl_engine_flush(origin->engine, 0);
		sent += room;
	}
	peer_free(client);
	peer_free(origin);
}

static void test_websocket(void **state)
{
	struct fixture *f = *state;
	int fd;
	struct peer *client = open_client(f, &fd), *origin;
	char text[256];

	snprintf(text, sizeof(text),
		 "GET /ws HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\n"
		 "Upgrade: websocket\r\n\r\n",
		 authority);
	peer_puts(client, text);
	origin = peer_server(f, fd, theirs, "127.0.0.1");
	peer_shake(origin);
	want_in(peer_head(origin), "Upgrade: websocket\r\n");
	peer_puts(origin, "HTTP/1.1 101 Switching Protocols\r\n"
			  "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	want_in(peer_head(client), "HTTP/1.1 101 ");
	peer_puts(client, "ping");
	peer_want(origin, "ping");
	peer_puts(origin, "pong");
	peer_want(client, "pong");
	peer_end(client);
	peer_free(client);
	assert_int_equal(peer_read(origin, text, 1), 0);
	assert_int_equal(peer_error(origin), 0);
	peer_free(origin);
}

static void test_server_first(void **state)
{
	struct fixture *f = *state;
	int client = open_tunnel(f), origin = accept_origin(f);

	put(f, origin, "220 hello\r\n");
	want(f, client, "220 hello\r\n");
	put(f, client, "GET / HTTP/1.1\r\n");
	want(f, origin, "GET / HTTP/1.1\r\n");
	assert_int_equal(f->decided, 1);
	close(client);
	want_end(f, origin);
	close(origin);
}

static void test_opaque(void **state)
{
	struct fixture *f = *state;
	int client = open_tunnel(f), origin = accept_origin(f);

	put(f, client, "SSH-2.0-x\r\n");
	want(f, origin, "SSH-2.0-x\r\n");
	leave(f, client);
	close(origin);
	f->verdict.refuse_opaque = true;
	client = open_tunnel(f);
	origin = accept_origin(f);
	put(f, client, "SSH-2.0-x\r\n");
	want_reset(f, client);
	want_end(f, origin);
	close(client);
	close(origin);
	client = open_tunnel(f);
	origin = accept_origin(f);
	put(f, origin, "220 hello\r\n");
	want_reset(f, client);
	close(client);
	close(origin);
}

static void test_plain_inside(void **state)
{
	struct fixture *f = *state;
	int client = open_tunnel(f), origin = accept_origin(f);

	put(f, client, "GET /x HTTP/1.1\r\nHost: %s\r\n\r\n", authority);
	want_in(get_head(f, origin), "GET /x HTTP/1.1\r\n");
	want_in(f->asked, "request 127.0.0.1:");
	put(f, origin, OK_EMPTY);
	want(f, client, OK_EMPTY);
	f->verdict = (struct proxy_verdict){ .reason = "not this" };
	put(f, client, "GET /y HTTP/1.1\r\nHost: %s\r\n\r\n", authority);
	want_in(get_head(f, client), "HTTP/1.1 403 ");
	want_quiet(f, origin);
	close(client);
	close(origin);
}

/* By a parent: it opens a tunnel, and TLS with the server goes through it. */
static void test_parent(void **state)
{
	struct fixture *f = *state;
	struct proxy_via via = { .host = "127.0.0.1" };
	struct peer *client, *origin;
	int fd, up;

	via.port = (uint16_t)f->origin_port;
	f->verdict.via = &via;
	f->verdict.host = "server.test";
	fd = connect_to(f->port);
	put(f, fd, "CONNECT server.test:443 HTTP/1.1\r\n\r\n");
	up = accept_origin(f);
	want_in(get_head(f, up), "CONNECT server.test:443 HTTP/1.1\r\n");
	put(f, up, "HTTP/1.1 200 OK\r\n\r\n");
	want_in(get_head(f, fd), "HTTP/1.1 200 ");
	client = peer_client(f, fd, trusts_ours, "server.test");
	peer_shake(client);
	peer_puts(client, "GET /x HTTP/1.1\r\nHost: server.test\r\n\r\n");
	origin = peer_server(f, up, theirs, "server.test");
	peer_shake(origin);
	want_in(peer_head(origin), "GET /x HTTP/1.1\r\nHost: server.test\r\n");
	peer_puts(origin, OK_EMPTY);
	peer_want(client, OK_EMPTY);
	/* It is kept, for that way only. */
	peer_puts(client, "GET /y HTTP/1.1\r\nHost: server.test\r\n\r\n");
	want_in(peer_head(origin), "GET /y ");
	peer_puts(origin, OK_EMPTY);
	peer_want(client, OK_EMPTY);
	no_origin(f);
	peer_free(client);
	peer_free(origin);
}

static void test_limits(void **state)
{
	struct fixture *f = *state;
	int first, origin;

	restart_with(f, NULL);
	terminate(f, 1, 300);
	first = open_tunnel(f);
	origin = accept_origin(f);
	for (int i = 0; i < 2; i++) {
		int second = connect_to(f->port);

		put(f, second, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
		want_in(get_head(f, second),
			"X-Proxy-Error: too-many-tunnels\r\n");
		leave(f, second);
	}
	/* It begins no handshake. */
	want_reset(f, first);
	want_in(f->log, "no TLS in time");
	close(first);
	close(origin);
	first = open_tunnel(f);
	origin = accept_origin(f);
	/* It begins one and no more. */
	put_bytes(f, first, "\x16\x03\x01\x00\x50\x01", 6);
	want_reset(f, first);
	close(first);
	close(origin);
}

static void test_no_authority(void **state)
{
	struct fixture *f = *state;
	int client;

	restart_with(f, NULL);
	client = connect_to(f->port);
	put(f, client, "CONNECT %s HTTP/1.1\r\n\r\n", authority);
	want_in(get_head(f, client), "X-Proxy-Error: bad-verdict\r\n");
	no_origin(f);
	leave(f, client);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_tls, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_request),
		TEST(test_pool),
		TEST(test_host),
		TEST(test_bad_requests),
		TEST(test_denied),
		TEST(test_untrusted),
		TEST(test_client_distrusts),
		TEST(test_origin_dies),
		TEST(test_client_dies),
		TEST(test_truncation),
		TEST(test_renegotiation),
		TEST(test_damaged_record),
		TEST(test_oversized_record),
		TEST(test_slow_reader),
		TEST(test_websocket),
		TEST(test_server_first),
		TEST(test_opaque),
		TEST(test_plain_inside),
		TEST(test_limits),
		TEST(test_no_authority),
		TEST(test_parent),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, once, over);
}
