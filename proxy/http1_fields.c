/* SPDX-License-Identifier: Apache-2.0 */
/* Header fields: reading them, what they say of framing and of connections. */
#include "proxy/http1.h"
#include "proxy/http1_private.h"

bool http1_token(struct proxy_text text)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < text.size; i++) {
		unsigned char byte = (unsigned char)text.data[i];
		unsigned char lower = byte | 0x20;

		if (!(lower >= 'a' && lower <= 'z') &&
		    !(byte >= '0' && byte <= '9') && byte != '-' &&
		    !memchr(marks, byte, sizeof(marks) - 1))
			return false;
	}
	return text.size > 0;
}

static bool is_control(unsigned char byte)
{
	return byte < 0x20 || byte == 0x7f;
}

/* Is any of eight bytes one? The high bit of each that is, at least, is set. */
static uint64_t controls(uint64_t bytes)
{
	const uint64_t each = 0x0101010101010101;
	uint64_t del = bytes ^ each * 0x7f;

	return (((bytes - each * 0x20) & ~bytes) | ((del - each) & ~del)) &
	       each * 0x80;
}

size_t http1_plain(const char *data, size_t size)
{
	size_t at = 0;
	uint64_t eight;

	for (; at + sizeof(eight) <= size; at += sizeof(eight)) {
		memcpy(&eight, data + at, sizeof(eight));
		if (controls(eight))
			break;
	}
	while (at < size && !is_control((unsigned char)data[at]))
		at++;
	return at;
}

bool http1_value(struct proxy_text text)
{
	size_t at = http1_plain(text.data, text.size);

	while (at < text.size && text.data[at] == '\t') {
		at++;
		at += http1_plain(text.data + at, text.size - at);
	}
	return at == text.size;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

struct proxy_text http1_trim(struct proxy_text text)
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
bool http1_line(struct proxy_text *rest, struct proxy_text *line)
{
	const char *end = NULL, *from = rest->data;
	size_t left = rest->size;

	while ((end = left ? memchr(from, '\n', left) : NULL)) {
		if (end > rest->data && end[-1] == '\r')
			break;
		left -= (size_t)(end + 1 - from);
		from = end + 1;
	}
	if (!end)
		return false;
	end--;
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
	header->value = http1_trim(value);
	if (!is_exact(header->name))
		return NULL;
	if ((value.size && is_blank(value.data[value.size - 1])) ||
	    (value.size && memchr(value.data, '\t', value.size)))
		return "stray blank in Host, Content-Length or "
		       "Transfer-Encoding";
	return NULL;
}

bool http1_read_fields(struct proxy_text rest, struct proxy_header *headers,
		       size_t capacity, size_t *count,
		       struct http1_refusal *refusal)
{
	struct proxy_text line;

	*count = 0;
	while (http1_line(&rest, &line) && line.size) {
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

bool http1_read_framing(const struct proxy_header *headers, size_t count,
			unsigned int minor, struct http1_frame *framing,
			struct http1_refusal *refusal)
{
	unsigned int encodings = 0;
	uint64_t number;

	*framing = (struct http1_frame){ .kind = HTTP1_NONE };
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
