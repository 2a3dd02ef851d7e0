/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a request as it goes upstream. */
#include <stdio.h>

#include "proxy/internal.h"

bool forward_edited(const struct proxy_verdict *verdict, struct proxy_text name)
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

/* Not even right any more where the body is another. */
bool forward_of_body(struct proxy_text name)
{
	static const char *const names[] = { "content-encoding", "content-md5",
					     "digest", "content-digest",
					     "repr-digest" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (proxy_text_is(name, names[i]))
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

void head_add(struct pbuf *out, const struct proxy_header *header)
{
	pbuf_text_add(out, header->name);
	pbuf_add(out, ": ", 2);
	pbuf_text_add(out, header->value);
	pbuf_add(out, "\r\n", 2);
}

static uint16_t standard_port(const struct exchange *exchange)
{
	return exchange->inner && exchange->inner->tls ? 443 : 80;
}

/* It comes from the verdict: what was decided is what is asked for. */
static void add_authority(struct pbuf *out, const struct exchange *exchange)
{
	const char *host = exchange->host;
	bool v6 = strchr(host, ':') != NULL;

	pbuf_string(out, v6 ? "[" : "");
	pbuf_string(out, host);
	pbuf_string(out, v6 ? "]" : "");
	if (exchange->request.port != standard_port(exchange)) {
		pbuf_string(out, ":");
		pbuf_number(out, exchange->request.port);
	}
}

static void add_host(struct pbuf *out, const struct exchange *exchange)
{
	pbuf_string(out, "Host: ");
	add_authority(out, exchange);
	pbuf_add(out, "\r\n", 2);
}

static bool is_path(struct proxy_text path)
{
	for (size_t i = 0; i < path.size; i++) {
		unsigned char byte = (unsigned char)path.data[i];

		if (byte <= 0x20 || byte >= 0x7f || byte == '?' || byte == '#')
			return false;
	}
	return path.size && path.data[0] == '/';
}

/* A path, and a query where there is one. */
static bool is_target(struct proxy_text target)
{
	const char *mark = memchr(target.data, '?', target.size);
	size_t size = mark ? (size_t)(mark - target.data) : target.size;

	for (size_t i = size; i < target.size; i++) {
		unsigned char byte = (unsigned char)target.data[i];

		if (byte <= 0x20 || byte >= 0x7f || byte == '#')
			return false;
	}
	return is_path((struct proxy_text){ target.data, size });
}

static void add_target(struct pbuf *out, const struct exchange *exchange,
		       const struct proxy_verdict *verdict)
{
	const struct http1_request *request = &exchange->request;

	if (verdict->target.data) {
		pbuf_text_add(out, verdict->target);
		return;
	}
	pbuf_text_add(out, verdict->path.data ? verdict->path : request->path);
	if (request->query.data) {
		pbuf_add(out, "?", 1);
		pbuf_text_add(out, request->query);
	}
}

static void add_request_line(struct pbuf *out, const struct exchange *exchange,
			     const struct proxy_verdict *verdict)
{
	const struct http1_request *request = &exchange->request;

	pbuf_text_add(out, request->method);
	pbuf_add(out, " ", 1);
	if (exchange->by_parent) {
		pbuf_string(out, "http://");
		add_authority(out, exchange);
	}
	add_target(out, exchange, verdict);
	pbuf_string(out, " HTTP/1.1\r\n");
}

void head_add_framing(struct pbuf *out, enum http1_framing framing,
		      uint64_t length)
{
	if (framing == HTTP1_CHUNKED)
		pbuf_string(out, "Transfer-Encoding: chunked\r\n");
	if (framing != HTTP1_LENGTH)
		return;
	pbuf_string(out, "Content-Length: ");
	pbuf_number(out, length);
	pbuf_string(out, "\r\n");
}

/* Of the fields that are forwarded, those which we write ourselves. */
static bool is_own(struct proxy_text name)
{
	return proxy_text_is(name, "host") ||
	       proxy_text_is(name, "content-length");
}

/*
 * Schemes that authenticate a connection, not a request: whoever came next on
 * it would speak with the same authority.
 */
static bool binds_connection(const struct proxy_header *header)
{
	struct proxy_text value = header->value;

	return proxy_text_is(header->name, "authorization") &&
	       ((value.size >= 4 && strncasecmp(value.data, "ntlm", 4) == 0) ||
		(value.size >= 9 &&
		 strncasecmp(value.data, "negotiate", 9) == 0));
}

/*
 * Trailer fields come when the verdict is long past, so only those go up that
 * the head announced, where the policy could see it, and that no edit names.
 */
static void announce_trailers(struct exchange *exchange,
			      const struct proxy_verdict *verdict)
{
	const struct http1_request *request = &exchange->request;
	struct pbuf *out = &exchange->announced;
	struct proxy_text member;

	for (size_t i = 0; i < request->header_count; i++) {
		struct proxy_text list = request->headers[i].value;

		if (!proxy_text_is(request->headers[i].name, "trailer"))
			continue;
		while (http1_member(&list, &member)) {
			if (!http1_token(member) || !http1_trailing(member) ||
			    forward_edited(verdict, member))
				continue;
			if (out->size)
				pbuf_add(out, ", ", 2);
			pbuf_text_add(out, member);
		}
	}
}

static void add_credentials(struct pbuf *out, const struct exchange *exchange)
{
	const struct proxy_header header = {
		proxy_text_of("Proxy-Authorization"),
		proxy_text_of(exchange->via ? exchange->via->authorization
					    : NULL),
	};

	if (exchange->by_parent && header.value.data)
		head_add(out, &header);
}

static void add_connection(struct pbuf *out,
			   const struct http1_request *request)
{
	if (request->websocket)
		pbuf_string(out, "Connection: Upgrade\r\n"
				 "Upgrade: websocket\r\n\r\n");
	else if (request->trailers)
		pbuf_string(out, "TE: trailers\r\nConnection: TE\r\n\r\n");
	else
		pbuf_add(out, "\r\n", 2);
}

static const char *check_request(const struct exchange *exchange,
				 const struct proxy_verdict *verdict)
{
	if (verdict->target.data
		    ? !is_target(verdict->target)
		    : verdict->path.data && !is_path(verdict->path))
		return "its path is none";
	if (verdict->body.data && exchange->request.websocket)
		return "a WebSocket's handshake has no body";
	return forward_check_edits(verdict);
}

/* Does the client's field go up as it is? */
static bool goes_up(const struct exchange *exchange,
		    const struct proxy_verdict *verdict, struct proxy_text name)
{
	const struct http1_request *request = &exchange->request;

	if (is_own(name) || forward_edited(verdict, name) ||
	    http1_hop_by_hop(name, request->headers, request->header_count))
		return false;
	/* Who has the body, or sends another one, expects nothing. */
	if (proxy_text_is(name, "expect"))
		return request->expects && !exchange->continued &&
		       !verdict->body.data && !exchange->sent.max;
	return !verdict->body.data || !forward_of_body(name);
}

static void add_fields(struct exchange *exchange,
		       const struct proxy_verdict *verdict)
{
	const struct http1_request *request = &exchange->request;
	struct pbuf *out = &exchange->forward;

	for (size_t i = 0; i < request->header_count; i++) {
		if (!goes_up(exchange, verdict, request->headers[i].name))
			continue;
		if (binds_connection(&request->headers[i]))
			exchange->reusable = false;
		head_add(out, &request->headers[i]);
	}
	for (size_t i = 0; i < verdict->set_count; i++) {
		if (binds_connection(&verdict->set[i]))
			exchange->reusable = false;
		head_add(out, &verdict->set[i]);
	}
}

const char *forward_head(struct exchange *exchange,
			 const struct proxy_verdict *verdict)
{
	const struct http1_request *request = &exchange->request;
	struct pbuf *out = &exchange->forward;
	const char *wrong = check_request(exchange, verdict);

	if (wrong)
		return wrong;
	exchange->reusable = !request->websocket;
	add_request_line(out, exchange, verdict);
	add_host(out, exchange);
	add_credentials(out, exchange);
	add_fields(exchange, verdict);
	if (verdict->body.data)
		head_add_framing(out, HTTP1_LENGTH, verdict->body.size);
	else
		head_add_framing(out, request->framing, request->length);
	if (request->framing == HTTP1_CHUNKED && !verdict->body.data)
		announce_trailers(exchange, verdict);
	if (exchange->announced.size) {
		pbuf_add(out, "Trailer: ", 9);
		pbuf_text_add(out, pbuf_text(&exchange->announced));
		pbuf_add(out, "\r\n", 2);
	}
	add_connection(out, request);
	scrub_begin(exchange, verdict);
	forward_begun(exchange, verdict->body);
	return NULL;
}
