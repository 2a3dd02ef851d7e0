/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the HTTP/1 parser: no bad access, and the same reading however the
 * bytes arrive. */
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

/* The head's size when its bytes arrive @step at a time, 0 or -1. */
static ssize_t scan_by(const char *data, size_t size, size_t step,
		       struct http1_scan *scan, struct http1_refusal *refusal)
{
	ssize_t head = 0;

	*scan = (struct http1_scan){ 0 };
	for (size_t have = 0; !head && have < size;) {
		have = step < size - have ? have + step : size;
		head = http1_scan(scan, data, have, HEAD_LIMIT, refusal);
	}
	return head;
}

static void check_request(const struct http1_request *request)
{
	const struct http1_request *r = request;

	check(http1_token(r->method) && http1_host(r->host) && r->port);
	check(r->connect || (r->path.size && r->path.data[0] == '/'));
	check(!r->connect || r->framing == HTTP1_NONE);
	check(r->framing != HTTP1_UNTIL_CLOSE && r->minor <= 1);
	for (size_t i = 0; i < r->header_count; i++) {
		check(http1_token(r->headers[i].name));
		check(http1_value(r->headers[i].value));
		http1_hop_by_hop(r->headers[i].name, r->headers,
				 r->header_count);
	}
}

static void fuzz_head(const char *data, size_t size, size_t step)
{
	struct http1_scan scan, other;
	struct http1_refusal refusal = { 0, NULL }, again = { 0, NULL };
	ssize_t head = scan_by(data, size, size, &scan, &refusal);
	struct http1_request request;
	struct http1_response response;
	struct proxy_header *headers;
	char *copy;

	check(scan_by(data, size, step, &other, &again) == head);
	check(refusal.status == again.status);
	if (head <= 0)
		return;
	check(scan.lines == other.lines && head <= HEAD_LIMIT);
	/* Memory of the exact size shows reads behind the head. */
	copy = malloc((size_t)head);
	headers = calloc(http1_fields(&scan) + 1, sizeof(*headers));
	if (copy && headers) {
		memcpy(copy, data, (size_t)head);
		if (http1_request(&request, copy, (size_t)head, headers,
				  http1_fields(&scan), &refusal))
			check_request(&request);
		else
			check(refusal.status >= 400 && refusal.reason);
		if (http1_response(&response, copy, (size_t)head, headers,
				   http1_fields(&scan), &refusal))
			check(response.status >= 100 && response.status < 600);
		else
			check(refusal.status == 502 && refusal.reason);
	}
	free(headers);
	free(copy);
}

struct reading {
	size_t payload;
	size_t used;
	unsigned int sum;
	enum http1_step end;
};

static struct reading read_by(const char *data, size_t size, size_t step)
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
		reading.used += used;
		if (http1_goes_on(reading.end)) {
			check(piece.size > 0);
			reading.payload += piece.size;
			for (size_t i = 0; i < piece.size; i++)
				reading.sum = reading.sum * 31 +
					      (uint8_t)piece.data[i];
		} else if (reading.end != HTTP1_MORE || have == size) {
			return reading;
		} else {
			have = step < size - have ? have + step : size;
		}
	}
}

static void fuzz_chunks(const char *data, size_t size, size_t step)
{
	struct reading whole = read_by(data, size, size);
	struct reading parts = read_by(data, size, step);

	check(whole.end == parts.end && whole.payload == parts.payload);
	check(whole.used == parts.used && whole.sum == parts.sum);
}

/* The first byte says how, the rest is the message. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	size_t step;

	if (size < 2)
		return 0;
	step = (size_t)(data[0] >> 1) % 32 + 1;
	if (data[0] & 1)
		fuzz_chunks(text, size - 1, step);
	else
		fuzz_head(text, size - 1, step);
	return 0;
}
