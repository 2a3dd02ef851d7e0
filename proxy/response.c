/* SPDX-License-Identifier: Apache-2.0 */
/* The response to a plain request: from upstream to the client. */
#include <stdio.h>

#include "proxy/internal.h"

enum { INTERIM_MAX = 64 }; /* 1xx responses of one request */

static bool is_bodiless(const struct exchange *exchange, unsigned int status)
{
	return exchange->is_head || status == 204 || status == 304;
}

static void add_response_fields(struct pbuf *out,
				const struct http1_response *response,
				bool trailers)
{
	size_t count = response->header_count;

	for (size_t i = 0; i < count; i++) {
		struct proxy_text name = response->headers[i].name;

		if (proxy_text_is(name, "content-length") ||
		    (http1_hop_by_hop(name, response->headers, count) &&
		     !(trailers && proxy_text_is(name, "trailer"))))
			continue;
		head_add(out, &response->headers[i]);
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
	size_t from = out->size;

	if (response->status == 101 &&
	    (!exchange->request.websocket || !response->websocket)) {
		forward_fail(client, 502, "switched protocols unasked");
		return;
	}
	if (++exchange->interim > INTERIM_MAX) {
		forward_fail(client, 502, "gave no final response");
		return;
	}
	if (exchange->request.minor == 0)
		return;
	add_status_line(out, response);
	add_response_fields(out, response, false);
	if (response->status == 101) {
		pbuf_format(out, "Connection: Upgrade\r\n"
				 "Upgrade: websocket\r\n");
		exchange->started = true;
		client_tunnel(client);
	}
	pbuf_add(out, "\r\n", 2);
	scrub_added(exchange, out, from);
}

/* How the body of the response comes in, and how it goes out. */
static void choose_framing(struct exchange *exchange,
			   const struct http1_response *response)
{
	bool old = exchange->request.minor == 0;
	enum http1_framing framing = response->framing;

	if (is_bodiless(exchange, response->status))
		framing = HTTP1_NONE;
	/* Whether a body follows where none may is anybody's guess. */
	if (response->status == 204 &&
	    (response->framing == HTTP1_CHUNKED || response->length))
		exchange->reusable = false;
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
	size_t from = out->size;

	choose_framing(exchange, response);
	add_status_line(out, response);
	add_response_fields(out, response, exchange->chunk_down);
	if (exchange->chunk_down)
		head_add_framing(out, HTTP1_CHUNKED, 0);
	else if (response->has_length && response->status != 204)
		head_add_framing(out, HTTP1_LENGTH, response->length);
	if (exchange->close_after)
		pbuf_format(out, "Connection: close\r\n");
	pbuf_add(out, "\r\n", 2);
	scrub_added(exchange, out, from);
	exchange->started = true;
	exchange->response = RESPONSE_BODY;
	exchange->reusable = exchange->reusable && !response->close &&
			     exchange->answer.framing != HTTP1_UNTIL_CLOSE &&
			     http1_body_done(&exchange->body);
	pbuf_free(&exchange->forward);
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
		forward_fail(client, 502, cause);
	} else if (exchange->by_parent && response.status == 407) {
		/* Whose credentials are meant, no client can know. */
		forward_fail(client, 502,
			     "is reached by a parent proxy that wants other "
			     "credentials");
	} else if (scrub_check(exchange, &response)) {
		forward_fail(client, 502, scrub_check(exchange, &response));
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

	if (!up->read_error && !up->eof)
		return moved;
	if (upstream_retry(client))
		return true;
	if (up->read_error || exchange->response == RESPONSE_HEAD)
		forward_fail(client, 502,
			     error && error != UV_EPIPE
				     ? "reset the connection"
				     : "closed the connection without a "
				       "complete response");
	else
		forward_fail(client, 502, "ended the response early");
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
		forward_fail(client, 502, cause);
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
	size_t from;

	(void)scrub_piece(&exchange->scrub, &client->stream,
			  exchange->chunk_down, (struct proxy_text){ 0 }, true);
	from = client->stream.out.size;
	forward_end(&client->stream, exchange->chunk_down,
		    &exchange->answer_trailers, NULL);
	scrub_added(exchange, &client->stream.out, from);
	exchange->response = RESPONSE_DONE;
	upstream_release(client);
	client_next(client);
}

static bool read_body(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct http1_body *answer = &exchange->answer;
	struct stream *up = exchange->up;
	struct proxy_text piece;
	const char *reason;
	bool moved = false;
	enum http1_step step;

	do {
		struct proxy_text input = stream_input(up);
		size_t used;

		step = http1_body_next(answer, input.data, input.size, &used,
				       &piece, &reason);
		if (step == HTTP1_PIECE &&
		    !scrub_piece(&exchange->scrub, &client->stream,
				 exchange->chunk_down, piece, false)) {
			forward_fail(client, 502, "has no memory");
			return true;
		}
		if (step == HTTP1_TRAILER && exchange->chunk_down)
			pbuf_text_add(&exchange->answer_trailers, piece);
		stream_consume(up, used);
		moved = moved || used;
	} while (http1_goes_on(step));
	if (step == HTTP1_BAD)
		forward_fail(client, 502, reason);
	else if (step == HTTP1_END || (answer->framing == HTTP1_UNTIL_CLOSE &&
				       up->eof && !stream_error(up)))
		finish(client);
	else
		return upstream_over(client, moved);
	return true;
}

bool response_step(struct client *client)
{
	if (client->exchange->response == RESPONSE_HEAD) {
		if (!read_head(client))
			return false;
		/* What came of the body goes out with the head. */
		if (client->state != CLIENT_EXCHANGE ||
		    client->exchange->response != RESPONSE_BODY)
			return true;
		read_body(client);
		return true;
	}
	return read_body(client);
}
