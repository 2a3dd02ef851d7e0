/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that are read before the verdict on their message. */
#include "proxy/decode.h"
#include "proxy/internal.h"

static struct exchange *exchange_of(struct proxy_ask *ask)
{
	return (struct exchange *)((char *)ask -
				   offsetof(struct exchange, ask));
}

static struct proxy *proxy_of(const struct exchange *exchange)
{
	return exchange->ask.client->proxy;
}

static bool about_response(const struct exchange *exchange)
{
	return exchange->response == RESPONSE_ASK;
}

static struct collected *collected_of(struct exchange *exchange)
{
	return about_response(exchange) ? &exchange->got : &exchange->sent;
}

/* Keeps the proxy's count of what all hold. */
static void account(struct proxy *proxy, struct collected *collected)
{
	size_t held = collected->bytes.capacity + collected->decoded.capacity;

	proxy->held += held - collected->held;
	collected->held = held;
}

static void free_collected(struct proxy *proxy, struct collected *collected)
{
	pbuf_free(&collected->bytes);
	pbuf_free(&collected->decoded);
	account(proxy, collected);
	*collected = (struct collected){ 0 };
}

void collect_end(struct exchange *exchange)
{
	if (!exchange->ask.client)
		return;
	free_collected(proxy_of(exchange), &exchange->sent);
	free_collected(proxy_of(exchange), &exchange->got);
}

/* Is there nothing more to read, as far as it is wanted? */
static bool is_over(struct exchange *exchange,
		    const struct collected *collected)
{
	const struct http1_body *body =
		about_response(exchange) ? &exchange->answer : &exchange->body;

	return http1_body_done(body) || collected->over || collected->full ||
	       collected->bytes.failed ||
	       collected->bytes.size > collected->max;
}

/* Takes what is there; false where the body is broken, and @reason says how. */
static bool take(struct stream *from, struct http1_body *body,
		 struct collected *collected, struct pbuf *trailers,
		 const char **reason)
{
	struct proxy_text piece;
	enum http1_step step;

	do {
		struct proxy_text input = stream_input(from);
		size_t used;

		step = http1_body_next(body, input.data, input.size, &used,
				       &piece, reason);
		if (step == HTTP1_PIECE)
			pbuf_text_add(&collected->bytes, piece);
		else if (step == HTTP1_TRAILER)
			pbuf_text_add(trailers, piece);
		stream_consume(from, used);
	} while (http1_goes_on(step) &&
		 collected->bytes.size <= collected->max);
	account(from->proxy, collected);
	collected->full = from->proxy->held > from->proxy->limits.buffer_bytes;
	return step != HTTP1_BAD;
}

/* The hook may answer at once: then the exchange may be gone. */
static void tell(struct collected *collected)
{
	void (*done)(void *context) = collected->done;

	collected->wanted = false;
	collected->done = NULL;
	if (done)
		done(collected->context);
}

static bool read_request(struct client *client, const char **reason)
{
	struct exchange *exchange = client->exchange;

	return take(&client->stream, &exchange->body, &exchange->sent,
		    &exchange->trailers, reason);
}

bool collect_request(struct client *client)
{
	struct exchange *exchange = client->exchange;
	const char *reason;

	if (!exchange->sent.wanted)
		return false;
	if (!read_request(client, &reason)) {
		exchange_cancel(exchange);
		reply_failure(client, 400, "bad-request", "%s", reason);
		return true;
	}
	if (!is_over(exchange, &exchange->sent))
		return false;
	tell(&exchange->sent);
	return true;
}

static bool read_response(struct exchange *exchange, const char **reason)
{
	struct stream *up = exchange->up;
	bool well = take(up, &exchange->answer, &exchange->got,
			 &exchange->answer_trailers, reason);

	exchange->got.over = exchange->answer.framing == HTTP1_UNTIL_CLOSE &&
			     up->eof && !stream_error(up);
	return well;
}

bool collect_response(struct client *client)
{
	struct exchange *exchange = client->exchange;
	const char *reason = NULL;
	bool well;

	if (!exchange->got.wanted)
		return false;
	well = read_response(exchange, &reason);
	if (well && is_over(exchange, &exchange->got)) {
		tell(&exchange->got);
		return true;
	}
	if (well && !exchange->up->eof && !exchange->up->read_error)
		return false;
	exchange_cancel(exchange);
	forward_fail(client, 502, reason ? reason : "ended the response early");
	return true;
}

static size_t wire_max(const struct exchange *exchange, size_t max)
{
	const struct proxy_question *question = &exchange->question;

	return decode_wire_max(question->headers, question->header_count, max);
}

/* A client that waits for it is told to send its body (RFC 9110 10.1.1). */
static void invite(struct exchange *exchange)
{
	struct stream *stream = &exchange->ask.client->stream;

	if (!exchange->request.expects || exchange->continued ||
	    exchange->sent.bytes.size || stream_input(stream).size)
		return;
	exchange->continued = true;
	pbuf_format(&stream->out, "HTTP/1.1 100 Continue\r\n\r\n");
}

/* What is broken shows when the next turn reads on. */
bool proxy_body(struct proxy_ask *ask, size_t max)
{
	struct exchange *exchange = exchange_of(ask);
	struct collected *collected = collected_of(exchange);
	const char *reason;
	bool well = true;

	max = wire_max(exchange, max);
	if (max > collected->max)
		collected->max = max;
	if (is_over(exchange, collected))
		return true;
	if (about_response(exchange))
		well = read_response(exchange, &reason);
	else
		well = read_request(ask->client, &reason);
	if (well && is_over(exchange, collected))
		return true;
	collected->wanted = true;
	if (!about_response(exchange))
		invite(exchange);
	return false;
}

void proxy_body_watch(struct proxy_ask *ask, void (*done)(void *context),
		      void *context)
{
	struct collected *collected = collected_of(exchange_of(ask));

	collected->done = done;
	collected->context = context;
	if (!done)
		collected->wanted = false;
}

void proxy_body_go_on(struct proxy_ask *ask)
{
	client_pump(ask->client);
}

static const char *why_not(const struct collected *collected, size_t max)
{
	if (collected->full)
		return "too much is held for all connections together "
		       "(limits.bufferBytes)";
	if (collected->bytes.failed)
		return "out of memory";
	return collected->bytes.size > max ? decode_too_long : NULL;
}

const char *proxy_body_take(struct proxy_ask *ask, size_t max,
			    struct proxy_text *out)
{
	struct exchange *exchange = exchange_of(ask);
	struct collected *collected = collected_of(exchange);
	const struct proxy_question *question = &exchange->question;
	const char *wrong = why_not(collected, wire_max(exchange, max));

	*out = pbuf_text(&collected->bytes);
	if (wrong || !out->size ||
	    !decode_is_coded(question->headers, question->header_count))
		return wrong;
	pbuf_free(&collected->decoded);
	collected->decoded.failed = false;
	wrong = decode_body(question->headers, question->header_count, *out,
			    max, &collected->decoded);
	*out = pbuf_text(&collected->decoded);
	account(proxy_of(exchange), collected);
	return wrong;
}
