/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies: fixed length, chunked, or until the connection closes. */
#include "proxy/http1.h"

enum {
	CHUNK_SIZE, /* before the first digit */
	CHUNK_DIGITS,
	CHUNK_EXTENSION,
	CHUNK_SIZE_LF,
	CHUNK_DATA,
	CHUNK_DATA_CR,
	CHUNK_DATA_LF,
	TRAILER_START,
	TRAILER_NAME,
	TRAILER_VALUE,
	TRAILER_LF,
	TRAILER_END_LF,
	BODY_DONE,
};

enum { CHUNK_DIGITS_MAX = 15 }; /* so that a size always fits an int64_t */

void http1_body_start(struct http1_body *body, enum http1_framing framing,
		      uint64_t length)
{
	*body = (struct http1_body){ .framing = framing };
	if (framing == HTTP1_LENGTH)
		body->left = length;
	if (framing == HTTP1_NONE || (framing == HTTP1_LENGTH && !length))
		body->state = BODY_DONE;
}

bool http1_body_done(const struct http1_body *body)
{
	return body->state == BODY_DONE;
}

static int hex_digit(unsigned char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte |= 0x20;
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool is_control(unsigned char byte)
{
	return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

/* One byte of a chunk-size line; the reason when it is refused. */
static const char *size_byte(struct http1_body *body, unsigned char byte)
{
	int digit = hex_digit(byte);

	if (body->state == CHUNK_EXTENSION) {
		if (byte == '\r')
			body->state = CHUNK_SIZE_LF;
		else if (is_control(byte))
			return "control byte in a chunk extension";
		else if (++body->line > HTTP1_EXTENSION_MAX)
			return "chunk extension is too long";
		return NULL;
	}
	if (digit >= 0) {
		if (++body->line > CHUNK_DIGITS_MAX)
			return "chunk size is too large";
		body->left = body->left << 4 | (unsigned int)digit;
		body->state = CHUNK_DIGITS;
		return NULL;
	}
	if (body->state == CHUNK_SIZE || (byte != '\r' && byte != ';'))
		return "chunk size is not a plain hexadecimal number";
	body->line = 0;
	body->state = byte == ';' ? CHUNK_EXTENSION : CHUNK_SIZE_LF;
	return NULL;
}

static const char *trailer_byte(struct http1_body *body, unsigned char byte)
{
	if (++body->line > HTTP1_TRAILER_MAX)
		return "trailer section is too long";
	if (body->state == TRAILER_START && byte == '\r') {
		body->state = TRAILER_END_LF;
		return NULL;
	}
	if (body->state == TRAILER_VALUE) {
		if (byte == '\r')
			body->state = TRAILER_LF;
		else if (is_control(byte))
			return "control byte in a trailer field";
		return NULL;
	}
	if (body->state == TRAILER_NAME && byte == ':') {
		body->state = TRAILER_VALUE;
		return NULL;
	}
	if (!http1_token((struct proxy_text){ (const char *)&byte, 1 }))
		return "malformed trailer field";
	body->state = TRAILER_NAME;
	return NULL;
}

/* The LF that each of these states waits for, and where it leads. */
static const char *line_feed(struct http1_body *body, unsigned char byte)
{
	if (byte != '\n')
		return "bare CR in a chunked body";
	switch (body->state) {
	case CHUNK_SIZE_LF:
		body->state = body->left ? CHUNK_DATA : TRAILER_START;
		break;
	case CHUNK_DATA_LF:
		body->state = CHUNK_SIZE;
		break;
	case TRAILER_LF:
		body->state = TRAILER_START;
		break;
	default:
		body->state = BODY_DONE;
	}
	if (body->state == CHUNK_SIZE)
		body->line = 0;
	return NULL;
}

static const char *chunk_byte(struct http1_body *body, unsigned char byte)
{
	switch (body->state) {
	case CHUNK_SIZE:
	case CHUNK_DIGITS:
	case CHUNK_EXTENSION:
		return size_byte(body, byte);
	case TRAILER_START:
	case TRAILER_NAME:
	case TRAILER_VALUE:
		return trailer_byte(body, byte);
	case CHUNK_DATA_CR:
		body->state = CHUNK_DATA_LF;
		return byte == '\r' ? NULL : "chunk is longer than its size";
	default:
		return line_feed(body, byte);
	}
}

static enum http1_step plain_next(struct http1_body *body, const char *data,
				  size_t size, size_t *used,
				  struct proxy_text *piece)
{
	size_t take = size;

	if (!size)
		return HTTP1_MORE;
	if (body->framing != HTTP1_UNTIL_CLOSE) {
		if (take > body->left)
			take = (size_t)body->left;
		body->left -= take;
		if (!body->left)
			body->state = body->framing == HTTP1_CHUNKED
					      ? CHUNK_DATA_CR
					      : BODY_DONE;
	}
	*piece = (struct proxy_text){ data, take };
	*used += take;
	return HTTP1_PIECE;
}

/*
 * Is the next byte one of a trailer field? The CR of the line that ends the
 * section is not.
 */
static bool in_trailer(const struct http1_body *body, char byte)
{
	return body->state == TRAILER_START
		       ? byte != '\r'
		       : body->state > TRAILER_START &&
				 body->state < TRAILER_END_LF;
}

static enum http1_step trailer_next(struct http1_body *body, const char *data,
				    size_t size, size_t *used,
				    struct proxy_text *piece,
				    const char **reason)
{
	size_t take = 0;

	while (take < size && in_trailer(body, data[take])) {
		*reason = chunk_byte(body, (unsigned char)data[take]);
		if (*reason)
			break;
		take++;
	}
	*used += take;
	*piece = (struct proxy_text){ data, take };
	return *reason ? HTTP1_BAD : HTTP1_TRAILER;
}

enum http1_step http1_body_next(struct http1_body *body, const char *data,
				size_t size, size_t *used,
				struct proxy_text *piece, const char **reason)
{
	*used = 0;
	*reason = NULL;
	if (body->state == BODY_DONE)
		return HTTP1_END;
	if (body->framing != HTTP1_CHUNKED)
		return plain_next(body, data, size, used, piece);
	while (*used < size && body->state != BODY_DONE) {
		if (body->state == CHUNK_DATA)
			return plain_next(body, data + *used, size - *used,
					  used, piece);
		if (in_trailer(body, data[*used]))
			return trailer_next(body, data + *used, size - *used,
					    used, piece, reason);
		*reason = chunk_byte(body, (unsigned char)data[*used]);
		if (*reason)
			return HTTP1_BAD;
		++*used;
	}
	return body->state == BODY_DONE ? HTTP1_END : HTTP1_MORE;
}
