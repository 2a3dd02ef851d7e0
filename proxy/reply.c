/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of the proxy's own. */
#include <stdarg.h>
#include <stdio.h>

#include "proxy/internal.h"

enum { PHRASE_MAX = 256 };

const char *reply_phrase(unsigned int status)
{
	static const struct {
		unsigned int status;
		const char *phrase;
	} phrases[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 303, "See Other" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 407, "Proxy Authentication Required" },
		{ 408, "Request Timeout" },
		{ 413, "Content Too Large" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 451, "Unavailable For Legal Reasons" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		if (phrases[i].status == status)
			return phrases[i].phrase;
	}
	return status < 400 ? "OK" : "Refused";
}

/* A phrase ends at the line, so no control byte of it may pass. */
void reply_add_phrase(struct pbuf *out, const char *phrase)
{
	for (size_t i = 0; phrase[i] && i < PHRASE_MAX; i++) {
		unsigned char byte = (unsigned char)phrase[i];

		if (byte >= 0x20 && byte != 0x7f)
			pbuf_add(out, &phrase[i], 1);
	}
	pbuf_add(out, "\r\n", 2);
}

static bool sets_type(const struct reply *reply)
{
	for (size_t i = 0; i < reply->set_count; i++) {
		if (proxy_text_is(reply->set[i].name, "content-type"))
			return true;
	}
	return false;
}

static void add_fields(struct pbuf *out, const struct reply *reply)
{
	bool own = reply->reason && !reply->body.data;

	if (!sets_type(reply) && (reply->reason || reply->body.size))
		pbuf_format(out, "Content-Type: %s\r\n",
			    own && reply->json ? "application/json"
					       : "text/plain");
	if (reply->code)
		pbuf_format(out, "X-Proxy-Error: %s\r\n", reply->code);
	if (reply->status == 405)
		pbuf_format(out, "Allow: GET, HEAD, POST, PUT, PATCH, DELETE, "
				 "OPTIONS, CONNECT\r\n");
	if (reply->code && !strcmp(reply->code, "login-needed"))
		pbuf_format(out, "%s-Authenticate: Basic realm=\"srt\"\r\n",
			    reply->status == 407 ? "Proxy" : "WWW");
	for (size_t i = 0; i < reply->set_count; i++)
		head_add(out, &reply->set[i]);
}

void reply_send(struct client *client, const struct reply *reply, bool close)
{
	struct exchange *exchange = client->exchange;
	struct pbuf *out = &client->stream.out, told = { 0 };
	struct proxy_text body = reply->body;
	bool bodiless = reply->status == 204 || reply->status == 304;

	if (exchange && exchange->redirected) {
		redirected_answer(client, reply);
		return;
	}
	if (exchange && exchange->raw) {
		client_close(client, true);
		return;
	}
	if (exchange && exchange->socks_version) {
		socks_answer(client, reply);
		return;
	}
	if (!body.data && reply->reason) {
		denial_body(&told, reply);
		body = pbuf_text(&told);
	}
	pbuf_format(out, "HTTP/1.1 %u ", reply->status);
	reply_add_phrase(out, reply->phrase ? reply->phrase
					    : reply_phrase(reply->status));
	add_fields(out, reply);
	if (!bodiless)
		pbuf_format(out, "Content-Length: %zu\r\n", body.size);
	if (close)
		pbuf_format(out, "Connection: close\r\n");
	pbuf_add(out, "\r\n", 2);
	if (!bodiless && !(exchange && exchange->is_head))
		pbuf_text_add(out, body);
	pbuf_free(&told);
	if (!exchange) {
		client_enter(client, CLIENT_LINGER);
		return;
	}
	exchange->close_after = close;
	client_next(client);
}

void reply_failure(struct client *client, unsigned int status, const char *code,
		   const char *format, ...)
{
	char reason[512];
	const struct reply reply = { .status = status,
				     .code = code,
				     .reason = reason,
				     .json = client->exchange &&
					     client->exchange->json };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	proxy_log(client->proxy, "refuse %u (%s)", status, reason);
	reply_send(client, &reply, true);
}
