/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of responses: heads, and the bodies that they announce. */
#include <stdio.h>
#include <stdlib.h>

#include "proxy/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD_LIMIT = 4096 };

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_response(const struct http1_response *r)
{
	check(r->status >= 100 && r->status < 600 && r->minor <= 1);
	check(r->framing != HTTP1_NONE && http1_value(r->phrase));
	check(!r->has_length || r->framing == HTTP1_LENGTH);
	check(r->minor == 1 || (r->close && r->framing != HTTP1_CHUNKED));
	for (size_t i = 0; i < r->header_count; i++) {
		check(http1_token(r->headers[i].name));
		check(http1_value(r->headers[i].value));
		http1_hop_by_hop(r->headers[i].name, r->headers,
				 r->header_count);
	}
}

/* The payload when at most @step bytes are given at a time. */
static uint64_t read_body(const struct http1_response *response,
			  const char *data, size_t size, size_t step,
			  enum http1_step *end)
{
	struct http1_body body;
	uint64_t payload = 0;

	http1_body_start(&body, response->framing, response->length);
	for (size_t at = 0;;) {
		size_t given = size - at < step ? size - at : step, used;
		struct proxy_text piece;
		const char *reason;

		*end = http1_body_next(&body, data + at, given, &used, &piece,
				       &reason);
		check(used <= given);
		at += used;
		if (*end == HTTP1_PIECE)
			payload += piece.size;
		else if (!http1_goes_on(*end) &&
			 (*end != HTTP1_MORE || at == size))
			return payload;
	}
}

static void fuzz(const char *data, size_t size, size_t step)
{
	struct http1_scan scan = { 0 };
	struct http1_refusal refusal = { 0, NULL };
	ssize_t head = http1_scan(&scan, data, size, HEAD_LIMIT, &refusal);
	size_t fields = http1_fields(&scan), whole;
	struct proxy_header *headers;
	struct http1_response response;
	enum http1_step ends[2];
	char *copy;

	if (head <= 0)
		return;
	whole = size - (size_t)head;
	/* Memory of the exact size shows reads behind the head. */
	copy = malloc((size_t)head);
	headers = calloc(fields + 1, sizeof(*headers));
	if (copy && headers) {
		memcpy(copy, data, (size_t)head);
		if (http1_response(&response, copy, (size_t)head, headers,
				   fields, &refusal)) {
			check_response(&response);
			check(read_body(&response, data + head, whole,
					whole ? whole : 1, &ends[0]) ==
			      read_body(&response, data + head, whole, step,
					&ends[1]));
			check(ends[0] == ends[1]);
		} else {
			check(refusal.status == 502 && refusal.reason);
		}
	}
	free(headers);
	free(copy);
}

/* The first byte says in what steps the rest, the message, arrives. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 2)
		fuzz((const char *)data + 1, size - 1,
		     (size_t)(data[0] >> 1) % 32 + 1);
	return 0;
}
