/* SPDX-License-Identifier: Apache-2.0 */
/* From a request head to the question, and the end of an exchange. */
#include "proxy/internal.h"
#include "proxy/socks.h"

void exchange_forget(struct exchange *exchange)
{
	free(exchange->head);
	free(exchange->headers);
	free(exchange->socks);
	exchange->head = NULL;
	exchange->headers = NULL;
	exchange->socks = NULL;
}

void exchange_cancel(struct exchange *exchange)
{
	const struct proxy_opener *opener = &exchange->opener;
	const struct proxy_hooks *hooks;

	if (!exchange->ask.open)
		return;
	exchange->ask.open = false;
	hooks = &exchange->ask.client->proxy->hooks;
	if (opener->open)
		opener->cancelled(opener->context, &exchange->ask);
	else if (hooks->cancelled)
		hooks->cancelled(hooks->context, &exchange->ask);
}

void exchange_free(struct exchange *exchange)
{
	if (!exchange)
		return;
	exchange_cancel(exchange);
	review_end(exchange);
	collect_end(exchange);
	if (exchange->dial)
		dial_cancel(exchange->dial);
	if (exchange->tunnel)
		exchange->ask.client->proxy->tunnel_count--;
	if (exchange->terminated)
		exchange->ask.client->proxy->tls->count--;
	upstream_drop(exchange);
	exchange_forget(exchange);
	pbuf_free(&exchange->forward);
	pbuf_free(&exchange->announced);
	pbuf_free(&exchange->trailers);
	pbuf_free(&exchange->answer_trailers);
	substitute_end(&exchange->fill);
	substitute_end(&exchange->scrub);
	free(exchange->via);
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
	} while (http1_goes_on(step));
	return step;
}

static const char *protocol_of(const struct exchange *exchange)
{
	if (exchange->raw)
		return exchange->redirected ? "transparent" : "loopback";
	if (exchange->inner)
		return exchange->inner->protocol;
	if (exchange->socks_version)
		return exchange->socks_version == 4 ? "socks4a" : "socks5";
	return exchange->request.connect ? "connect" : "http";
}

void exchange_ask(struct client *client)
{
	struct exchange *exchange = client->exchange;
	const struct http1_request *request = &exchange->request;
	const struct proxy_hooks *hooks = &client->proxy->hooks;
	const struct inner *inner = exchange->inner;

	exchange->question = (struct proxy_question){
		.kind = client->authz	    ? PROXY_ASK_AUTHZ
			: !request->connect ? PROXY_ASK_REQUEST
			: exchange->raw && !exchange->redirected
				? PROXY_ASK_FORWARD
				: PROXY_ASK_CONNECT,
		.protocol = protocol_of(exchange),
		.host = inner ? proxy_text_of(inner->host) : request->host,
		.port = request->port,
		.sni = proxy_text_of(inner && inner->sni[0] ? inner->sni
							    : NULL),
		.inside = inner != NULL,
		.tls = inner && inner->tls,
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
		malloc((fields ? fields : 1) * sizeof(*exchange->headers));
	if (!exchange->head || !exchange->headers)
		return false;
	memcpy(exchange->head, stream_input(&client->stream).data, size);
	stream_consume(&client->stream, size);
	return true;
}

/* RFC 9110 9.2.2, of the methods that are known */
static bool is_idempotent(struct proxy_text method)
{
	static const char *const methods[] = { "GET", "HEAD", "OPTIONS", "PUT",
					       "DELETE" };

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (proxy_text_equal(method, methods[i]))
			return true;
	}
	return false;
}

static bool parse_head(struct client *client, struct exchange *exchange,
		       size_t size, struct http1_refusal *refusal)
{
	const struct inner *inner = client->inner;
	size_t fields = http1_fields(&client->scan);
	struct http1_inside inside;

	if (client->authz) {
		inside = (struct http1_inside){ .any = true };
		return http1_request_inside(&exchange->request, exchange->head,
					    size, exchange->headers, fields,
					    &inside, refusal);
	}
	if (!inner)
		return http1_request(&exchange->request, exchange->head, size,
				     exchange->headers, fields, refusal);
	exchange->inner = inner;
	inside = (struct http1_inside){
		.host = proxy_text_of(inner->host),
		.spelled = proxy_text_of(inner->spelled),
		.port = inner->port,
		.tls = inner->tls,
	};
	return http1_request_inside(&exchange->request, exchange->head, size,
				    exchange->headers, fields, &inside,
				    refusal);
}

static bool read_head(struct client *client, struct exchange *exchange,
		      size_t size)
{
	struct http1_request *request = &exchange->request;
	struct http1_refusal refusal;

	if (!parse_head(client, exchange, size, &refusal)) {
		reply_failure(client, refusal.status, "bad-request", "%s",
			      refusal.reason);
		return false;
	}
	exchange->is_head = proxy_text_equal(request->method, "HEAD");
	exchange->json =
		denial_wants_json(request->headers, request->header_count);
	exchange->idempotent = is_idempotent(request->method);
	exchange->close_after = request->close;
	/* What follows a CONNECT is not its body. */
	http1_body_start(&exchange->body, request->framing, request->length);
	return true;
}

bool exchange_check_early(struct client *client)
{
	const char *reason;

	if (exchange_check_body(client, &reason) != HTTP1_BAD)
		return true;
	reply_failure(client, 400, "bad-request", "%s", reason);
	return false;
}

/* What is inside a tunnel was let in with it. */
static bool check_login(struct client *client)
{
	const struct exchange *exchange = client->exchange;
	const struct proxy_login *login = proxy_wants(client->proxy);

	if (!login || exchange->inner ||
	    login_head(login, exchange->request.headers,
		       exchange->request.header_count))
		return true;
	reply_failure(client, client->authz ? 401 : 407, "login-needed",
		      "the proxy asks for the user and the password of its "
		      "sandbox");
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
	if (read_head(client, exchange, head_size) && check_login(client) &&
	    exchange_check_early(client))
		exchange_ask(client);
	return true;
}
