/* SPDX-License-Identifier: Apache-2.0 */
/* Responses that are asked about before anything of them goes down. */
#include "proxy/internal.h"

/**
 * struct review - a response that waits for its verdict
 * @head: a copy; @headers borrow from it, and @response from both
 * @asked: the question is out
 */
struct review {
	struct http1_response response;
	struct proxy_header *headers;
	bool asked;
	char head[];
};

void review_end(struct exchange *exchange)
{
	struct proxy *proxy =
		exchange->ask.client ? exchange->ask.client->proxy : NULL;

	if (exchange->review)
		free(exchange->review->headers);
	free(exchange->review);
	exchange->review = NULL;
	if (!exchange->reviewed)
		return;
	exchange->reviewed = false;
	if (proxy && proxy->hooks.forget)
		proxy->hooks.forget(proxy->hooks.context, exchange->token);
}

void review_begin(struct client *client, struct proxy_text head, size_t fields)
{
	struct exchange *exchange = client->exchange;
	struct review *review = calloc(1, sizeof(*review) + head.size);
	struct http1_refusal refusal;

	exchange->review = review;
	if (review)
		review->headers =
			calloc(fields ? fields : 1, sizeof(*review->headers));
	if (!review || !review->headers) {
		forward_fail(client, 502, "out of memory");
		return;
	}
	memcpy(review->head, head.data, head.size);
	/* It was read once, so it can be read again. */
	(void)http1_response(&review->response, review->head, head.size,
			     review->headers, fields, &refusal);
	exchange->response = RESPONSE_ASK;
}

static void ask(struct client *client)
{
	struct exchange *exchange = client->exchange;
	const struct http1_response *response = &exchange->review->response;
	const struct proxy_hooks *hooks = &client->proxy->hooks;

	exchange->question = (struct proxy_question){
		.kind = PROXY_ASK_RESPONSE,
		.protocol = "http",
		.host = proxy_text_of(exchange->host),
		.port = exchange->request.port,
		.method = exchange->request.method,
		.headers = response->headers,
		.header_count = response->header_count,
		.status = response->status,
		.token = exchange->token,
	};
	exchange->ask.open = true;
	hooks->decide(hooks->context, &exchange->ask, &exchange->question);
}

bool review_step(struct client *client)
{
	struct review *review = client->exchange->review;

	if (review->asked)
		return collect_response(client);
	review->asked = true;
	ask(client);
	return true;
}

bool review_reads(const struct exchange *exchange)
{
	return exchange->response != RESPONSE_ASK || exchange->got.wanted ||
	       exchange->up->in.size < PROXY_AHEAD;
}

static const char *check(const struct http1_response *response,
			 const struct proxy_verdict *verdict)
{
	if (response->status == 101 && (verdict->status || verdict->body.data))
		return "what switches protocols has this status and no body";
	if (verdict->status && (verdict->status < 200 || verdict->status > 599))
		return "the status is not one of 200 to 599";
	return forward_check_edits(verdict);
}

static void pass(struct client *client, const struct proxy_verdict *verdict)
{
	struct exchange *exchange = client->exchange;
	const struct http1_response *response = &exchange->review->response;

	if (response->status == 101) {
		response_interim(client, response, verdict);
		return;
	}
	response_begin(client, response, verdict);
	if (exchange->got.bytes.size)
		forward_piece(&client->stream, exchange->chunk_down,
			      pbuf_text(&exchange->got.bytes));
	collect_end(exchange);
	exchange_forget(exchange);
	review_end(exchange);
}

void review_answer(struct client *client, const struct proxy_verdict *verdict)
{
	struct exchange *exchange = client->exchange;
	bool allow = verdict->allow && !verdict->respond;
	const char *wrong =
		allow ? check(&exchange->review->response, verdict) : NULL;

	if (allow && !wrong) {
		pass(client, verdict);
		return;
	}
	upstream_drop(exchange);
	if (wrong)
		decision_unusable(client, wrong);
	else if (verdict->respond)
		decision_answer(client, verdict);
	else
		decision_deny(client, verdict);
}
