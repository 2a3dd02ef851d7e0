/* SPDX-License-Identifier: Apache-2.0 */
/* Puts values in on the way up, and takes them out on the way down. */
#include "proxy/decode.h"
#include "proxy/internal.h"

/* A value that a header may hold, and where in its line it begins. */
static char *value_of(char *line, size_t size, struct proxy_text *name)
{
	char *colon = memchr(line, ':', size);

	if (!colon)
		return NULL;
	*name = (struct proxy_text){ line, (size_t)(colon - line) };
	return colon + 1;
}

static size_t fill_field(const struct substitute *set, char *line, size_t size)
{
	struct proxy_text name;
	char *value = value_of(line, size, &name);
	size_t left, count = 0;

	/* Where it goes is decided already. */
	if (!value || proxy_text_is(name, "host"))
		return 0;
	left = size - (size_t)(value - line);
	while (left && *value == ' ') {
		value++;
		left--;
	}
	if (proxy_text_is(name, "authorization"))
		count = substitute_basic(set, value, left);
	return count + substitute_apply(set, value, left, SUBSTITUTE_HEAD);
}

/* Method, blank, target, blank, version. */
static size_t fill_line(const struct substitute *set, struct pbuf *out,
			struct proxy_text line)
{
	const char *from = memchr(line.data, ' ', line.size);
	const char *to = memrchr(line.data, ' ', line.size);
	size_t count;

	if (!set || !from || to <= from) {
		pbuf_text_add(out, line);
		return 0;
	}
	from++;
	pbuf_add(out, line.data, (size_t)(from - line.data));
	count = substitute_target(
		set, out, (struct proxy_text){ from, (size_t)(to - from) });
	pbuf_add(out, to, (size_t)(line.data + line.size - to));
	return count;
}

/* Fields that would have an answer come as nobody can look through it. */
static bool hinders(struct proxy_text line, bool filled)
{
	static const char *const names[] = {
		"accept-encoding:", "sec-websocket-extensions:", "range:"
	};
	size_t count = filled ? 3 : 2;

	for (size_t i = 0; i < count; i++) {
		size_t size = strlen(names[i]);

		if (line.size >= size &&
		    strncasecmp(line.data, names[i], size) == 0)
			return true;
	}
	return false;
}

/* The next line of a head, with its end. */
static struct proxy_text next_line(struct proxy_text *head)
{
	const char *end = memchr(head->data, '\n', head->size);
	struct proxy_text line = { head->data, head->size };

	if (end)
		line.size = (size_t)(end - head->data) + 1;
	head->data += line.size;
	head->size -= line.size;
	return line;
}

static void drop_hinders(struct exchange *exchange, bool filled)
{
	struct proxy_text head = pbuf_text(&exchange->forward), line;
	struct pbuf out = { 0 };

	pbuf_text_add(&out, next_line(&head));
	pbuf_format(&out, "Accept-Encoding: identity\r\n");
	while (head.size) {
		line = next_line(&head);
		if (!hinders(line, filled))
			pbuf_text_add(&out, line);
	}
	pbuf_free(&exchange->forward);
	exchange->forward = out;
}

static size_t fill_head(struct exchange *exchange, const struct substitute *set)
{
	struct proxy_text head = pbuf_text(&exchange->forward);
	struct pbuf out = { 0 };
	size_t count = fill_line(set, &out, next_line(&head)), at = out.size;

	pbuf_text_add(&out, head);
	if (!out.failed) {
		char *base = out.memory + out.start;

		while (at < out.size) {
			char *end = memchr(base + at, '\n', out.size - at);
			size_t size =
				end ? (size_t)(end - base) - at : out.size - at;

			if (size && base[at + size - 1] == '\r')
				size--;
			count += fill_field(set, base + at, size);
			at = end ? (size_t)(end - base) + 1 : out.size;
		}
	}
	pbuf_free(&exchange->forward);
	exchange->forward = out;
	return count;
}

static const struct proxy_header *field_of(const struct proxy_header *headers,
					   size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (proxy_text_is(headers[i].name, name))
			return &headers[i];
	return NULL;
}

static bool has_body(const struct exchange *exchange,
		     const struct proxy_verdict *verdict)
{
	return verdict->body.size ||
	       exchange->request.framing == HTTP1_CHUNKED ||
	       exchange->request.length;
}

static bool holds(struct proxy_text text, const char *word)
{
	size_t size = strlen(word);

	for (size_t i = 0; i + size <= text.size; i++)
		if (strncasecmp(text.data + i, word, size) == 0)
			return true;
	return false;
}

static enum substitute_place place_of(const struct http1_request *request)
{
	const struct proxy_header *type = field_of(
		request->headers, request->header_count, "content-type");

	if (type && holds(type->value, "x-www-form-urlencoded"))
		return SUBSTITUTE_FORM;
	if (type && holds(type->value, "json"))
		return SUBSTITUTE_JSON;
	return SUBSTITUTE_BODY;
}

void scrub_begin(struct exchange *exchange, const struct proxy_verdict *verdict)
{
	const struct http1_request *request = &exchange->request;
	size_t count = 0;

	if (verdict->fill) {
		count = fill_head(exchange, verdict->fill);
		if (has_body(exchange, verdict) &&
		    !decode_is_coded(request->headers, request->header_count))
			substitute_begin(&exchange->fill, verdict->fill,
					 place_of(request));
	}
	if (verdict->scrub) {
		drop_hinders(exchange, count > 0 || exchange->fill.set);
		substitute_begin(&exchange->scrub, verdict->scrub,
				 SUBSTITUTE_BODY);
	}
}

const char *scrub_check(const struct exchange *exchange,
			const struct http1_response *response)
{
	if (exchange->scrub.set && !exchange->is_head &&
	    decode_is_coded(response->headers, response->header_count))
		return "sent a compressed answer, though asked not to, so a "
		       "credential in it could not be seen";
	return NULL;
}

void scrub_text(const struct exchange *exchange, char *data, size_t size)
{
	if (exchange->scrub.set)
		(void)substitute_apply(exchange->scrub.set, data, size,
				       SUBSTITUTE_BODY);
}

void scrub_replaced(const struct substitute_stream *by, struct pbuf *out,
		    size_t from)
{
	if (by->set && !out->failed && out->size > from)
		(void)substitute_apply(by->set, out->memory + out->start + from,
				       out->size - from, by->place);
}

void scrub_added(const struct exchange *exchange, struct pbuf *out, size_t from)
{
	scrub_replaced(&exchange->scrub, out, from);
}

struct proxy_text scrub_ready(struct substitute_stream *through,
			      struct proxy_text piece, bool last)
{
	size_t ready;

	if (!through->set)
		return piece;
	ready = substitute_feed(through, piece, last);
	return (struct proxy_text){ pbuf_text(&through->held).data, ready };
}

void scrub_sent(struct substitute_stream *through, size_t size)
{
	if (through->set)
		pbuf_drop(&through->held, size);
}

bool scrub_piece(struct substitute_stream *through, struct stream *to,
		 bool chunked, struct proxy_text piece, bool last)
{
	struct proxy_text ready = scrub_ready(through, piece, last);

	if (ready.size)
		forward_piece(to, chunked, ready);
	scrub_sent(through, ready.size);
	return !through->held.failed;
}

/*
 * Frames of a WebSocket: looked through one reading at a time, since whoever
 * waits for the end of a message would wait for ever if some were kept back.
 */
bool scrub_frames(const struct exchange *exchange, struct stream *to,
		  struct proxy_text data)
{
	struct pbuf copy = { 0 };
	bool ok;

	pbuf_text_add(&copy, data);
	ok = !copy.failed;
	scrub_added(exchange, &copy, 0);
	if (ok)
		stream_send(to, pbuf_text(&copy));
	pbuf_free(&copy);
	return ok;
}
