/* SPDX-License-Identifier: Apache-2.0 */
/* The roots that servers' certificates are verified by. */
#include "proxy/trust.h"

#include <errno.h>
#include <stdlib.h>

#include "core/util.h"
#include "proxy/pem.h"
#include "proxy/x509.h"

/* @bytes is what @cert was read from, owned. */
struct root {
	struct x509 cert;
	unsigned char *bytes;
};

struct trust {
	struct root *roots;
	size_t count;
	size_t capacity;
};

struct trust *trust_new(void)
{
	return calloc(1, sizeof(struct trust));
}

void trust_free(struct trust *trust)
{
	if (!trust)
		return;
	for (size_t i = 0; i < trust->count; i++)
		free(trust->roots[i].bytes);
	free(trust->roots);
	free(trust);
}

size_t trust_size(const struct trust *trust)
{
	return trust->count;
}

const struct x509 *trust_root(const struct trust *trust, size_t index)
{
	return &trust->roots[index].cert;
}

static bool is_known(const struct trust *trust, const struct x509 *cert)
{
	for (size_t i = 0; i < trust->count; i++) {
		if (der_equal(trust->roots[i].cert.whole, cert->whole))
			return true;
	}
	return false;
}

static int reserve(struct trust *trust)
{
	size_t capacity = trust->capacity ? trust->capacity * 2 : 64;
	struct root *roots;

	if (trust->count < trust->capacity)
		return 0;
	if (trust->count >= TRUST_ROOTS_MAX)
		return -E2BIG;
	roots = realloc(trust->roots, capacity * sizeof(*roots));
	if (!roots)
		return -ENOMEM;
	trust->roots = roots;
	trust->capacity = capacity;
	return 0;
}

static void count_broken(struct trust_count *count, const char *why)
{
	if (count->broken++ == 0)
		count->why = why;
}

static int add_block(struct trust *trust, const struct pem_block *block,
		     struct trust_count *count)
{
	owned_ptr unsigned char *bytes = malloc(pem_size(block->body));
	const char *why;
	struct x509 cert;
	size_t size;
	int error;

	if (!bytes)
		return -ENOMEM;
	if (!pem_decode(block->body, bytes, &size)) {
		count_broken(count, "it is not in base64, or has no end");
		return 0;
	}
	why = x509_read(&cert, bytes, size);
	if (why) {
		count_broken(count, why);
		return 0;
	}
	if (is_known(trust, &cert)) {
		count->known++;
		return 0;
	}
	error = reserve(trust);
	if (error)
		return error;
	trust->roots[trust->count++] = (struct root){ cert, bytes };
	bytes = NULL;
	count->added++;
	return 0;
}

int trust_add(struct trust *trust, struct proxy_text pem,
	      struct trust_count *count)
{
	struct pem_block block;
	int error;

	*count = (struct trust_count){ 0 };
	if (pem.size > TRUST_PEM_MAX)
		return -E2BIG;
	while (pem_next(&pem, &block)) {
		error = pem_certificate(&block)
				? add_block(trust, &block, count)
				: 0;
		if (error)
			return error;
	}
	return 0;
}

void trust_pem(const struct trust *trust, struct pbuf *out)
{
	for (size_t i = 0; i < trust->count; i++) {
		struct der whole = trust->roots[i].cert.whole;

		pem_write(out, "CERTIFICATE", whole.data, whole.size);
	}
}
