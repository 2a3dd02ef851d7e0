/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a response as it goes to the client. */
#include "proxy/internal.h"

enum { INTERIM_MAX = 64 }; /* 1xx responses of one request */

static bool has_no_body(unsigned int status)
{
	return status == 204 || status == 304;
}

/* Does a field of upstream's go down? */
static bool goes_down(const struct client *client,
		      const struct http1_response *response,
		      const struct proxy_verdict *edits, struct proxy_text name)
{
	const struct pbuf *strip = &client->proxy->strip;
	const struct exchange *exchange = client->exchange;
	bool trailers = exchange->chunk_down && !exchange->no_trailers;

	if (proxy_text_is(name, "content-length") ||
	    (http1_hop_by_hop(name, response->headers,
			      response->header_count) &&
	     !(trailers && proxy_text_is(name, "trailer"))))
		return false;
	if (strip->size && forward_listed(strip, name))
		return false;
	return !edits || !(forward_edited(edits, name) ||
			   (edits->body.data && forward_of_body(name)));
}

static void add_fields(struct client *client,
		       const struct http1_response *response,
		       const struct proxy_verdict *edits)
{
	struct pbuf *out = &client->stream.out;

	for (size_t i = 0; i < response->header_count; i++) {
		if (goes_down(client, response, edits,
			      response->headers[i].name))
			head_add(out, &response->headers[i]);
	}
	for (size_t i = 0; edits && i < edits->set_count; i++)
		head_add(out, &edits->set[i]);
}

static void add_status_line(struct pbuf *out,
			    const struct http1_response *response,
			    unsigned int status)
{
	pbuf_string(out, "HTTP/1.1 ");
	pbuf_number(out, status);
	pbuf_string(out, " ");
	if (status == response->status) {
		pbuf_text_add(out, response->phrase);
		pbuf_add(out, "\r\n", 2);
	} else {
		reply_add_phrase(out, reply_phrase(status));
	}
}

static void become_tunnel(struct client *client)
{
	pbuf_string(&client->stream.out, "Connection: Upgrade\r\n"
					 "Upgrade: websocket\r\n");
	client->exchange->started = true;
	client->exchange->response = RESPONSE_BODY;
	exchange_forget(client->exchange);
	review_end(client->exchange);
	client_tunnel(client);
}

/* 1xx: passed on to clients that know them (RFC 9110 15.2). */
void response_interim(struct client *client,
		      const struct http1_response *response,
		      const struct proxy_verdict *edits)
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
	/* What nobody has judged, and what we have said already. */
	if (response->status == 100
		    ? exchange->continued
		    : response->status != 101 && exchange->reviewed)
		return;
	add_status_line(out, response, response->status);
	exchange->chunk_down = false;
	add_fields(client, response, edits);
	if (response->status == 101)
		become_tunnel(client);
	pbuf_add(out, "\r\n", 2);
	scrub_added(exchange, out, from);
}

void response_framing(struct exchange *exchange,
		      const struct http1_response *response)
{
	enum http1_framing framing = response->framing;

	if (exchange->is_head || has_no_body(response->status) ||
	    response->status < 200)
		framing = HTTP1_NONE;
	/* Whether a body follows where none may is anybody's guess. */
	if (response->status == 204 &&
	    (response->framing == HTTP1_CHUNKED || response->length))
		exchange->reusable = false;
	http1_body_start(&exchange->answer, framing, response->length);
}

/* How the body goes out. */
static void choose_way(struct exchange *exchange)
{
	enum http1_framing framing = exchange->answer.framing;
	bool open = framing == HTTP1_CHUNKED || framing == HTTP1_UNTIL_CLOSE;
	bool old = exchange->request.minor == 0;

	exchange->chunk_down = open && !old;
	exchange->until_close = open && old;
	/* An answer to half a request: the rest may never come. */
	if (exchange->until_close || !http1_body_done(&exchange->body))
		exchange->close_after = true;
}

static void add_framing(struct client *client,
			const struct http1_response *response,
			unsigned int status, const struct proxy_text *body)
{
	struct exchange *exchange = client->exchange;
	struct pbuf *out = &client->stream.out;

	if (body && !has_no_body(status))
		head_add_framing(out, HTTP1_LENGTH, body->size);
	else if (exchange->chunk_down)
		head_add_framing(out, HTTP1_CHUNKED, 0);
	else if (!body && response->has_length && status != 204)
		head_add_framing(out, HTTP1_LENGTH, response->length);
	if (exchange->close_after)
		pbuf_string(out, "Connection: close\r\n");
	pbuf_add(out, "\r\n", 2);
}

/*
 * The body to send instead of upstream's, or NULL: a new one, or an empty one
 * where only one of the old and the new status can have any.
 */
static const struct proxy_text *
other_body(const struct http1_response *response,
	   const struct proxy_verdict *edits, unsigned int status)
{
	static const struct proxy_text none = { "", 0 };

	if (edits && edits->body.data)
		return &edits->body;
	return has_no_body(status) == has_no_body(response->status) ? NULL
								    : &none;
}

/* With another body the rest of upstream's is of no use to anybody. */
static void replace_body(struct client *client, unsigned int status,
			 const struct proxy_text *body)
{
	struct exchange *exchange = client->exchange;

	if (!exchange->is_head && !has_no_body(status))
		pbuf_text_add(&client->stream.out, *body);
	exchange->reusable =
		exchange->reusable && http1_body_done(&exchange->answer);
	http1_body_start(&exchange->answer, HTTP1_NONE, 0);
	pbuf_free(&exchange->got.bytes);
}

void response_begin(struct client *client,
		    const struct http1_response *response,
		    const struct proxy_verdict *edits)
{
	struct exchange *exchange = client->exchange;
	unsigned int status =
		edits && edits->status ? edits->status : response->status;
	const struct proxy_text *body = other_body(response, edits, status);
	size_t from = client->stream.out.size;

	exchange->reusable = exchange->reusable && !response->close &&
			     exchange->answer.framing != HTTP1_UNTIL_CLOSE &&
			     http1_body_done(&exchange->body);
	exchange->no_trailers =
		edits && (edits->set_count || edits->remove_count);
	choose_way(exchange);
	if (body)
		exchange->chunk_down = exchange->until_close = false;
	add_status_line(&client->stream.out, response, status);
	add_fields(client, response, edits);
	add_framing(client, response, status, body);
	scrub_added(exchange, &client->stream.out, from);
	if (body)
		replace_body(client, status, body);
	exchange->started = true;
	exchange->response = RESPONSE_BODY;
	pbuf_free(&exchange->forward);
}
