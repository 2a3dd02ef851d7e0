/* SPDX-License-Identifier: Apache-2.0 */
/* What the HTTP/1 parser accepts and refuses, one row a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proxy/http1.h"

/* clang-format off */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BYTES(text) text, sizeof(text) - 1
#define ROW(text) __LINE__, BYTES(text)
#define H "Host: a.test\r\n"
#define GET(rest) "GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n" rest "\r\n"
#define POST(rest) "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n" rest "\r\n"
#define URL(url, host) "GET " url " HTTP/1.1\r\nHost: " host "\r\n\r\n"
#define LINE(line) line "\r\nHost: a.test\r\n\r\n"

/* status 0: accepted, and summary() says what was read. */
struct request_row {
	int line;
	const char *input;
	size_t size;
	unsigned int status;
	const char *summary;
};

static const struct request_row requests[] = {
	/* targets */
	{ ROW(GET("")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW(URL("http://a.test", "a.test")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW(URL("http://a.test?q=1", "a.test")), 0, "GET a.test:80 /?q=1 1.1 none" },
	{ ROW(URL("http://a.test/x?", "a.test")), 0, "GET a.test:80 /x? 1.1 none" },
	{ ROW(URL("http://a.test/x?a?b\\", "a.test")), 0, "GET a.test:80 /x?a?b\\ 1.1 none" },
	{ ROW(URL("HTTP://A.test:80/", "a.TEST")), 0, "GET A.test:80 / 1.1 none" },
	{ ROW(URL("http://a.test:8080/", "a.test:8080")), 0, "GET a.test:8080 / 1.1 none" },
	{ ROW(URL("http://a.test:65535/", "a.test:65535")), 0, "GET a.test:65535 / 1.1 none" },
	{ ROW(URL("http://[::1]:81/", "[::1]:81")), 0, "GET ::1:81 / 1.1 none" },
	{ ROW(URL("http://127.1/", "127.1")), 0, "GET 127.1:80 / 1.1 none" },
	{ ROW(URL("http://a_b.test./", "a_b.test.")), 0, "GET a_b.test.:80 / 1.1 none" },
	{ ROW(URL("http://a.test/a/../%2e//b", "a.test")), 0, "GET a.test:80 /a/../%2e//b 1.1 none" },
	{ ROW("\r\n" GET("")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW("\r\n\r\n\r\n\r\n" GET("")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW("\r\n\r\n\r\n\r\n\r\n" GET("")), 400, NULL },
	{ ROW(LINE("GET /x HTTP/1.1")), 400, NULL },
	{ ROW(LINE("OPTIONS * HTTP/1.1")), 400, NULL },
	{ ROW(LINE("GET a.test HTTP/1.1")), 400, NULL },
	{ ROW(LINE("GET //a.test/ HTTP/1.1")), 400, NULL },
	{ ROW(URL("https://a.test/", "a.test")), 400, NULL },
	{ ROW(URL("ftp://a.test/", "a.test")), 400, NULL },
	{ ROW(URL("file:///etc/passwd", "a.test")), 400, NULL },
	{ ROW(URL("x:127.0.0.1", "127.0.0.1")), 400, NULL },
	{ ROW(URL("http:/a.test/", "a.test")), 400, NULL },
	{ ROW(URL("http:///a.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://", "a.test")), 400, NULL },
	{ ROW(URL("http://:80/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test:/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test:0/", "a.test:0")), 400, NULL },
	{ ROW(URL("http://a.test:080/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test:65536/", "a.test:65536")), 400, NULL },
	{ ROW(URL("http://a.test:99999999999/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test:+80/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test:8x/", "a.test")), 400, NULL },
	{ ROW(URL("http://a:b:80/", "a.test")), 400, NULL },
	{ ROW(URL("http://u@a.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://u:p@a.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://@a.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test#@b.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test/x#f", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test\\@b.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test/\\x", "a.test")), 400, NULL },
	{ ROW(URL("http://a.te\tst/", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test/\0x", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test/\x7f", "a.test")), 400, NULL },
	{ ROW(URL("http://a.test/\xc3\xbc", "a.test")), 400, NULL },
	{ ROW(URL("http://m\xc3\xbcnchen.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://%61.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://a,b.test/", "a.test")), 400, NULL },
	{ ROW(URL("http://[::1/", "[::1]")), 400, NULL },
	{ ROW(URL("http://[::1]x/", "[::1]")), 400, NULL },
	{ ROW(URL("http://[fe80::1%25lo]/", "[::1]")), 400, NULL },
	{ ROW(URL("http://[127.0.0.1]/", "127.0.0.1")), 400, NULL },
	{ ROW(URL("http://[v1.x]/", "a.test")), 400, NULL },
	{ ROW(URL("http://::1/", "[::1]")), 400, NULL },
	/* CONNECT */
	{ ROW("CONNECT a.test:443 HTTP/1.1\r\n\r\n"), 0, "CONNECT a.test:443 1.1 none" },
	{ ROW("CONNECT a.test:443 HTTP/1.1\r\nHost: other\r\n\r\n"), 0, "CONNECT a.test:443 1.1 none" },
	{ ROW("CONNECT [::1]:22 HTTP/1.0\r\n\r\n"), 0, "CONNECT ::1:22 1.0 none close" },
	{ ROW("CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), 0, "CONNECT a.test:443 1.1 none" },
	{ ROW("CONNECT a.test HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT a.test: HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT a.test:83617 HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT a.test:443x HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT :443 HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT http://a.test:443/ HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT a.test:443/ HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT u@a.test:443 HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT a.test\0.b:443 HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT [::1%lo]:443 HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT a.test:443 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\n"), 400, NULL },
	{ ROW("CONNECT a.test:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 400, NULL },
	/* request line */
	{ ROW(LINE("M-SEARCH http://a.test/ HTTP/1.1")), 0, "M-SEARCH a.test:80 / 1.1 none" },
	{ ROW(LINE("brew http://a.test/ HTTP/1.1")), 0, "brew a.test:80 / 1.1 none" },
	{ ROW(LINE("get http://a.test/ HTTP/1.1")), 400, NULL },
	{ ROW(LINE("Delete http://a.test/ HTTP/1.1")), 400, NULL },
	{ ROW("connect a.test:443 HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW(LINE("TRACE http://a.test/ HTTP/1.1")), 405, NULL },
	{ ROW(LINE("track http://a.test/ HTTP/1.1")), 405, NULL },
	{ ROW(LINE("G(T http://a.test/ HTTP/1.1")), 400, NULL },
	{ ROW(LINE("G\xc3T http://a.test/ HTTP/1.1")), 400, NULL },
	{ ROW(LINE(" GET http://a.test/ HTTP/1.1")), 400, NULL },
	{ ROW(LINE("GET  http://a.test/ HTTP/1.1")), 400, NULL },
	{ ROW(LINE("GET http://a.test/  HTTP/1.1")), 400, NULL },
	{ ROW(LINE("GET http://a.test/ HTTP/1.1 ")), 400, NULL },
	{ ROW(LINE("GET\thttp://a.test/\tHTTP/1.1")), 400, NULL },
	{ ROW(LINE("GET http://a.test/")), 400, NULL },
	{ ROW(LINE("GET http://a.test/ a HTTP/1.1")), 400, NULL },
	{ ROW(LINE("GET http://a.test/ http/1.1")), 400, NULL },
	{ ROW(LINE("GET http://a.test/ HTTP/1.10")), 400, NULL },
	{ ROW(LINE("GET http://a.test/ HTTP/11")), 400, NULL },
	{ ROW(LINE("GET http://a.test/ HTTP/1.2")), 505, NULL },
	{ ROW(LINE("GET http://a.test/ HTTP/0.9")), 505, NULL },
	{ ROW("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505, NULL },
	{ ROW("\x16\x03\x01\x02\x05"), 400, NULL },
	{ ROW("\x05\x01\x00"), 400, NULL },
	/* lines and fields */
	{ ROW("GET http://a.test/ HTTP/1.1\nHost: a.test\n\n"), 400, NULL },
	{ ROW(GET("A: 1\nB: 2\r\n")), 400, NULL },
	{ ROW(GET("A: 1\rB: 2\r\n")), 400, NULL },
	{ ROW(GET("A: 1\r\r\n")), 400, NULL },
	{ ROW(GET("A: 1\r\n folded\r\n")), 400, NULL },
	{ ROW(GET("A: 1\r\n\tfolded\r\n")), 400, NULL },
	{ ROW("GET http://a.test/ HTTP/1.1\r\n Host: a.test\r\n\r\n"), 400, NULL },
	{ ROW(GET("A : 1\r\n")), 400, NULL },
	{ ROW(GET("A\t: 1\r\n")), 400, NULL },
	{ ROW(GET(": 1\r\n")), 400, NULL },
	{ ROW(GET("A B: 1\r\n")), 400, NULL },
	{ ROW(GET("nocolon\r\n")), 400, NULL },
	{ ROW(GET("A: \0\r\n")), 400, NULL },
	{ ROW(GET("A: \x01\r\n")), 400, NULL },
	{ ROW(GET("A: \x7f\r\n")), 400, NULL },
	{ ROW(GET("A\xff: 1\r\n")), 400, NULL },
	{ ROW(GET("A: \xff\xfe\tb\r\nB:\r\n")), 0, "GET a.test:80 / 1.1 none" },
	/* Host */
	{ ROW("GET http://a.test/ HTTP/1.1\r\n\r\n"), 400, NULL },
	{ ROW("GET http://a.test/ HTTP/1.0\r\n\r\n"), 0, "GET a.test:80 / 1.0 none close" },
	{ ROW("GET http://a.test/ HTTP/1.0\r\nHost: b.test\r\n\r\n"), 421, NULL },
	{ ROW(GET("Host: a.test\r\n")), 400, NULL },
	{ ROW(GET("hOST: b.test\r\n")), 400, NULL },
	{ ROW(URL("http://a.test/", "b.test")), 421, NULL },
	{ ROW(URL("http://a.test/", "")), 400, NULL },
	{ ROW(URL("http://a.test/", "a.test:80")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW(URL("http://a.test/", "a.test:81")), 421, NULL },
	{ ROW(URL("http://a.test:81/", "a.test")), 421, NULL },
	{ ROW(URL("http://a.test/", "a.test.")), 421, NULL },
	{ ROW(URL("http://a.test/", "u@a.test")), 400, NULL },
	{ ROW(URL("http://a.test/", "a.test, a.test")), 400, NULL },
	{ ROW(URL("http://a.test/", "a.test/")), 400, NULL },
	{ ROW(URL("http://a.test/", "a.test ")), 400, NULL },
	/* framing */
	{ ROW(POST("Content-Length: 5\r\n")), 0, "POST a.test:80 / 1.1 length=5" },
	{ ROW(GET("Content-Length: 5\r\n")), 0, "GET a.test:80 / 1.1 length=5" },
	{ ROW(POST("Content-Length: 0\r\n")), 0, "POST a.test:80 / 1.1 length=0" },
	{ ROW(POST("Content-Length:5\r\nContent-Length: 5\r\n")), 0, "POST a.test:80 / 1.1 length=5" },
	{ ROW(POST("Content-Length: 5\r\nContent-Length: 6\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: 0\r\nContent-Length: 30\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: 5, 5\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: +5\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: -5\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: 05\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: 0x5\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: 5 \r\n")), 400, NULL },
	{ ROW(POST("Content-Length:\t5\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: 5 5\r\n")), 400, NULL },
	{ ROW(POST("Content-Length:\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: 9999999999999999999\r\n")), 400, NULL },
	{ ROW(POST("Transfer-Encoding: chunked\r\n")), 0, "POST a.test:80 / 1.1 chunked" },
	{ ROW(POST("Transfer-Encoding: Chunked\r\n")), 0, "POST a.test:80 / 1.1 chunked" },
	{ ROW(POST("Transfer-Encoding: chunked\t\r\n")), 400, NULL },
	{ ROW(POST("Transfer-Encoding: chunked \r\n")), 400, NULL },
	{ ROW(POST("Transfer-Encoding: \x0b" "chunked\r\n")), 400, NULL },
	{ ROW(POST("Transfer-Encoding: gzip, chunked\r\n")), 501, NULL },
	{ ROW(POST("Transfer-Encoding: chunked, gzip\r\n")), 501, NULL },
	{ ROW(POST("Transfer-Encoding: chunked, chunked\r\n")), 501, NULL },
	{ ROW(POST("Transfer-Encoding: identity\r\n")), 501, NULL },
	{ ROW(POST("Transfer-Encoding: \"chunked\"\r\n")), 501, NULL },
	{ ROW(POST("Transfer-Encoding:\r\n")), 501, NULL },
	{ ROW(POST("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")), 400, NULL },
	{ ROW(POST("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")), 400, NULL },
	{ ROW(POST("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")), 400, NULL },
	{ ROW("POST http://a.test/ HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n"), 400, NULL },
	{ ROW("DELETE http://a.test/ HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"), 400, NULL },
	{ ROW(GET("Transfer-Encoding: chunked\r\n")), 400, NULL },
	/* options */
	{ ROW(GET("Connection: x, CLOSE\r\n")), 0, "GET a.test:80 / 1.1 none close" },
	{ ROW(GET("Connection: keep-alive\r\n")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW(GET("Connection: a b\r\n")), 400, NULL },
	{ ROW(GET("Connection: close, Content-Encoding\r\n")), 400, NULL },
	{ ROW(GET("Connection: content-type\r\n")), 400, NULL },
	{ ROW(GET("Connection: upgrade\r\nUpgrade: websocket\r\n")), 0, "GET a.test:80 / 1.1 none websocket" },
	{ ROW(GET("Connection: upgrade\r\nUpgrade: h2c\r\n")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW(GET("Connection: upgrade\r\nUpgrade: websocket, h2c\r\n")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW(GET("Upgrade: websocket\r\n")), 0, "GET a.test:80 / 1.1 none" },
	{ ROW(POST("Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n")), 0, "POST a.test:80 / 1.1 length=1" },
	{ ROW(POST("Expect: 100-Continue\r\nContent-Length: 1\r\n")), 0, "POST a.test:80 / 1.1 length=1 expects" },
	{ ROW("POST http://a.test/ HTTP/1.0\r\nExpect: 100-continue\r\n\r\n"), 0, "POST a.test:80 / 1.0 none close" },
	{ ROW(POST("Expect: x\r\n")), 417, NULL },
};

/* clang-format on */

static const char *framing_name(enum http1_framing framing)
{
	static const char *const names[] = {
		[HTTP1_NONE] = "none",
		[HTTP1_LENGTH] = "length",
		[HTTP1_CHUNKED] = "chunked",
		[HTTP1_UNTIL_CLOSE] = "close",
	};

	return names[framing];
}

static void summary(const struct http1_request *r, char *out, size_t size)
{
	char length[32] = "";

	if (r->framing == HTTP1_LENGTH)
		snprintf(length, sizeof(length), "=%llu",
			 (unsigned long long)r->length);
	snprintf(out, size, "%.*s %.*s:%u %.*s%s%.*s%s1.%u %s%s%s%s%s",
		 (int)r->method.size, r->method.data, (int)r->host.size,
		 r->host.data, r->port, (int)r->path.size,
		 r->path.data ? r->path.data : "", r->query.data ? "?" : "",
		 (int)r->query.size, r->query.data ? r->query.data : "",
		 r->connect ? "" : " ", r->minor, framing_name(r->framing),
		 length, r->close ? " close" : "", r->expects ? " expects" : "",
		 r->websocket ? " websocket" : "");
}

/*
 * Reads as a client does, @step bytes at a time, each time from memory of
 * exactly that size so that a read beyond it is found.
 */
static unsigned int read_request(const char *input, size_t size, size_t step,
				 char *out, size_t out_size)
{
	struct proxy_header headers[HTTP1_HEADERS_MAX];
	struct http1_scan scan = { 0 };
	struct http1_refusal refusal = { 0, NULL };
	struct http1_request request;
	unsigned int blanks = 0;

	for (size_t have = step < size ? step : size;;) {
		char *copy = malloc(have);
		ssize_t head;

		memcpy(copy, input, have);
		head = http1_scan(&scan, copy, have, 65536, &refusal);
		if (head == 2 && !scan.lines && blanks++ < 4) {
			input += 2;
			size -= 2;
			have -= 2;
			scan = (struct http1_scan){ 0 };
		} else if (head > 0) {
			if (http1_request(&request, copy, (size_t)head, headers,
					  http1_fields(&scan), &refusal))
				summary(&request, out, out_size);
			free(copy);
			return refusal.status;
		} else if (head == 0) {
			/* More is wanted though there is none. */
			if (have == size) {
				free(copy);
				return 999;
			}
		}
		free(copy);
		if (head < 0)
			return refusal.status;
		have = have + step < size ? have + step : size;
	}
}

static void test_requests(void **state)
{
	static const size_t steps[] = { 100000, 1, 2, 7 };
	bool good = true;

	(void)state;
	for (size_t i = 0; i < COUNT(requests); i++) {
		const struct request_row *row = &requests[i];

		for (size_t j = 0; j < COUNT(steps); j++) {
			char out[256] = "";
			unsigned int status =
				read_request(row->input, row->size, steps[j],
					     out, sizeof(out));

			if (status == row->status &&
			    (status || !strcmp(out, row->summary)))
				continue;
			good = false;
			print_error("line %d: %u \"%s\", not %u \"%s\"\n",
				    row->line, status, out, row->status,
				    row->summary ? row->summary : "");
		}
	}
	assert_true(good);
}

static void test_limits(void **state)
{
	struct proxy_header headers[HTTP1_HEADERS_MAX];
	struct http1_request request;
	struct http1_refusal refusal;
	struct http1_scan scan;
	char *text = NULL;
	size_t size;
	FILE *file;

	(void)state;
	for (int fields = HTTP1_HEADERS_MAX - 1; fields <= HTTP1_HEADERS_MAX;
	     fields++) {
		ssize_t head;

		file = open_memstream(&text, &size);
		fprintf(file,
			"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n");
		for (int i = 0; i < fields; i++)
			fprintf(file, "%x:\r\n", i);
		fprintf(file, "\r\n");
		fclose(file);
		scan = (struct http1_scan){ 0 };
		head = http1_scan(&scan, text, size, 65536, &refusal);
		if (fields < HTTP1_HEADERS_MAX) {
			assert_int_equal(head, size);
			assert_true(http1_request(&request, text, size, headers,
						  http1_fields(&scan),
						  &refusal));
			assert_int_equal(request.header_count,
					 HTTP1_HEADERS_MAX);
		} else {
			assert_int_equal(head, -1);
			assert_int_equal(refusal.status, 431);
		}
		/* The limit counts the last byte. */
		scan = (struct http1_scan){ 0 };
		assert_int_equal(http1_scan(&scan, text, size, 100, &refusal),
				 -1);
		assert_int_equal(refusal.status, 431);
		free(text);
	}
	scan = (struct http1_scan){ 0 };
	assert_int_equal(http1_scan(&scan, "A b\r\n\r\n", 7, 7, &refusal), 7);
	scan = (struct http1_scan){ 0 };
	assert_int_equal(http1_scan(&scan, "A b\r\n\r\n", 7, 6, &refusal), -1);
}

/* clang-format off */

struct response_row {
	int line;
	const char *input;
	size_t size;
	const char *summary; /* NULL: refused */
};

static const struct response_row responses[] = {
	{ ROW("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), "200 OK 1.1 length 3" },
	{ ROW("HTTP/1.1 200\r\n\r\n"), "200  1.1 close 0" },
	{ ROW("HTTP/1.1 200 \r\n\r\n"), "200  1.1 close 0" },
	{ ROW("HTTP/1.0 404 Not Found \xc3\xa9\r\n\r\n"), "404 Not Found \xc3\xa9 1.0 close 0" },
	{ ROW("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), "200 OK 1.1 chunked 0" },
	{ ROW("HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n"), "101 S 1.1 close 0 websocket" },
	{ ROW("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n"), "200 OK 1.1 length 3" },
	{ ROW("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), NULL },
	{ ROW("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 200 OK\r\nA: 1\r\n b\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 200 OK\r\nA : 1\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 200 OK\nA: 1\n\n"), NULL },
	{ ROW("HTTP/1.1 99 Low\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 099 Low\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 600 High\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 2000 Long\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1  200 OK\r\n\r\n"), NULL },
	{ ROW("HTTP/2.0 200 OK\r\n\r\n"), NULL },
	{ ROW("HTTP/1.1 2x0 OK\r\n\r\n"), NULL },
	{ ROW("ICY 200 OK\r\n\r\n"), NULL },
	{ ROW("hello\r\n\r\n"), NULL },
	{ ROW("\r\n"), NULL },
};

/* clang-format on */

static void test_responses(void **state)
{
	bool good = true;

	(void)state;
	for (size_t i = 0; i < COUNT(responses); i++) {
		const struct response_row *row = &responses[i];
		struct proxy_header headers[8];
		struct http1_scan scan = { 0 };
		struct http1_refusal refusal;
		struct http1_response r;
		char out[128] = "";
		ssize_t head = http1_scan(&scan, row->input, row->size, 65536,
					  &refusal);
		bool ok =
			head > 0 && http1_response(&r, row->input, (size_t)head,
						   headers, 8, &refusal);

		assert_int_not_equal(head, 0);
		if (ok)
			snprintf(out, sizeof(out), "%u %.*s 1.%u %s %llu%s",
				 r.status, (int)r.phrase.size,
				 r.phrase.data ? r.phrase.data : "", r.minor,
				 framing_name(r.framing),
				 (unsigned long long)r.length,
				 r.websocket ? " websocket" : "");
		if (ok == !!row->summary && (!ok || !strcmp(out, row->summary)))
			continue;
		good = false;
		print_error("line %d: \"%s\"\n", row->line, out);
	}
	assert_true(good);
}

/* clang-format off */

/* @payload: with the trailer section behind it; @left: bytes behind the body; -1: refused; -2: more is wanted */
struct body_row {
	int line;
	const char *input;
	size_t size;
	const char *payload;
	int left;
};

static const struct body_row bodies[] = {
	{ ROW("5\r\nhello\r\n0\r\n\r\n"), "hello", 0 },
	{ ROW("5\r\nhello\r\n0\r\n\r\nGET"), "hello", 3 },
	{ ROW("0\r\n\r\n"), "", 0 },
	{ ROW("A\r\n0123456789\r\n00\r\n\r\n"), "0123456789", 0 },
	{ ROW("000000000000001\r\nx\r\n0\r\n\r\n"), "x", 0 },
	{ ROW("5;ext=1\r\nhello\r\n0;x\r\n\r\n"), "hello", 0 },
	{ ROW("1\r\na\r\n2\r\nbc\r\n0\r\nX-T: v\r\nY:\r\n\r\nZ"), "abcX-T: v\r\nY:\r\n", 1 },
	{ ROW("5\r\nhel"), "hel", -2 },
	{ ROW("5\r\nhello\r\n0\r\n"), "hello", -2 },
	{ ROW(""), "", -2 },
	{ ROW("+5\r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("-1\r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW(" 5\r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("5 \r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("5\t\r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("0x5\r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("\r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW(";a\r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("5\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("5\rhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("5;a\nb\r\nhello\r\n0\r\n\r\n"), "", -1 },
	{ ROW("5\r\nhelloX\r\n0\r\n\r\n"), "hello", -1 },
	{ ROW("5\r\nhello\n0\r\n\r\n"), "hello", -1 },
	{ ROW("5\r\nhello\r0\r\n\r\n"), "hello", -1 },
	{ ROW("ffffffffffffffff1\r\nhello\r\n"), "", -1 },
	{ ROW("ffffffffffffffff\r\nhello\r\n"), "", -1 },
	{ ROW("0000000000000005\r\nhello\r\n"), "", -1 },
	{ ROW("0\r\n X: folded\r\n\r\n"), "", -1 },
	{ ROW("0\r\nX : 1\r\n\r\n"), "", -1 },
	{ ROW("0\r\nnocolon\r\n\r\n"), "", -1 },
	{ ROW("0\r\nX: 1\n\r\n"), "", -1 },
	{ ROW("0\r\n: 1\r\n\r\n"), "", -1 },
	{ ROW("0\r\n\rx"), "", -1 },
};

/* clang-format on */

static int read_body(const struct body_row *row, size_t step, char *payload,
		     char *trailer)
{
	struct http1_body body;
	size_t at = 0, have = 0;

	http1_body_start(&body, HTTP1_CHUNKED, 0);
	for (;;) {
		struct proxy_text piece;
		const char *reason = NULL;
		size_t used;

		switch (http1_body_next(&body, row->input + at, have - at,
					&used, &piece, &reason)) {
		case HTTP1_PIECE:
			strncat(payload, piece.data, piece.size);
			break;
		case HTTP1_TRAILER:
			strncat(trailer, piece.data, piece.size);
			break;
		case HTTP1_MORE:
			assert_int_equal(used, have - at);
			if (have == row->size)
				return -2;
			have = have + step < row->size ? have + step
						       : row->size;
			break;
		case HTTP1_END:
			assert_true(http1_body_done(&body));
			return (int)(row->size - at - used);
		case HTTP1_BAD:
			assert_non_null(reason);
			return -1;
		}
		at += used;
	}
}

static void test_bodies(void **state)
{
	static const size_t steps[] = { 1000, 1, 3 };
	bool good = true;

	(void)state;
	for (size_t i = 0; i < COUNT(bodies); i++) {
		for (size_t j = 0; j < COUNT(steps); j++) {
			char payload[64] = "", trailer[64] = "";
			int left = read_body(&bodies[i], steps[j], payload,
					     trailer);

			if (left >= 0)
				strcat(payload, trailer);
			if (left == bodies[i].left &&
			    !strcmp(payload, bodies[i].payload))
				continue;
			good = false;
			print_error("line %d: %d \"%s\"\n", bodies[i].line,
				    left, payload);
		}
	}
	assert_true(good);
}

static void test_bounds_of_bodies(void **state)
{
	struct http1_body body;
	struct proxy_text piece;
	const char *reason;
	enum http1_step step;
	size_t used, fed = 0;

	(void)state;
	http1_body_start(&body, HTTP1_CHUNKED, 0);
	http1_body_next(&body, "0;", 2, &used, &piece, &reason);
	do
		step = http1_body_next(&body, "x", 1, &used, &piece, &reason);
	while (step == HTTP1_MORE && ++fed < 100000);
	assert_int_equal(step, HTTP1_BAD);
	assert_int_equal(fed, HTTP1_EXTENSION_MAX);
	http1_body_start(&body, HTTP1_CHUNKED, 0);
	http1_body_next(&body, "0\r\na:", 5, &used, &piece, &reason);
	fed = 2;
	do
		step = http1_body_next(&body, "x", 1, &used, &piece, &reason);
	while (step == HTTP1_TRAILER && ++fed < 100000);
	assert_int_equal(step, HTTP1_BAD);
	assert_int_equal(fed, HTTP1_TRAILER_MAX);
}

static void test_trailers(void **state)
{
	static const char section[] = "X-T: v\r\nGrpc-Status: 0\r\n";
	static const char *const kept_out[] = {
		"Host",	      "Content-Length", "transfer-encoding",
		"Connection", "Authorization",	"Set-Cookie",
		"Trailer",    "Proxy-X",	"content-type"
	};
	struct proxy_text text = proxy_text_of(section);
	struct proxy_header fields[2];
	size_t count;

	(void)state;
	assert_true(http1_trailers(text, fields, 2, &count));
	assert_int_equal(count, 2);
	assert_true(proxy_text_equal(fields[1].name, "Grpc-Status"));
	assert_true(proxy_text_equal(fields[1].value, "0"));
	assert_true(http1_trailing(fields[1].name));
	assert_false(http1_trailers(text, fields, 1, &count));
	for (size_t i = 0; i < COUNT(kept_out); i++)
		assert_false(http1_trailing(proxy_text_of(kept_out[i])));
}

static void test_plain_bodies(void **state)
{
	struct http1_body body;
	struct proxy_text piece;
	const char *reason;
	size_t used;

	(void)state;
	http1_body_start(&body, HTTP1_LENGTH, 3);
	assert_int_equal(
		http1_body_next(&body, "abcd", 4, &used, &piece, &reason),
		HTTP1_PIECE);
	assert_int_equal(piece.size, 3);
	assert_int_equal(used, 3);
	assert_int_equal(http1_body_next(&body, "d", 1, &used, &piece, &reason),
			 HTTP1_END);
	assert_int_equal(used, 0);
	http1_body_start(&body, HTTP1_LENGTH, 0);
	assert_true(http1_body_done(&body));
	http1_body_start(&body, HTTP1_NONE, 7);
	assert_true(http1_body_done(&body));
	http1_body_start(&body, HTTP1_UNTIL_CLOSE, 0);
	assert_int_equal(
		http1_body_next(&body, "ab", 2, &used, &piece, &reason),
		HTTP1_PIECE);
	assert_int_equal(used, 2);
	assert_false(http1_body_done(&body));
}

static void test_fields(void **state)
{
	const struct proxy_header headers[] = {
		{ { "Connection", 10 }, { "close, , X-Hop", 14 } },
		{ { "connection", 10 }, { "y-hop", 5 } },
	};
	static const char *const hops[] = { "x-hop",	  "Y-Hop",
					    "TE",	  "Keep-Alive",
					    "Connection", "Proxy-Anything",
					    "Upgrade",	  "Transfer-Encoding",
					    "Trailer" };
	static const char *const ends[] = { "Cookie", "X-Hop2", "Proxy",
					    "Content-Length" };
	static const char *const reserved[] = { "host", "Content-Length", "TE",
						"Expect",
						"proxy-authorization" };

	(void)state;
	for (size_t i = 0; i < COUNT(hops); i++)
		assert_true(
			http1_hop_by_hop(proxy_text_of(hops[i]), headers, 2));
	for (size_t i = 0; i < COUNT(ends); i++)
		assert_false(
			http1_hop_by_hop(proxy_text_of(ends[i]), headers, 2));
	for (size_t i = 0; i < COUNT(reserved); i++)
		assert_true(http1_reserved(proxy_text_of(reserved[i])));
	assert_false(http1_reserved(proxy_text_of("Authorization")));
	assert_true(http1_host(proxy_text_of("::ffff:127.0.0.1")));
	assert_false(http1_host(proxy_text_of("a.test:80")));
	assert_false(http1_host(proxy_text_of("a\r\nb")));
	assert_false(http1_host(proxy_text_of("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_responses),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_bounds_of_bodies),
		cmocka_unit_test(test_trailers),
		cmocka_unit_test(test_plain_bodies),
		cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
