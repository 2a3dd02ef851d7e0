/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a DNS query: whatever is read stays in bounds, and so does every
 * answer to it, which nobody takes for a query. */
#include <stdlib.h>
#include <string.h>

#include "proxy/dns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void answer(const struct dns_query *query, struct dns_answer with)
{
	uint8_t *out = malloc(DNS_ANSWER_MAX);
	struct dns_query again;
	size_t written = dns_write(out, query, &with);

	if (written < 12 || written > DNS_ANSWER_MAX ||
	    dns_read(&again, out, written) != -1)
		abort();
	free(out);
}

static void check(const struct dns_query *query)
{
	uint8_t address[16];
	size_t size = strlen(query->name);

	if (size >= DNS_NAME_MAX ||
	    (size && query->name[size - 1] == '.' && query->plain))
		abort();
	(void)dns_reversed(address, query->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* In memory of just that size, so that reading on is seen. */
	uint8_t *copy = malloc(size ? size : 1);
	struct dns_query query;
	char text[2 * DNS_DETAIL_MAX];
	int code;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(copy, data, size);
	code = dns_read(&query, copy, size);
	if (code >= 0) {
		check(&query);
		answer(&query,
		       (struct dns_answer){ .code = (enum dns_code)code,
					    .detail = DNS_DETAIL_BLOCKED,
					    .text = text });
		answer(&query, (struct dns_answer){ .address_size = 4 });
		answer(&query, (struct dns_answer){ .address_size = 16 });
		answer(&query,
		       (struct dns_answer){ .pointer = query.plain ? query.name
								   : "a.b" });
	}
	free(copy);
	return 0;
}
