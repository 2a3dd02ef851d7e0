/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what reads a user's PEM files: blocks, roots, a CA with its key. */
#include <stdint.h>
#include <stdlib.h>

#include "core/util.h"
#include "proxy/authority.h"
#include "proxy/pem.h"
#include "proxy/trust.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* What was decoded is written and decoded again, to the same. */
static void check_block(const struct pem_block *block)
{
	owned_ptr unsigned char *bytes = malloc(pem_size(block->body));
	owned_ptr unsigned char *again = NULL;
	struct pem_block copy;
	struct proxy_text text;
	struct pbuf out = { 0 };
	size_t size, size_again = 0;

	check(bytes != NULL);
	if (!pem_decode(block->body, bytes, &size))
		return;
	check(size && size <= pem_size(block->body));
	pem_write(&out, "CERTIFICATE", bytes, size);
	text = pbuf_text(&out);
	check(pem_next(&text, &copy) && pem_certificate(&copy));
	again = malloc(pem_size(copy.body));
	check(again && pem_decode(copy.body, again, &size_again));
	check(size == size_again && memcmp(bytes, again, size) == 0);
	check(!pem_next(&text, &copy));
	pbuf_free(&out);
}

static void check_trust(struct proxy_text pem)
{
	struct trust *trust = trust_new();
	struct trust_count count;

	check(trust && trust_add(trust, pem, &count) == 0);
	check(trust_size(trust) == count.added);
	check(!count.broken == !count.why);
	trust_free(trust);
}

static void check_authority(struct proxy_text pem)
{
	const struct authority_leaf *leaf;
	struct authority *authority;
	const char *why = NULL;

	if (pem.size == 0)
		return;
	if (authority_new(&authority, pem, pem, &why)) {
		check(why != NULL);
		return;
	}
	leaf = authority_leaf(authority, "a.test", &why);
	check(leaf ? leaf->count >= 1 : why != NULL);
	authority_leaf_put(leaf);
	authority_free(authority);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Memory of the exact size shows reads behind it. */
	owned_ptr char *copy = malloc(size ? size : 1);
	struct proxy_text pem = { copy, size }, rest;
	struct pem_block block;

	check(copy != NULL);
	if (size)
		memcpy(copy, data, size);
	rest = pem;
	while (pem_next(&rest, &block))
		check_block(&block);
	check_trust(pem);
	check_authority(pem);
	return 0;
}
