/* SPDX-License-Identifier: Apache-2.0 */
/* A plain request under way: its body up, failures, and whose turn it is. */
#include "proxy/internal.h"

static void add_chunk(struct pbuf *out, struct proxy_text piece)
{
	pbuf_format(out, "%zx\r\n", piece.size);
	pbuf_text_add(out, piece);
	pbuf_add(out, "\r\n", 2);
}

void forward_piece(struct stream *to, bool chunked, struct proxy_text piece)
{
	if (chunked)
		add_chunk(&to->out, piece);
	else
		stream_send(to, piece);
}

bool forward_listed(const struct pbuf *names, struct proxy_text name)
{
	struct proxy_text list = pbuf_text(names), member;

	while (http1_member(&list, &member)) {
		if (proxy_text_same(member, name))
			return true;
	}
	return false;
}

/* A trailer section was read byte by byte already: it can be read again. */
static void add_trailers(struct pbuf *out, struct pbuf *section,
			 const struct pbuf *announced, const struct pbuf *strip)
{
	enum { TRAILERS_MAX = 64 };
	struct proxy_header fields[TRAILERS_MAX];
	size_t count = 0;

	/* More than that are no trailers: all of them go. */
	if (section->failed ||
	    !http1_trailers(pbuf_text(section), fields, TRAILERS_MAX, &count))
		count = 0;
	for (size_t i = 0; i < count; i++) {
		struct proxy_text name = fields[i].name;

		if (http1_trailing(name) &&
		    (announced ? forward_listed(announced, name)
			       : !forward_listed(strip, name)))
			head_add(out, &fields[i]);
	}
	pbuf_free(section);
}

void forward_end(struct pbuf *out, bool chunked, struct pbuf *trailers,
		 const struct pbuf *announced, const struct pbuf *strip)
{
	if (!chunked)
		return;
	pbuf_add(out, "0\r\n", 3);
	if (trailers->size)
		add_trailers(out, trailers, announced, strip);
	pbuf_add(out, "\r\n", 2);
}

/*
 * It goes into the same buffer as the head, so that it goes up with it, and
 * again where a kept connection turns out to be dead.
 */
void forward_begun(struct exchange *exchange, struct proxy_text body)
{
	struct pbuf *out = &exchange->forward;
	bool chunked = exchange->request.framing == HTTP1_CHUNKED;
	struct proxy_text begun = pbuf_text(&exchange->sent.bytes);

	if (body.data) {
		size_t from = out->size;

		pbuf_text_add(out, body);
		scrub_replaced(&exchange->fill, out, from);
		exchange->discard = true;
		return;
	}
	if (exchange->request.framing == HTTP1_NONE)
		return;
	begun = scrub_ready(&exchange->fill, begun,
			    http1_body_done(&exchange->body));
	if (begun.size && chunked)
		add_chunk(out, begun);
	else
		pbuf_text_add(out, begun);
	scrub_sent(&exchange->fill, begun.size);
	out->failed = out->failed || exchange->fill.held.failed;
	if (http1_body_done(&exchange->body))
		forward_end(out, chunked, &exchange->trailers,
			    &exchange->announced, NULL);
}

void forward_fail(struct client *client, unsigned int status, const char *cause)
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

/* What one step through the body gave. True when the body is over. */
static bool send_step(struct client *client, enum http1_step step,
		      struct proxy_text piece, const char *reason)
{
	struct exchange *exchange = client->exchange;
	struct stream *up = exchange->up;
	bool chunked = exchange->request.framing == HTTP1_CHUNKED;

	if (exchange->discard) {
		piece.size = 0;
	} else if (step == HTTP1_PIECE) {
		if (!scrub_piece(&exchange->fill, up, chunked, piece, false)) {
			fail_request(client, "out of memory");
			return true;
		}
	} else if (step == HTTP1_TRAILER && exchange->announced.size) {
		pbuf_text_add(&exchange->trailers, piece);
	}
	if (step == HTTP1_BAD || (step == HTTP1_MORE && client->stream.eof)) {
		fail_request(client, reason ? reason : "the body ended early");
		return true;
	}
	if (!http1_body_done(&exchange->body))
		return false;
	if (!exchange->discard &&
	    !scrub_piece(&exchange->fill, up, chunked, (struct proxy_text){ 0 },
			 true)) {
		fail_request(client, "out of memory");
		return true;
	}
	forward_end(&up->out, chunked && !exchange->discard,
		    &exchange->trailers, &exchange->announced, NULL);
	return true;
}

/* Body bytes up. All input is used in one go, so the bound is its size. */
static bool send_body(struct client *client)
{
	struct exchange *exchange = client->exchange;
	struct stream *up = exchange->up;
	bool moved = false, over;

	if (http1_body_done(&exchange->body) || up->write_error)
		return false;
	stream_flush(up);
	if (stream_pending(up))
		return false;
	for (;;) {
		struct proxy_text input = stream_input(&client->stream), piece;
		const char *reason;
		size_t used;
		enum http1_step step =
			http1_body_next(&exchange->body, input.data, input.size,
					&used, &piece, &reason);

		moved = moved || used;
		/* The piece is borrowed: it is sent before it is consumed. */
		over = send_step(client, step, piece, reason);
		stream_consume(&client->stream, used);
		if (over || step == HTTP1_MORE)
			return over || moved;
	}
}

bool forward_step(struct client *client)
{
	bool moved = send_body(client);

	if (client->state != CLIENT_EXCHANGE)
		return true;
	stream_flush(&client->stream);
	if (stream_pending(&client->stream))
		return moved;
	return response_step(client) || moved;
}

void forward_expire(struct client *client)
{
	forward_fail(client, 504, "gave no answer in time");
}
