/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of chunked bodies: the same reading however the bytes
 * arrive, and trailers that read as fields. */
#include <stdio.h>
#include <stdlib.h>

#include "proxy/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FIELDS = 64 };

static void check(bool ok)
{
	if (!ok)
		abort();
}

struct reading {
	size_t payload;
	size_t used;
	size_t trailer;
	unsigned int sum;
	enum http1_step end;
};

static void take(struct reading *reading, struct proxy_text piece,
		 char *trailer)
{
	check(piece.size > 0);
	if (reading->end == HTTP1_TRAILER) {
		check(reading->trailer + piece.size <= HTTP1_TRAILER_MAX);
		memcpy(trailer + reading->trailer, piece.data, piece.size);
		reading->trailer += piece.size;
		return;
	}
	check(!reading->trailer);
	reading->payload += piece.size;
	for (size_t i = 0; i < piece.size; i++)
		reading->sum = reading->sum * 31 + (uint8_t)piece.data[i];
}

static struct reading read_by(const char *data, size_t size, size_t step,
			      char *trailer)
{
	struct reading reading = { .end = HTTP1_MORE };
	struct http1_body body;
	size_t have = 0;

	http1_body_start(&body, HTTP1_CHUNKED, 0);
	for (;;) {
		struct proxy_text piece;
		const char *reason;
		size_t used;

		reading.end = http1_body_next(&body, data + reading.used,
					      have - reading.used, &used,
					      &piece, &reason);
		check(used <= have - reading.used);
		check((reading.end == HTTP1_BAD) == (reason != NULL));
		reading.used += used;
		if (http1_goes_on(reading.end))
			take(&reading, piece, trailer);
		else if (reading.end != HTTP1_MORE || have == size)
			return reading;
		else
			have = step < size - have ? have + step : size;
	}
}

static void check_trailer(const char *trailer, size_t size)
{
	struct proxy_header fields[FIELDS];
	size_t count;

	if (!http1_trailers((struct proxy_text){ trailer, size }, fields,
			    FIELDS, &count))
		return;
	check(!size == !count);
	for (size_t i = 0; i < count; i++) {
		check(http1_token(fields[i].name));
		check(http1_value(fields[i].value));
		http1_trailing(fields[i].name);
	}
}

/* The first byte says in what steps the rest, the body, arrives. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char trailers[2][HTTP1_TRAILER_MAX];
	const char *text = (const char *)data + 1;
	struct reading whole, parts;

	if (size < 2)
		return 0;
	whole = read_by(text, size - 1, size - 1, trailers[0]);
	parts = read_by(text, size - 1, (size_t)(data[0] >> 1) % 32 + 1,
			trailers[1]);
	check(whole.end == parts.end && whole.payload == parts.payload);
	check(whole.used == parts.used && whole.sum == parts.sum);
	if (whole.end != HTTP1_END)
		return 0;
	check(whole.trailer == parts.trailer &&
	      !memcmp(trailers[0], trailers[1], whole.trailer));
	check_trailer(trailers[0], whole.trailer);
	return 0;
}
