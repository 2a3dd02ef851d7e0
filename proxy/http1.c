/* SPDX-License-Identifier: Apache-2.0 */
/* Request and response heads: lines, fields, framing. */
#include "proxy/http1.h"
#include "proxy/http1_private.h"

/* Most bytes are neither ends of lines nor refused: they only count. */
static void skip_plain(struct http1_scan *scan, const char *data, size_t end)
{
	size_t run = http1_plain(data + scan->at, end - scan->at);

	scan->line += run;
	scan->at += run;
}

ssize_t http1_scan(struct http1_scan *scan, const char *data, size_t size,
		   size_t limit, struct http1_refusal *refusal)
{
	for (; scan->at < size; scan->at++) {
		bool many = scan->lines > HTTP1_HEADERS_MAX + 1;
		const char *wrong = NULL;
		unsigned char byte;

		if (!scan->carriage && !many && scan->at < limit)
			skip_plain(scan, data, size < limit ? size : limit);
		if (scan->at == size)
			return 0;
		byte = (unsigned char)data[scan->at];
		if (scan->at >= limit || many) {
			http1_refuse(refusal, 431, "the head is too large");
			return -1;
		}
		if (scan->carriage != (byte == '\n'))
			wrong = scan->carriage ? "bare CR" : "bare LF";
		else if ((byte < 0x20 && !strchr("\t\r\n", byte)) || !byte ||
			 byte == 0x7f)
			wrong = "control byte in the head";
		if (wrong) {
			http1_refuse(refusal, 400, wrong);
			return -1;
		}
		scan->carriage = byte == '\r';
		if (byte == '\n') {
			if (!scan->line)
				return (ssize_t)++scan->at;
			scan->lines++;
			scan->line = 0;
		} else if (byte != '\r') {
			scan->line++;
		}
	}
	return 0;
}

/* HTTP/1.x at the end or the beginning of a start line. */
static bool read_version(struct proxy_text text, uint8_t *minor,
			 struct http1_refusal *refusal)
{
	if (text.size != 8 || memcmp(text.data, "HTTP/", 5) != 0 ||
	    text.data[6] != '.')
		return http1_refuse(refusal, 400, "malformed start line");
	if (text.data[5] != '1' || (text.data[7] != '0' && text.data[7] != '1'))
		return http1_refuse(refusal, 505,
				    "only HTTP/1.0 and HTTP/1.1 are spoken");
	*minor = text.data[7] == '1';
	return true;
}

static bool check_method(struct proxy_text method,
			 struct http1_refusal *refusal)
{
	static const char *const known[] = { "GET",	"HEAD",	   "POST",
					     "PUT",	"DELETE",  "PATCH",
					     "OPTIONS", "CONNECT", NULL };

	if (!http1_token(method))
		return http1_refuse(refusal, 400, "malformed method");
	if (proxy_text_is(method, "trace") || proxy_text_is(method, "track"))
		return http1_refuse(refusal, 405,
				    "the TRACE method is not forwarded");
	/* Methods mind their case, but not every origin does. */
	for (const char *const *name = known; *name; name++) {
		if (proxy_text_is(method, *name) &&
		    !proxy_text_equal(method, *name))
			return http1_refuse(refusal, 400,
					    "methods are written in capitals");
	}
	return true;
}

static bool read_request_line(struct http1_request *request,
			      struct proxy_text line,
			      const struct http1_inside *inside,
			      struct http1_refusal *refusal)
{
	const char *first = memchr(line.data, ' ', line.size);
	const char *last = memrchr(line.data, ' ', line.size);
	struct proxy_text version;

	if (!first || first == last)
		return http1_refuse(refusal, 400, "malformed request line");
	version.data = last + 1;
	version.size = line.size - (size_t)(version.data - line.data);
	request->method =
		(struct proxy_text){ line.data, (size_t)(first - line.data) };
	request->target =
		(struct proxy_text){ first + 1, (size_t)(last - first) - 1 };
	if (!request->target.size ||
	    memchr(request->target.data, ' ', request->target.size))
		return http1_refuse(refusal, 400, "malformed request line");
	if (!read_version(version, &request->minor, refusal) ||
	    !check_method(request->method, refusal))
		return false;
	if (inside)
		return http1_origin(request, inside, refusal);
	return proxy_text_equal(request->method, "CONNECT")
		       ? http1_connect(request, refusal)
		       : http1_absolute(request, "http", refusal);
}

static bool check_host(struct http1_request *request,
		       const struct http1_inside *inside,
		       struct http1_refusal *refusal)
{
	const struct proxy_header *header = NULL;
	struct proxy_text host;
	uint16_t port;
	size_t found = http1_find(request->headers, request->header_count,
				  "host", &header);

	if (found > 1)
		return http1_refuse(refusal, 400, "more than one Host");
	/* The Host of a CONNECT goes nowhere and decides nothing. */
	if (request->connect)
		return true;
	if (!found)
		return (request->minor == 0 && !(inside && inside->any)) ||
		       http1_refuse(refusal, 400, "Host is missing");
	if (!http1_authority(header->value,
			     http1_standard_port(inside && inside->tls), &host,
			     &port, refusal))
		return http1_refuse(refusal, 400, "malformed Host");
	if (inside && inside->any) {
		request->host = host;
		request->port = port;
		return true;
	}
	if (inside)
		return http1_is_inside(inside, host, port) ||
		       http1_refuse(refusal, 421,
				    "Host differs from the tunnel's target");
	if (!proxy_text_same(host, request->host) || port != request->port)
		return http1_refuse(refusal, 421,
				    "Host differs from the request target");
	return true;
}

static bool check_expect(struct http1_request *request,
			 struct http1_refusal *refusal)
{
	for (size_t i = 0; i < request->header_count; i++) {
		if (!proxy_text_is(request->headers[i].name, "expect"))
			continue;
		if (!proxy_text_is(request->headers[i].value, "100-continue"))
			return http1_refuse(refusal, 417,
					    "only 100-continue can be "
					    "expected");
		request->expects = request->minor >= 1;
	}
	return true;
}

/* Where readers disagree on whether there is a body at all. */
static bool check_body(const struct http1_request *request,
		       struct http1_refusal *refusal)
{
	if (request->connect && request->framing != HTTP1_NONE)
		return http1_refuse(refusal, 400, "CONNECT with a body");
	if (request->framing == HTTP1_CHUNKED &&
	    (proxy_text_equal(request->method, "GET") ||
	     proxy_text_equal(request->method, "HEAD") ||
	     proxy_text_equal(request->method, "DELETE")))
		return http1_refuse(refusal, 400,
				    "chunked body with a method that defines "
				    "none");
	return true;
}

static bool read_options(struct http1_request *request,
			 const struct http1_inside *inside,
			 struct http1_refusal *refusal)
{
	const struct proxy_header *headers = request->headers;
	size_t count = request->header_count;
	struct http1_frame framing;

	if (!http1_read_framing(headers, count, request->minor, &framing,
				refusal) ||
	    !http1_check_options(headers, count, refusal))
		return false;
	request->framing = framing.kind;
	request->length = framing.length;
	if (framing.kind == HTTP1_LENGTH && !framing.length && request->connect)
		request->framing = HTTP1_NONE;
	request->close =
		request->minor == 0 ||
		http1_lists_option(headers, count, proxy_text_of("close"));
	request->trailers = http1_wants_trailers(headers, count);
	request->websocket = request->minor >= 1 && !request->connect &&
			     proxy_text_equal(request->method, "GET") &&
			     request->framing == HTTP1_NONE &&
			     http1_asks_websocket(headers, count);
	return check_body(request, refusal) && check_expect(request, refusal) &&
	       check_host(request, inside, refusal);
}

bool http1_request(struct http1_request *request, const char *head, size_t size,
		   struct proxy_header *headers, size_t capacity,
		   struct http1_refusal *refusal)
{
	return http1_request_inside(request, head, size, headers, capacity,
				    NULL, refusal);
}

bool http1_request_inside(struct http1_request *request, const char *head,
			  size_t size, struct proxy_header *headers,
			  size_t capacity, const struct http1_inside *inside,
			  struct http1_refusal *refusal)
{
	struct proxy_text rest = { head, size }, line;

	*request = (struct http1_request){ .headers = headers };
	if (!http1_line(&rest, &line))
		return http1_refuse(refusal, 400, "malformed request line");
	return read_request_line(request, line, inside, refusal) &&
	       http1_read_fields(rest, headers, capacity,
				 &request->header_count, refusal) &&
	       read_options(request, inside, refusal);
}

static bool read_status_line(struct http1_response *response,
			     struct proxy_text line,
			     struct http1_refusal *refusal)
{
	unsigned int status = 0;

	if (line.size < 12 || line.data[8] != ' ' ||
	    !read_version((struct proxy_text){ line.data, 8 }, &response->minor,
			  refusal))
		return http1_refuse(refusal, 502, "malformed status line");
	for (size_t i = 9; i < 12; i++) {
		if (line.data[i] < '0' || line.data[i] > '9')
			return http1_refuse(refusal, 502, "malformed status");
		status = status * 10 + (unsigned int)(line.data[i] - '0');
	}
	if (status < 100 || status > 599)
		return http1_refuse(refusal, 502, "status out of range");
	response->status = status;
	if (line.size > 12 && line.data[12] != ' ')
		return http1_refuse(refusal, 502, "malformed status line");
	/* Many origins leave out the blank when there is no phrase. */
	if (line.size > 13)
		response->phrase =
			(struct proxy_text){ line.data + 13, line.size - 13 };
	return http1_value(response->phrase) ||
	       http1_refuse(refusal, 502, "control byte in the phrase");
}

bool http1_response(struct http1_response *response, const char *head,
		    size_t size, struct proxy_header *headers, size_t capacity,
		    struct http1_refusal *refusal)
{
	struct proxy_text rest = { head, size }, line;
	struct http1_frame framing;

	*response = (struct http1_response){ .headers = headers };
	if (!http1_line(&rest, &line))
		return http1_refuse(refusal, 502, "malformed status line");
	if (!read_status_line(response, line, refusal) ||
	    !http1_read_fields(rest, headers, capacity, &response->header_count,
			       refusal) ||
	    !http1_read_framing(headers, response->header_count,
				response->minor, &framing, refusal) ||
	    !http1_check_options(headers, response->header_count, refusal)) {
		refusal->status = 502;
		return false;
	}
	response->framing =
		framing.kind == HTTP1_NONE ? HTTP1_UNTIL_CLOSE : framing.kind;
	response->length = framing.length;
	response->has_length = framing.has_length;
	response->close = response->minor == 0 ||
			  http1_lists_option(headers, response->header_count,
					     proxy_text_of("close"));
	response->websocket =
		http1_asks_websocket(headers, response->header_count);
	return true;
}
