/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trust store for Java. */
#include "proxy/jks.h"

#include <bearssl.h>
#include <stdint.h>
#include <stdio.h>

#include "core/util.h"
#include "proxy/pem.h"
#include "proxy/x509.h"

#define MAGIC 0xfeedfeedU
enum { VERSION = 2, TRUSTED = 2 };

static void put_number(struct pbuf *out, uint64_t number, unsigned int bytes)
{
	while (bytes--) {
		char byte = (char)(number >> (bytes * 8));

		pbuf_add(out, &byte, 1);
	}
}

static void put_text(struct pbuf *out, const char *text)
{
	put_number(out, strlen(text), 2);
	pbuf_add(out, text, strlen(text));
}

static void put_entry(struct pbuf *out, unsigned int number,
		      const unsigned char *bytes, size_t size)
{
	char alias[24];

	snprintf(alias, sizeof(alias), "root-%u", number);
	put_number(out, TRUSTED, 4);
	put_text(out, alias);
	put_number(out, 0, 8); /* when it was made: nobody asks */
	put_text(out, "X.509");
	put_number(out, size, 4);
	pbuf_add(out, (const char *)bytes, size);
}

static bool put_blocks(struct pbuf *out, struct proxy_text pem,
		       unsigned int *count)
{
	struct pem_block block;
	size_t size;

	while (pem_next(&pem, &block)) {
		owned_ptr unsigned char *bytes = malloc(pem_size(block.body));

		if (!bytes || !pem_decode(block.body, bytes, &size))
			return false;
		put_entry(out, (*count)++, bytes, size);
	}
	return true;
}

/* SHA-1 over the password in UTF-16, a phrase, and all that was written. */
static void put_digest(struct pbuf *out, struct proxy_text head,
		       struct proxy_text entries)
{
	static const char password[] = JKS_PASSWORD;
	unsigned char digest[br_sha1_SIZE];
	br_sha1_context context;

	br_sha1_init(&context);
	for (const char *c = password; *c; c++) {
		const char wide[2] = { 0, *c };

		br_sha1_update(&context, wide, sizeof(wide));
	}
	br_sha1_update(&context, "Mighty Aphrodite", 16);
	br_sha1_update(&context, head.data, head.size);
	br_sha1_update(&context, entries.data, entries.size);
	br_sha1_out(&context, digest);
	pbuf_text_add(out, head);
	pbuf_text_add(out, entries);
	pbuf_add(out, (const char *)digest, sizeof(digest));
}

bool jks_write(struct pbuf *out, struct proxy_text pem,
	       const struct trust *trust)
{
	struct pbuf head = { 0 }, entries = { 0 };
	unsigned int count = 0;
	bool done = put_blocks(&entries, pem, &count);

	for (size_t i = 0; i < trust_size(trust); i++) {
		struct der whole = trust_root(trust, i)->whole;

		put_entry(&entries, count++, whole.data, whole.size);
	}
	put_number(&head, MAGIC, 4);
	put_number(&head, VERSION, 4);
	put_number(&head, count, 4);
	put_digest(out, pbuf_text(&head), pbuf_text(&entries));
	done = done && !head.failed && !entries.failed && !out->failed;
	pbuf_free(&head);
	pbuf_free(&entries);
	return done;
}
