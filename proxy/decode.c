/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings undone, within bounds. */
#include "proxy/decode.h"

#include <zlib.h>

#include "proxy/http1.h"

enum {
	WINDOW_BITS = 15,
	WINDOW_GZIP = 16 + WINDOW_BITS, /* zlib's way to say "gzip" */
	PIECE = 16384,
	SLACK = 1024,
};

enum coding { CODING_GZIP, CODING_DEFLATE };

struct codings {
	enum coding list[DECODE_CODINGS_MAX];
	size_t count;
};

const char decode_too_long[] = "it is too long";

static const char *add_coding(struct codings *codings, struct proxy_text name)
{
	if (proxy_text_is(name, "identity"))
		return NULL;
	if (codings->count == DECODE_CODINGS_MAX)
		return "it has too many content codings";
	if (proxy_text_is(name, "gzip") || proxy_text_is(name, "x-gzip"))
		codings->list[codings->count++] = CODING_GZIP;
	else if (proxy_text_is(name, "deflate"))
		codings->list[codings->count++] = CODING_DEFLATE;
	else
		return "its content coding is none of gzip and deflate";
	return NULL;
}

static const char *read_codings(struct codings *codings,
				const struct proxy_header *headers,
				size_t count)
{
	const char *wrong = NULL;

	codings->count = 0;
	for (size_t i = 0; i < count && !wrong; i++) {
		struct proxy_text list = headers[i].value, name;

		if (!proxy_text_is(headers[i].name, "content-encoding"))
			continue;
		while (!wrong && http1_member(&list, &name))
			wrong = add_coding(codings, name);
	}
	return wrong;
}

bool decode_is_coded(const struct proxy_header *headers, size_t count)
{
	struct codings codings;

	return read_codings(&codings, headers, count) || codings.count;
}

/* What can't be made smaller gets larger by its coding: allow for that. */
static size_t coded_max(size_t max)
{
	return max + max / 256 + SLACK;
}

size_t decode_wire_max(const struct proxy_header *headers, size_t count,
		       size_t max)
{
	return decode_is_coded(headers, count) ? coded_max(max) : max;
}

/*
 * Which of the two formats that go by the name of deflate. One bare stream in
 * a thousand looks like zlib's; its checksum then fails, and so does the body.
 */
static int window_of(enum coding coding, struct proxy_text data)
{
	const unsigned char *byte = (const unsigned char *)data.data;
	bool framed = data.size >= 2 && (byte[0] & 0x0f) == Z_DEFLATED &&
		      byte[0] >> 4 <= WINDOW_BITS - 8 &&
		      (byte[0] << 8 | byte[1]) % 31 == 0;

	if (coding == CODING_GZIP)
		return WINDOW_GZIP;
	return framed ? WINDOW_BITS : -WINDOW_BITS;
}

/* One call of inflate(), its output added. Z_OK while there is more to do. */
static int inflate_piece(z_stream *stream, struct pbuf *out)
{
	char piece[PIECE];
	int status;

	stream->next_out = (unsigned char *)piece;
	stream->avail_out = sizeof(piece);
	status = inflate(stream, Z_NO_FLUSH);
	pbuf_add(out, piece, sizeof(piece) - stream->avail_out);
	return status;
}

static const char *run(z_stream *stream, enum coding coding, size_t max,
		       struct pbuf *out)
{
	int status = Z_OK;

	while (status == Z_OK) {
		status = inflate_piece(stream, out);
		if (out->failed)
			return "out of memory";
		if (out->size > max)
			return decode_too_long;
		if (status != Z_STREAM_END || !stream->avail_in)
			continue;
		if (coding != CODING_GZIP)
			return "something follows the end of its coding";
		status = inflateReset(stream); /* the next member */
	}
	if (status == Z_STREAM_END)
		return NULL;
	return status == Z_BUF_ERROR ? "it ends within its content coding"
				     : "its content coding is broken";
}

static const char *inflate_all(enum coding coding, struct proxy_text data,
			       size_t max, struct pbuf *out)
{
	z_stream stream = { 0 };
	const char *wrong;

	if (!data.size)
		return NULL;
	if (data.size > UINT32_MAX)
		return decode_too_long;
	if (inflateInit2(&stream, window_of(coding, data)) != Z_OK)
		return "out of memory";
	stream.next_in = (unsigned char *)data.data;
	stream.avail_in = (unsigned int)data.size;
	wrong = run(&stream, coding, max, out);
	inflateEnd(&stream);
	return wrong;
}

const char *decode_body(const struct proxy_header *headers, size_t count,
			struct proxy_text data, size_t max, struct pbuf *out)
{
	struct codings codings;
	const char *wrong = read_codings(&codings, headers, count);

	if (!wrong && data.size > (codings.count ? coded_max(max) : max))
		wrong = decode_too_long;
	if (!wrong && !codings.count)
		pbuf_text_add(out, data);
	/* They were applied in the order of the list. */
	while (!wrong && codings.count) {
		struct pbuf inner = { 0 };
		enum coding coding = codings.list[--codings.count];

		wrong = inflate_all(coding, data,
				    codings.count ? coded_max(max) : max,
				    &inner);
		pbuf_free(out);
		*out = inner;
		data = pbuf_text(out);
	}
	return !wrong && out->failed ? "out of memory" : wrong;
}
