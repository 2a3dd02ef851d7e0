/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of HTTP/1 heads: no bad access, and the same reading
 * however the bytes arrive. */
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
	}
	free(headers);
	free(copy);
}

/* The first byte says in what steps the rest, the message, arrives. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	fuzz_head((const char *)data + 1, size - 1,
		  (size_t)(data[0] >> 1) % 32 + 1);
	return 0;
}
