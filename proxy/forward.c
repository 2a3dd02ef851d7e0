/* SPDX-License-Identifier: Apache-2.0 */
/* A plain request under way: head and body up, response down. */
#include <stdio.h>

#include "proxy/internal.h"

enum { INTERIM_MAX = 64 }; /* 1xx responses of one request */

static bool is_edited(const struct proxy_verdict *verdict,
		      struct proxy_text name)
{
	for (size_t i = 0; i < verdict->set_count; i++) {
		if (proxy_text_same(verdict->set[i].name, name))
			return true;
	}
	for (size_t i = 0; i < verdict->remove_count; i++) {
		if (proxy_text_same(verdict->remove[i], name))
			return true;
	}
	return false;
}

const char *forward_check_edits(const struct proxy_verdict *verdict)
{
	for (size_t i = 0; i < verdict->set_count; i++) {
		if (!http1_token(verdict->set[i].name))
			return "malformed header name";
		if (!http1_value(verdict->set[i].value))
			return "control byte in a header value";
		if (http1_reserved(verdict->set[i].name))
			return "headers of framing and routing cannot be set";
	}
	for (size_t i = 0; i < verdict->remove_count; i++) {
		if (!http1_token(verdict->remove[i]))
			return "malformed header name";
		if (http1_reserved(verdict->remove[i]))
			return "headers of framing and routing cannot be "
			       "removed";
	}
	return NULL;
}

static void add_header(struct pbuf *out, const struct proxy_header *header)
{
	pbuf_text_add(out, header->name);
	pbuf_add(out, ": ", 2);
	pbuf_text_add(out, header->value);
	pbuf_add(out, "\r\n", 2);
}

/* It comes from the verdict: what was decided is what is asked for. */
static void add_authority(struct pbuf *out, const struct exchange *exchange)
{
	const char *host = exchange->host;
	bool v6 = strchr(host, ':') != NULL;

	pbuf_format(out, "%s%s%s", v6 ? "[" : "", host, v6 ? "]" : "");
	if (exchange->request.port != 80)
		pbuf_format(out, ":%u", exchange->request.port);
}

static void add_host(struct pbuf *out, const struct exchange *exchange)
{
	pbuf_format(out, "Host: ");
	add_authority(out, exchange);
	pbuf_add(out, "\r\n", 2);
}

static void add_request_line(struct pbuf *out, const struct exchange *exchange)
{
	const struct http1_request *request = &exchange->request;

	pbuf_text_add(out, request->method);
	pbuf_add(out, " ", 1);
	if (exchange->by_parent) {
		pbuf_format(out, "http://");
		add_authority(out, exchange);
	}
	pbuf_text_add(out, request->path);
	if (request->query.data) {
		pbuf_add(out, "?", 1);
		pbuf_text_add(out, request->query);
	}
	pbuf_format(out, " HTTP/1.1\r\n");
}

static void add_framing(struct pbuf *out, enum http1_framing framing,
			uint64_t length)
{
	if (framing == HTTP1_CHUNKED)
		pbuf_format(out, "Transfer-Encoding: chunked\r\n");
	else if (framing == HTTP1_LENGTH)
		pbuf_format(out, "Content-Length: %llu\r\n",
			    (unsigned long long)length);
}

/* Of the fields that are forwarded, those which we write ourselves. */
static bool is_own(struct proxy_text name)
{
	return proxy_text_is(name, "host") ||
	       proxy_text_is(name, "content-length");
}

const char *forward_head(struct exchange *exchange,
			 const struct proxy_verdict *verdict)
{
	const struct http1_request *request = &exchange->request;
	struct pbuf *out = &exchange->forward;
	const char *wrong = forward_check_edits(verdict);

	if (wrong)
		return wrong;
	add_request_line(out, exchange);
	add_host(out, exchange);
	if (exchange->by_parent && verdict->via->authorization)
		add_header(out, &(struct proxy_header){
					proxy_text_of("Proxy-Authorization"),
					proxy_text_of(
						verdict->via->authorization) });
	for (size_t i = 0; i < request->header_count; i++) {
		struct proxy_text name = request->headers[i].name;

		if (is_own(name) || is_edited(verdict, name) ||
		    http1_hop_by_hop(name, request->headers,
				     request->header_count) ||
		    (proxy_text_is(name, "expect") && !request->expects))
			continue;
		add_header(out, &request->headers[i]);
	}
	for (size_t i = 0; i < verdict->set_count; i++)
		add_header(out, &verdict->set[i]);
	add_framing(out, request->framing, request->length);
	pbuf_format(out, request->websocket ? "Connection: Upgrade\r\n"
					      "Upgrade: websocket\r\n\r\n"
					    : "Connection: close\r\n\r\n");
	return NULL;
}

/* Sends a piece of a body, as a chunk where the receiver gets chunks. */
static void send_piece(struct stream *to, bool chunked, struct proxy_text piece)
{
	if (!chunked) {
		stream_send(to, piece);
		return;
	}
	pbuf_format(&to->out, "%zx\r\n", piece.size);
	pbuf_text_add(&to->out, piece);
	pbuf_add(&to->out, "\r\n", 2);
}

static void send_end(struct stream *to, bool chunked)
{
	if (chunked)
		pbuf_add(&to->out, "0\r\n\r\n", 5);
}

/* An upstream failure, told where an answer can still be given. */
static void fail_upstream(struct client *client, unsigned int status,
			  const char *cause)
{
	struct exchange *exchange = client->exchange;

	if (!exchange->started) {
		reply_failure(client, status, "upstream-failure", "%s:%u %s",
			      exchange->host, exchange->request.port, cause);
		return;
	}
	proxy_log(client->proxy, "fail %s:%u %s", exchange->host,
		  exchange->request.port, cause);
	client_cut(client);
}

static void fail_request(struct client *client, const char *reason)
{
	if (client->exchange->started)
		client_cut(client);
	else
		reply_failure(client, 400, "bad-request", "%s", reason);
}

/* Body bytes up. All input is used in one go, so the bound is its size. */
static bool send_body(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct stream *up = exchange->up;
	bool chunked = exchange->request.framing == HTTP1_CHUNKED;
	const char *reason = NULL;
	bool moved = false;
	size_t used;

	if (http1_body_done(&exchange->body) || up->write_error)
		return false;
	stream_flush(up);
	if (stream_pending(up))
		return false;
	for (;;) {
		struct proxy_text input = stream_input(&client->stream), piece;
		enum http1_step step =
			http1_body_next(&exchange->body, input.data, input.size,
					&used, &piece, &reason);

		if (step == HTTP1_PIECE)
			send_piece(up, chunked, piece);
		stream_consume(&client->stream, used);
		moved = moved || used;
		if (step == HTTP1_BAD ||
		    (step == HTTP1_MORE && client->stream.eof)) {
			fail_request(client,
				     reason ? reason : "the body ended early");
			return true;
		}
		if (http1_body_done(&exchange->body)) {
			send_end(up, chunked);
			return true;
		}
		if (step == HTTP1_MORE)
			return moved;
	}
}

static bool is_bodiless(const struct exchange *exchange, unsigned int status)
{
	return exchange->is_head || status == 204 || status == 304;
}

static void add_response_fields(struct pbuf *out,
				const struct http1_response *response)
{
	size_t count = response->header_count;

	for (size_t i = 0; i < count; i++) {
		struct proxy_text name = response->headers[i].name;

		if (!proxy_text_is(name, "content-length") &&
		    !http1_hop_by_hop(name, response->headers, count))
			add_header(out, &response->headers[i]);
	}
}

static void add_status_line(struct pbuf *out,
			    const struct http1_response *response)
{
	pbuf_format(out, "HTTP/1.1 %u ", response->status);
	pbuf_text_add(out, response->phrase);
	pbuf_add(out, "\r\n", 2);
}

/* 1xx: passed on to clients that know them (RFC 9110 15.2). */
static void pass_interim(struct client *client,
			 const struct http1_response *response)
{
	struct exchange *exchange = client->exchange;
	struct pbuf *out = &client->stream.out;

	if (response->status == 101 &&
	    (!exchange->request.websocket || !response->websocket)) {
		fail_upstream(client, 502, "switched protocols unasked");
		return;
	}
	if (++exchange->interim > INTERIM_MAX) {
		fail_upstream(client, 502, "gave no final response");
		return;
	}
	if (exchange->request.minor == 0)
		return;
	add_status_line(out, response);
	add_response_fields(out, response);
	if (response->status == 101) {
		pbuf_format(out, "Connection: Upgrade\r\n"
				 "Upgrade: websocket\r\n");
		exchange->started = true;
		client_enter(client, CLIENT_TUNNEL);
	}
	pbuf_add(out, "\r\n", 2);
}

/* How the body of the response comes in, and how it goes out. */
static void choose_framing(struct exchange *exchange,
			   const struct http1_response *response)
{
	bool old = exchange->request.minor == 0;
	enum http1_framing framing = response->framing;

	if (is_bodiless(exchange, response->status))
		framing = HTTP1_NONE;
	http1_body_start(&exchange->answer, framing, response->length);
	exchange->chunk_down = !old && (framing == HTTP1_CHUNKED ||
					framing == HTTP1_UNTIL_CLOSE);
	exchange->until_close = old && (framing == HTTP1_CHUNKED ||
					framing == HTTP1_UNTIL_CLOSE);
	/* An answer to half a request: the rest may never come. */
	if (exchange->until_close || !http1_body_done(&exchange->body))
		exchange->close_after = true;
}

static void begin_response(struct client *client,
			   const struct http1_response *response)
{
	struct exchange *exchange = client->exchange;
	struct pbuf *out = &client->stream.out;

	choose_framing(exchange, response);
	add_status_line(out, response);
	add_response_fields(out, response);
	if (exchange->chunk_down)
		add_framing(out, HTTP1_CHUNKED, 0);
	else if (response->has_length && response->status != 204)
		add_framing(out, HTTP1_LENGTH, response->length);
	if (exchange->close_after)
		pbuf_format(out, "Connection: close\r\n");
	pbuf_add(out, "\r\n", 2);
	exchange->started = true;
	exchange->response = RESPONSE_BODY;
}

static void parse_response(struct client *client, struct proxy_text head)
{
	struct exchange *exchange = client->exchange;
	size_t fields = http1_fields(&exchange->scan);
	struct proxy_header *headers =
		calloc(fields ? fields : 1, sizeof(*headers));
	struct http1_response response;
	struct http1_refusal refusal = { 502, "out of memory" };
	char cause[128];
	bool ok = headers && http1_response(&response, head.data, head.size,
					    headers, fields, &refusal);

	if (!ok) {
		snprintf(cause, sizeof(cause), "sent an invalid response: %s",
			 refusal.reason);
		fail_upstream(client, 502, cause);
	} else if (exchange->by_parent && response.status == 407) {
		/* Whose credentials are meant, no client can know. */
		fail_upstream(client, 502,
			      "is reached by a parent proxy that wants other "
			      "credentials");
	} else if (response.status < 200) {
		exchange->scan = (struct http1_scan){ 0 };
		pass_interim(client, &response);
	} else {
		begin_response(client, &response);
	}
	free(headers);
}

static bool upstream_over(struct client *client, bool moved)
{
	struct exchange *exchange = client->exchange;
	struct stream *up = exchange->up;
	int error = stream_error(up);

	if (up->read_error || (up->eof && exchange->response == RESPONSE_HEAD))
		fail_upstream(client, 502,
			      error && error != UV_EPIPE
				      ? "reset the connection"
				      : "closed the connection without a "
					"complete response");
	else if (up->eof)
		fail_upstream(client, 502, "ended the response early");
	else
		return moved;
	return true;
}

static bool read_head(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct proxy_text input = stream_input(exchange->up);
	struct http1_refusal refusal;
	char cause[128];
	ssize_t size = http1_scan(&exchange->scan, input.data, input.size,
				  client->proxy->limits.header_bytes, &refusal);

	if (size < 0) {
		snprintf(cause, sizeof(cause), "sent an invalid response: %s",
			 refusal.reason);
		fail_upstream(client, 502, cause);
		return true;
	}
	if (!size)
		return upstream_over(client, false);
	input.size = (size_t)size;
	parse_response(client, input);
	/* Where it failed, the exchange and its stream are gone. */
	if (client->exchange)
		stream_consume(client->exchange->up, input.size);
	return true;
}

static void finish(struct client *client)
{
	struct exchange *exchange = client->exchange;

	send_end(&client->stream, exchange->chunk_down);
	exchange->response = RESPONSE_DONE;
	exchange->up->wake = NULL;
	stream_close(exchange->up, false);
	exchange->up = NULL;
	client_next(client);
}

static bool read_body(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct http1_body *answer = &exchange->answer;
	struct stream *up = exchange->up;
	struct proxy_text piece;
	const char *reason = NULL;
	bool moved = false;
	enum http1_step step;

	do {
		struct proxy_text input = stream_input(up);
		size_t used;

		step = http1_body_next(answer, input.data, input.size, &used,
				       &piece, &reason);
		if (step == HTTP1_PIECE)
			send_piece(&client->stream, exchange->chunk_down,
				   piece);
		stream_consume(up, used);
		moved = moved || used;
	} while (step == HTTP1_PIECE);
	if (step == HTTP1_BAD)
		fail_upstream(client, 502, reason);
	else if (step == HTTP1_END || (answer->framing == HTTP1_UNTIL_CLOSE &&
				       up->eof && !stream_error(up)))
		finish(client);
	else
		return upstream_over(client, moved);
	return true;
}

bool forward_step(struct client *client)
{
	bool moved = send_body(client);

	if (client->state != CLIENT_EXCHANGE)
		return true;
	stream_flush(&client->stream);
	if (stream_pending(&client->stream))
		return moved;
	if (client->exchange->response == RESPONSE_HEAD)
		return read_head(client) || moved;
	return read_body(client) || moved;
}

void forward_expire(struct client *client)
{
	fail_upstream(client, 504, "gave no answer in time");
}
