/* SPDX-License-Identifier: Apache-2.0 */
/* The roots that servers' certificates are verified by. */
#ifndef SRT_PROXY_TRUST_H
#define SRT_PROXY_TRUST_H

#include <stddef.h>

#include "proxy/pbuf.h"
#include "proxy/text.h"

enum { TRUST_ROOTS_MAX = 4096, TRUST_PEM_MAX = 16 << 20 };

struct trust;
struct x509;

/**
 * struct trust_count - what came of a text
 * @added: roots that are new; @known: those that were there before
 * @broken: CERTIFICATE blocks that can't be used, and @why the first one can't
 *	(static text); the caller decides whether that is an error
 */
struct trust_count {
	size_t added;
	size_t known;
	size_t broken;
	const char *why;
};

/** trust_new() - no roots yet; NULL without memory; owned by the caller */
struct trust *trust_new(void);

/** trust_free() - NULL is fine; no struct verify may use it any more */
void trust_free(struct trust *trust);

/**
 * trust_add() - roots from the CERTIFICATE blocks of a PEM text; copied
 *
 * All else in the text is passed over, also private keys. Cheap: about a
 * millisecond for all of Mozilla's.
 * Return: 0, -ENOMEM, or -E2BIG (over TRUST_ROOTS_MAX or TRUST_PEM_MAX).
 */
int trust_add(struct trust *trust, struct proxy_text pem,
	      struct trust_count *count);

/** trust_size() - how many roots there are */
size_t trust_size(const struct trust *trust);

/** trust_pem() - append all of them, as CERTIFICATE blocks and nothing else */
void trust_pem(const struct trust *trust, struct pbuf *out);

/** trust_root() - one of them, by its number; borrowed */
const struct x509 *trust_root(const struct trust *trust, size_t index);

#endif
