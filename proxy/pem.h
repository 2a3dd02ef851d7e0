/* SPDX-License-Identifier: Apache-2.0 */
/* PEM blocks (RFC 7468): found, decoded and written. */
#ifndef SRT_PROXY_PEM_H
#define SRT_PROXY_PEM_H

#include <stdbool.h>
#include <stddef.h>

#include "proxy/pbuf.h"
#include "proxy/text.h"

/**
 * struct pem_block - one block, borrowed from the text
 * @label: "CERTIFICATE", …
 * @body: what stands between its lines
 */
struct pem_block {
	struct proxy_text label;
	struct proxy_text body;
};

/**
 * pem_next() - the next block, from the front of *@text, which is moved on
 *
 * What is around blocks is passed over, as in bundles with comments. A block
 * without its end, or with another begin before it, is broken: its body is
 * given as far as it goes, and pem_decode() refuses it.
 * Return: false when there is none.
 */
bool pem_next(struct proxy_text *text, struct pem_block *block);

/** pem_certificate() - does it hold a certificate, by its label? */
bool pem_certificate(const struct pem_block *block);

/** pem_size() - the most bytes that a body can be decoded to */
size_t pem_size(struct proxy_text body);

/**
 * pem_decode() - the bytes of a body; white space is passed over
 * @bytes: of pem_size()
 * @size: out
 * Return: false for anything else than base64 with its right padding (headers
 * of encrypted keys too), and for nothing.
 */
bool pem_decode(struct proxy_text body, unsigned char *bytes, size_t *size);

/** pem_write() - append a block, in lines of 64 characters */
void pem_write(struct pbuf *out, const char *label, const unsigned char *bytes,
	       size_t size);

#endif
