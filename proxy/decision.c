/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a request when the policy has spoken. */
#include "proxy/internal.h"

enum { LOG_TARGET = 200, CODE_MAX = 64 };

static void log_verdict(const struct exchange *exchange, const char *word,
			const char *reason)
{
	const struct http1_request *request = &exchange->request;
	struct proxy_text target = request->target;
	const char *mark = memchr(target.data, '?', target.size);
	size_t size = mark ? (size_t)(mark - target.data) : target.size;

	/* Queries may hold secrets. */
	proxy_log(exchange->ask.client->proxy, "%s %.*s %s%.*s%s%s%s%s", word,
		  (int)(request->method.size > 32 ? 32 : request->method.size),
		  request->method.data,
		  exchange->inner ? exchange->inner->origin : "",
		  (int)(size > LOG_TARGET ? LOG_TARGET : size), target.data,
		  mark || size > LOG_TARGET ? "..." : "", reason ? " (" : "",
		  reason ? reason : "", reason ? ")" : "");
}

/* Must the connection end behind an answer given instead of upstream's? */
bool decision_ends(const struct client *client)
{
	const struct exchange *exchange = client->exchange;
	const struct http1_body *body = &exchange->body;

	if (exchange->close_after || exchange->request.connect)
		return true;
	if (http1_body_done(body))
		return false;
	/* Whether the client still sends such a body cannot be known. */
	if (exchange->request.expects && !exchange->continued &&
	    !stream_input(&client->stream).size)
		return true;
	return body->framing == HTTP1_LENGTH && body->left > PROXY_DRAIN;
}

static const char *code_of(const struct proxy_verdict *verdict)
{
	struct proxy_text code = proxy_text_of(verdict->code);

	if (code.data && code.size <= CODE_MAX && http1_token(code))
		return verdict->code;
	return "blocked-by-policy";
}

void decision_deny(struct client *client, const struct proxy_verdict *verdict)
{
	struct exchange *exchange = client->exchange;
	bool review = exchange->response == RESPONSE_ASK;
	const char *reason = verdict->reason && verdict->reason[0]
				     ? verdict->reason
				     : "denied";
	struct pbuf target = { 0 };
	struct reply reply = {
		.status = verdict->status >= 400 && verdict->status <= 599
				  ? verdict->status
			  : review ? 502
				   : 403,
		.phrase = exchange->request.connect ? reason : NULL,
		.code = code_of(verdict),
		.reason = reason,
		.title = verdict->title,
		.rule = verdict->rule,
		.advice = verdict->advice,
		.body = verdict->body,
		.set = verdict->set,
		/* Bad headers make a denial plainer, not weaker. */
		.set_count =
			forward_check_edits(verdict) ? 0 : verdict->set_count,
		.json = exchange->json,
	};

	if (verdict->rule) {
		denial_target(&target, &exchange->request);
		reply.denied = target.failed ? NULL : pbuf_text(&target).data;
	}
	log_verdict(exchange, "deny", reason);
	reply_send(client, &reply, decision_ends(client));
	pbuf_free(&target);
}

void decision_unusable(struct client *client, const char *wrong)
{
	reply_failure(client, 502, "bad-verdict",
		      "the policy's answer is unusable: %s", wrong);
}

void decision_answer(struct client *client, const struct proxy_verdict *verdict)
{
	const struct reply reply = {
		.status = verdict->status,
		.body = verdict->body,
		.set = verdict->set,
		.set_count = verdict->set_count,
	};
	const char *wrong = NULL;

	if (client->exchange->request.connect)
		wrong = "a tunnel cannot be answered, only allowed or denied";
	else if (verdict->status < 200 || verdict->status > 599)
		wrong = "the status is not one of 200 to 599";
	else
		wrong = forward_check_edits(verdict);
	if (wrong) {
		decision_unusable(client, wrong);
		return;
	}
	log_verdict(client->exchange, "answer", NULL);
	reply_send(client, &reply, decision_ends(client));
}

static const char *check_via(const struct proxy_via *via)
{
	if (!via->socket && (!via->host || !via->port))
		return "it names no valid proxy to leave by";
	if (via->authorization &&
	    !http1_value(proxy_text_of(via->authorization)))
		return "control byte in a credential";
	return NULL;
}

static const char *take_via(struct exchange *exchange,
			    const struct proxy_via *via)
{
	const char *wrong = check_via(via);

	if (wrong)
		return wrong;
	exchange->by_parent = !exchange->request.connect &&
			      !exchange->request.websocket && !exchange->inner;
	exchange->via = via_copy(via);
	return exchange->via ? NULL : "out of memory";
}

static const char *take_tunnel(struct exchange *exchange,
			       const struct proxy_verdict *verdict)
{
	if (exchange->raw && !exchange->redirected)
		return NULL;
	if (verdict->terminate && !exchange->ask.client->proxy->tls)
		return "it asks for TLS to be terminated, and nothing can";
	if (verdict->refuse_opaque && !verdict->terminate && !verdict->inspect)
		return "it refuses opaque tunnels and has none read";
	exchange->terminate = verdict->terminate;
	exchange->inspect = verdict->inspect;
	exchange->refuse_opaque = verdict->refuse_opaque;
	return NULL;
}

static const char *prepare(struct exchange *exchange,
			   const struct proxy_verdict *verdict)
{
	const char *wrong =
		verdict->via ? take_via(exchange, verdict->via) : NULL;

	if (wrong)
		return wrong;
	if (!verdict->host || !http1_host(proxy_text_of(verdict->host)))
		return "it names no valid host";
	exchange->host = strdup(verdict->host);
	if (!exchange->host)
		return "out of memory";
	if (verdict->port)
		exchange->request.port = verdict->port;
	if (exchange->request.connect)
		return take_tunnel(exchange, verdict);
	wrong = forward_head(exchange, verdict);
	return wrong			  ? wrong
	       : exchange->forward.failed ? "out of memory"
					  : NULL;
}

static void allow(struct client *client, const struct proxy_verdict *verdict)
{
	struct exchange *exchange = client->exchange;
	const char *wrong;

	exchange->reviewed = verdict->review;
	exchange->token = verdict->token;
	wrong = client->authz ? "what is asked about goes nowhere from here"
			      : prepare(exchange, verdict);
	if (wrong) {
		decision_unusable(client, wrong);
		return;
	}
	log_verdict(exchange, "allow", NULL);
	collect_end(exchange);
	/*
	 * Whoever judges the response is told what it answers; a tunnel that
	 * is read still needs its host as it was spelled.
	 */
	if (!exchange->reviewed && !exchange->terminate && !exchange->inspect)
		exchange_forget(exchange);
	upstream_open(client);
}

void proxy_answer(struct proxy_ask *ask, const struct proxy_verdict *verdict)
{
	struct client *client = ask->client;

	ask->open = false;
	if (client->exchange->response == RESPONSE_ASK)
		review_answer(client, verdict);
	else if (verdict->respond)
		decision_answer(client, verdict);
	else if (verdict->allow)
		allow(client, verdict);
	else
		decision_deny(client, verdict);
	client_pump(client);
}
