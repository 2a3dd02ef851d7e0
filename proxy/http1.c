/* SPDX-License-Identifier: Apache-2.0 */
/* Request and response heads: lines, fields, framing. */
#include "proxy/http1.h"
#include "proxy/http1_private.h"

ssize_t http1_scan(struct http1_scan *scan, const char *data, size_t size,
		   size_t limit, struct http1_refusal *refusal)
{
	for (; scan->at < size; scan->at++) {
		unsigned char byte = (unsigned char)data[scan->at];
		const char *wrong = NULL;

		if (scan->at >= limit || scan->lines > HTTP1_HEADERS_MAX + 1) {
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

bool http1_token(struct proxy_text text)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < text.size; i++) {
		unsigned char byte = (unsigned char)text.data[i];
		unsigned char lower = byte | 0x20;

		if (!(byte >= '0' && byte <= '9') &&
		    !(lower >= 'a' && lower <= 'z') &&
		    !memchr(marks, byte, sizeof(marks) - 1))
			return false;
	}
	return text.size > 0;
}

bool http1_value(struct proxy_text text)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned char byte = (unsigned char)text.data[i];

		if ((byte < 0x20 && byte != '\t') || byte == 0x7f)
			return false;
	}
	return true;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

static struct proxy_text trim(struct proxy_text text)
{
	while (text.size && is_blank(text.data[0])) {
		text.data++;
		text.size--;
	}
	while (text.size && is_blank(text.data[text.size - 1]))
		text.size--;
	return text;
}

/* Cuts the next CRLF line off @rest. */
static bool next_line(struct proxy_text *rest, struct proxy_text *line)
{
	const char *end = memmem(rest->data, rest->size, "\r\n", 2);

	if (!end)
		return false;
	*line = (struct proxy_text){ rest->data, (size_t)(end - rest->data) };
	rest->data = end + 2;
	rest->size -= line->size + 2;
	return true;
}

/* Fields whose every byte matters to how the message is read. */
static bool is_exact(struct proxy_text name)
{
	return proxy_text_is(name, "content-length") ||
	       proxy_text_is(name, "transfer-encoding") ||
	       proxy_text_is(name, "host");
}

static const char *read_field(struct proxy_text line,
			      struct proxy_header *header)
{
	const char *colon = memchr(line.data, ':', line.size);
	struct proxy_text value;

	if (is_blank(line.data[0]))
		return "folded header field";
	if (!colon)
		return "header field without a colon";
	header->name =
		(struct proxy_text){ line.data, (size_t)(colon - line.data) };
	if (header->name.size && is_blank(colon[-1]))
		return "blank before the colon of a header field";
	if (!http1_token(header->name))
		return "malformed header field name";
	value = (struct proxy_text){ colon + 1,
				     line.size - header->name.size - 1 };
	if (!http1_value(value))
		return "control byte in a header field";
	header->value = trim(value);
	if (!is_exact(header->name))
		return NULL;
	if ((value.size && is_blank(value.data[value.size - 1])) ||
	    (value.size && memchr(value.data, '\t', value.size)))
		return "stray blank in Host, Content-Length or "
		       "Transfer-Encoding";
	return NULL;
}

static bool read_fields(struct proxy_text rest, struct proxy_header *headers,
			size_t capacity, size_t *count,
			struct http1_refusal *refusal)
{
	struct proxy_text line;

	*count = 0;
	while (next_line(&rest, &line) && line.size) {
		const char *wrong;

		if (*count == capacity)
			return http1_refuse(refusal, 431,
					    "too many header fields");
		wrong = read_field(line, &headers[*count]);
		if (wrong)
			return http1_refuse(refusal, 400, wrong);
		++*count;
	}
	return true;
}

static bool read_number(struct proxy_text text, uint64_t *number)
{
	*number = 0;
	if (!text.size || text.size > 18 ||
	    (text.size > 1 && text.data[0] == '0'))
		return false;
	for (size_t i = 0; i < text.size; i++) {
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
		*number = *number * 10 + (uint64_t)(text.data[i] - '0');
	}
	return true;
}

struct framing {
	enum http1_framing kind;
	uint64_t length;
	bool has_length;
};

static bool read_framing(const struct proxy_header *headers, size_t count,
			 unsigned int minor, struct framing *framing,
			 struct http1_refusal *refusal)
{
	unsigned int encodings = 0;
	uint64_t number;

	*framing = (struct framing){ .kind = HTTP1_NONE };
	for (size_t i = 0; i < count; i++) {
		struct proxy_text value = headers[i].value;

		if (proxy_text_is(headers[i].name, "content-length")) {
			if (!read_number(value, &number))
				return http1_refuse(refusal, 400,
						    "bad Content-Length");
			if (framing->has_length && framing->length != number)
				return http1_refuse(
					refusal, 400,
					"Content-Length fields differ");
			framing->has_length = true;
			framing->length = number;
			framing->kind = HTTP1_LENGTH;
		} else if (proxy_text_is(headers[i].name,
					 "transfer-encoding")) {
			if (!proxy_text_is(value, "chunked"))
				return http1_refuse(refusal, 501,
						    "only the transfer coding "
						    "chunked is known");
			encodings++;
		}
	}
	if (!encodings)
		return true;
	framing->kind = HTTP1_CHUNKED;
	if (framing->has_length)
		return http1_refuse(
			refusal, 400,
			"both Content-Length and Transfer-Encoding");
	if (encodings > 1)
		return http1_refuse(refusal, 400, "two Transfer-Encodings");
	return minor >= 1 ||
	       http1_refuse(refusal, 400, "Transfer-Encoding in HTTP/1.0");
}

/* The next member of a comma list, blanks trimmed; empty members are skipped.
 */
static bool next_member(struct proxy_text *list, struct proxy_text *member)
{
	while (list->size) {
		const char *comma = memchr(list->data, ',', list->size);
		size_t size = comma ? (size_t)(comma - list->data) : list->size;

		*member = trim((struct proxy_text){ list->data, size });
		size += comma != NULL;
		list->data += size;
		list->size -= size;
		if (member->size)
			return true;
	}
	return false;
}

static bool lists_option(const struct proxy_header *headers, size_t count,
			 struct proxy_text option)
{
	struct proxy_text member;

	for (size_t i = 0; i < count; i++) {
		struct proxy_text list = headers[i].value;

		if (!proxy_text_is(headers[i].name, "connection"))
			continue;
		while (next_member(&list, &member)) {
			if (proxy_text_same(member, option))
				return true;
		}
	}
	return false;
}

static bool check_options(const struct proxy_header *headers, size_t count,
			  struct http1_refusal *refusal)
{
	struct proxy_text member;
	unsigned int members = 0;

	for (size_t i = 0; i < count; i++) {
		struct proxy_text list = headers[i].value;

		if (!proxy_text_is(headers[i].name, "connection"))
			continue;
		while (next_member(&list, &member)) {
			if (!http1_token(member) ||
			    ++members > HTTP1_OPTIONS_MAX)
				return http1_refuse(
					refusal, 400,
					"malformed or overlong Connection");
		}
	}
	return true;
}

static bool is_listed(struct proxy_text name, const char *const *list)
{
	for (; *list; list++) {
		if (proxy_text_is(name, *list))
			return true;
	}
	return name.size >= 6 && strncasecmp(name.data, "proxy-", 6) == 0;
}

/* Trailers are dropped, so what announces them goes too. */
static const char *const hop_by_hop[] = {
	"connection",	     "keep-alive", "te", "trailer",
	"transfer-encoding", "upgrade",	   NULL
};

bool http1_hop_by_hop(struct proxy_text name,
		      const struct proxy_header *headers, size_t count)
{
	return is_listed(name, hop_by_hop) ||
	       lists_option(headers, count, name);
}

bool http1_reserved(struct proxy_text name)
{
	static const char *const others[] = { "content-length", "host",
					      "expect", NULL };

	return is_listed(name, hop_by_hop) || is_listed(name, others);
}

/* How often @name occurs; @last is its last field. */
static size_t find_field(const struct proxy_header *headers, size_t count,
			 const char *name, const struct proxy_header **last)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (proxy_text_is(headers[i].name, name)) {
			*last = &headers[i];
			found++;
		}
	}
	return found;
}

/* Does the message ask for, or grant, exactly a WebSocket upgrade? */
static bool is_websocket(const struct proxy_header *headers, size_t count)
{
	const struct proxy_header *upgrade = NULL;

	return find_field(headers, count, "upgrade", &upgrade) == 1 &&
	       proxy_text_is(upgrade->value, "websocket") &&
	       lists_option(headers, count, proxy_text_of("upgrade"));
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
	return proxy_text_equal(request->method, "CONNECT")
		       ? http1_connect(request, refusal)
		       : http1_absolute(request, refusal);
}

static bool check_host(const struct http1_request *request,
		       struct http1_refusal *refusal)
{
	const struct proxy_header *header = NULL;
	struct proxy_text host;
	uint16_t port;
	size_t found = find_field(request->headers, request->header_count,
				  "host", &header);

	if (found > 1)
		return http1_refuse(refusal, 400, "more than one Host");
	/* The Host of a CONNECT goes nowhere and decides nothing. */
	if (request->connect)
		return true;
	if (!found)
		return request->minor == 0 ||
		       http1_refuse(refusal, 400, "Host is missing");
	if (!http1_authority(header->value, 80, &host, &port, refusal))
		return http1_refuse(refusal, 400, "malformed Host");
	if (!proxy_text_same(host, request->host) || port != request->port)
		return http1_refuse(refusal, 400,
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
			 struct http1_refusal *refusal)
{
	const struct proxy_header *headers = request->headers;
	size_t count = request->header_count;
	struct framing framing;

	if (!read_framing(headers, count, request->minor, &framing, refusal) ||
	    !check_options(headers, count, refusal))
		return false;
	request->framing = framing.kind;
	request->length = framing.length;
	if (framing.kind == HTTP1_LENGTH && !framing.length && request->connect)
		request->framing = HTTP1_NONE;
	request->close = request->minor == 0 ||
			 lists_option(headers, count, proxy_text_of("close"));
	request->websocket = request->minor >= 1 && !request->connect &&
			     proxy_text_equal(request->method, "GET") &&
			     request->framing == HTTP1_NONE &&
			     is_websocket(headers, count);
	return check_body(request, refusal) && check_expect(request, refusal) &&
	       check_host(request, refusal);
}

bool http1_request(struct http1_request *request, const char *head, size_t size,
		   struct proxy_header *headers, size_t capacity,
		   struct http1_refusal *refusal)
{
	struct proxy_text rest = { head, size }, line;

	*request = (struct http1_request){ .headers = headers };
	if (!next_line(&rest, &line))
		return http1_refuse(refusal, 400, "malformed request line");
	return read_request_line(request, line, refusal) &&
	       read_fields(rest, headers, capacity, &request->header_count,
			   refusal) &&
	       read_options(request, refusal);
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
	struct framing framing;

	*response = (struct http1_response){ .headers = headers };
	if (!next_line(&rest, &line))
		return http1_refuse(refusal, 502, "malformed status line");
	if (!read_status_line(response, line, refusal) ||
	    !read_fields(rest, headers, capacity, &response->header_count,
			 refusal) ||
	    !read_framing(headers, response->header_count, response->minor,
			  &framing, refusal) ||
	    !check_options(headers, response->header_count, refusal)) {
		refusal->status = 502;
		return false;
	}
	response->framing =
		framing.kind == HTTP1_NONE ? HTTP1_UNTIL_CLOSE : framing.kind;
	response->length = framing.length;
	response->has_length = framing.has_length;
	response->websocket = is_websocket(headers, response->header_count);
	return true;
}
