/* SPDX-License-Identifier: Apache-2.0 */
/* The response to a plain request: from upstream to the client. */
#include <stdio.h>

#include "proxy/internal.h"

static void parse_response(struct client *client, struct proxy_text head)
{
	struct exchange *exchange = client->exchange;
	size_t fields = http1_fields(&exchange->scan);
	struct proxy_header *headers =
		malloc((fields ? fields : 1) * sizeof(*headers));
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
	} else {
		response_framing(exchange, &response);
		exchange->scan = (struct http1_scan){ 0 };
		if (exchange->reviewed &&
		    (response.status >= 200 || response.status == 101))
			review_begin(client, head, fields);
		else if (response.status < 200)
			response_interim(client, &response, NULL);
		else
			response_begin(client, &response, NULL);
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
	if (stream_tls_reason(up)[0])
		forward_fail(client, 502, stream_tls_reason(up));
	else if (up->read_error || exchange->response == RESPONSE_HEAD)
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

	/* Also where a piece before this found no memory. */
	if (!scrub_piece(&exchange->scrub, &client->stream,
			 exchange->chunk_down, (struct proxy_text){ 0 },
			 true)) {
		forward_fail(client, 502, "has no memory");
		return;
	}
	from = client->stream.out.size;
	forward_end(&client->stream.out, exchange->chunk_down,
		    &exchange->answer_trailers, NULL, &client->proxy->strip);
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
		if (step == HTTP1_TRAILER && exchange->chunk_down &&
		    !exchange->no_trailers)
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
	if (client->exchange->response == RESPONSE_ASK)
		return review_step(client);
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
