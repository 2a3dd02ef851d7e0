/* SPDX-License-Identifier: Apache-2.0 */
/* From a request head to the verdict to an upstream connection. */
#include "proxy/internal.h"
#include "proxy/socks.h"

enum { LOG_TARGET = 200, CODE_MAX = 64 };

void exchange_forget(struct exchange *exchange)
{
	free(exchange->head);
	free(exchange->headers);
	free(exchange->socks);
	exchange->head = NULL;
	exchange->headers = NULL;
	exchange->socks = NULL;
}

void exchange_free(struct exchange *exchange)
{
	const struct proxy_hooks *hooks;

	if (!exchange)
		return;
	if (exchange->ask.open) {
		exchange->ask.open = false;
		hooks = &exchange->ask.client->proxy->hooks;
		if (hooks->cancelled)
			hooks->cancelled(hooks->context, &exchange->ask);
	}
	if (exchange->dial)
		dial_cancel(exchange->dial);
	if (exchange->up) {
		exchange->up->owner = NULL;
		exchange->up->wake = NULL;
		stream_close(exchange->up, false);
	}
	exchange_forget(exchange);
	pbuf_free(&exchange->forward);
	free(exchange->host);
	free(exchange);
}

enum http1_step exchange_check_body(const struct client *client,
				    const char **reason)
{
	struct http1_body body = client->exchange->body;
	struct proxy_text input = stream_input(&client->stream), piece;
	enum http1_step step;
	size_t used;

	do {
		step = http1_body_next(&body, input.data, input.size, &used,
				       &piece, reason);
		input.data += used;
		input.size -= used;
	} while (step == HTTP1_PIECE);
	return step;
}

static const char *protocol_of(const struct exchange *exchange)
{
	if (exchange->socks_version)
		return exchange->socks_version == 4 ? "socks4a" : "socks5";
	return exchange->request.connect ? "connect" : "http";
}

void exchange_ask(struct client *client)
{
	struct exchange *exchange = client->exchange;
	const struct http1_request *request = &exchange->request;
	const struct proxy_hooks *hooks = &client->proxy->hooks;

	exchange->question = (struct proxy_question){
		.kind = request->connect ? PROXY_ASK_CONNECT
					 : PROXY_ASK_REQUEST,
		.protocol = protocol_of(exchange),
		.host = request->host,
		.port = request->port,
		.method = request->method,
		.target = request->target,
		.path = request->path,
		.query = request->query,
		.headers = request->headers,
		.header_count = request->header_count,
	};
	exchange->ask.client = client;
	exchange->ask.open = true;
	client_enter(client, CLIENT_ASK);
	hooks->decide(hooks->context, &exchange->ask, &exchange->question);
}

/* Moves the head out of the input, so that the rest can flow on. */
static bool take_head(struct client *client, struct exchange *exchange,
		      size_t size)
{
	size_t fields = http1_fields(&client->scan);

	exchange->head = malloc(size);
	exchange->headers =
		calloc(fields ? fields : 1, sizeof(*exchange->headers));
	if (!exchange->head || !exchange->headers)
		return false;
	memcpy(exchange->head, stream_input(&client->stream).data, size);
	stream_consume(&client->stream, size);
	return true;
}

static bool read_head(struct client *client, struct exchange *exchange,
		      size_t size)
{
	struct http1_request *request = &exchange->request;
	struct http1_refusal refusal;

	if (!http1_request(request, exchange->head, size, exchange->headers,
			   http1_fields(&client->scan), &refusal)) {
		reply_failure(client, refusal.status, "bad-request", "%s",
			      refusal.reason);
		return false;
	}
	exchange->is_head = proxy_text_equal(request->method, "HEAD");
	exchange->close_after = request->close;
	/* What follows a CONNECT is not its body. */
	http1_body_start(&exchange->body, request->framing, request->length);
	return true;
}

/* Body bytes that came along are read before anybody upstream sees any. */
static bool check_early_body(struct client *client)
{
	const char *reason;

	if (exchange_check_body(client, &reason) != HTTP1_BAD)
		return true;
	reply_failure(client, 400, "bad-request", "%s", reason);
	return false;
}

bool exchange_begin(struct client *client, size_t head_size)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));

	client->exchange = exchange;
	if (!exchange || !take_head(client, exchange, head_size)) {
		client_close(client, false);
		return false;
	}
	if (read_head(client, exchange, head_size) && check_early_body(client))
		exchange_ask(client);
	return true;
}

static void log_verdict(const struct exchange *exchange, const char *word,
			const char *reason)
{
	const struct http1_request *request = &exchange->request;
	struct proxy_text target = request->target;
	const char *mark = memchr(target.data, '?', target.size);
	size_t size = mark ? (size_t)(mark - target.data) : target.size;

	/* Queries may hold secrets. */
	proxy_log(exchange->ask.client->proxy, "%s %.*s %.*s%s%s%s%s", word,
		  (int)(request->method.size > 32 ? 32 : request->method.size),
		  request->method.data,
		  (int)(size > LOG_TARGET ? LOG_TARGET : size), target.data,
		  mark || size > LOG_TARGET ? "..." : "", reason ? " (" : "",
		  reason ? reason : "", reason ? ")" : "");
}

/* Must the connection end behind an answer given instead of upstream's? */
static bool ends_here(const struct client *client)
{
	const struct exchange *exchange = client->exchange;
	const struct http1_body *body = &exchange->body;

	if (exchange->close_after || exchange->request.connect)
		return true;
	if (http1_body_done(body))
		return false;
	/* Whether the client still sends such a body cannot be known. */
	if (exchange->request.expects && !stream_input(&client->stream).size)
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

static void deny(struct client *client, const struct proxy_verdict *verdict)
{
	struct exchange *exchange = client->exchange;
	const char *reason = verdict->reason && verdict->reason[0]
				     ? verdict->reason
				     : "denied";
	const struct reply reply = {
		.status = verdict->status >= 400 && verdict->status <= 599
				  ? verdict->status
				  : 403,
		.phrase = exchange->request.connect ? reason : NULL,
		.code = code_of(verdict),
		.reason = reason,
		.body = verdict->body,
		.set = verdict->set,
		/* Bad headers make a denial plainer, not weaker. */
		.set_count =
			forward_check_edits(verdict) ? 0 : verdict->set_count,
	};

	log_verdict(exchange, "deny", reason);
	reply_send(client, &reply, ends_here(client));
}

static void respond(struct client *client, const struct proxy_verdict *verdict)
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
		reply_failure(client, 502, "bad-verdict",
			      "the policy's answer is unusable: %s", wrong);
		return;
	}
	log_verdict(client->exchange, "answer", NULL);
	reply_send(client, &reply, ends_here(client));
}

static void tunnel_open(struct client *client)
{
	static const char done[] =
		"HTTP/1.1 200 Connection established\r\n\r\n";

	if (client->exchange->socks_version)
		socks_granted(client);
	else
		pbuf_add(&client->stream.out, done, sizeof(done) - 1);
	client_enter(client, CLIENT_TUNNEL);
}

static void on_wake(void *owner)
{
	client_pump(owner);
}

static void on_dialled(void *owner, const struct dial_result *result)
{
	struct client *client = owner;
	struct exchange *exchange = client->exchange;

	exchange->dial = NULL;
	if (!result->stream) {
		/* A refusal by policy leaves the connection usable. */
		struct reply reply = { .status = result->status,
				       .error = result->error,
				       .code = result->code,
				       .reason = result->text };

		if (exchange->request.connect && result->status == 403)
			reply.phrase = result->text;
		proxy_log(client->proxy, "fail %s", result->text);
		reply_send(client, &reply, ends_here(client));
		client_pump(client);
		return;
	}
	exchange->up = result->stream;
	exchange->up->owner = client;
	exchange->up->wake = on_wake;
	if (exchange->request.connect) {
		tunnel_open(client);
	} else if (check_early_body(client)) {
		pbuf_text_add(&exchange->up->out,
			      pbuf_text(&exchange->forward));
		pbuf_free(&exchange->forward);
		client_enter(client, CLIENT_EXCHANGE);
	}
	client_pump(client);
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

static const char *prepare(struct exchange *exchange,
			   const struct proxy_verdict *verdict)
{
	const char *wrong = verdict->via ? check_via(verdict->via) : NULL;

	if (wrong)
		return wrong;
	if (!verdict->host || !http1_host(proxy_text_of(verdict->host)))
		return "it names no valid host";
	exchange->by_parent = verdict->via && !exchange->request.connect &&
			      !exchange->request.websocket;
	exchange->host = strdup(verdict->host);
	if (!exchange->host)
		return "out of memory";
	if (exchange->request.connect)
		return NULL;
	wrong = forward_head(exchange, verdict);
	return wrong			  ? wrong
	       : exchange->forward.failed ? "out of memory"
					  : NULL;
}

static void allow(struct client *client, const struct proxy_verdict *verdict)
{
	struct exchange *exchange = client->exchange;
	const char *wrong = prepare(exchange, verdict);

	if (wrong) {
		reply_failure(client, 502, "bad-verdict",
			      "the policy's answer is unusable: %s", wrong);
		return;
	}
	log_verdict(exchange, "allow", NULL);
	exchange_forget(exchange);
	client_enter(client, CLIENT_DIAL);
	exchange->dial = dial_new(client->proxy, exchange->host,
				  exchange->request.port, on_dialled, client);
	if (!exchange->dial ||
	    (verdict->via &&
	     dial_via(exchange->dial, verdict->via, !exchange->by_parent)))
		client_close(client, false);
	else
		dial_start(exchange->dial);
}

void proxy_answer(struct proxy_ask *ask, const struct proxy_verdict *verdict)
{
	struct client *client = ask->client;

	ask->open = false;
	if (verdict->respond)
		respond(client, verdict);
	else if (verdict->allow)
		allow(client, verdict);
	else
		deny(client, verdict);
	client_pump(client);
}
