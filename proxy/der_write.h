/* SPDX-License-Identifier: Apache-2.0 */
/* Writes DER from its end to its start, so that lengths are known. */
#ifndef SRT_PROXY_DER_WRITE_H
#define SRT_PROXY_DER_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct der_out - bytes from @at up to the memory's end
 * @failed: something did not fit; what is there is of no use
 *
 * What comes last in the text is written first.
 */
struct der_out {
	unsigned char *start;
	unsigned char *at;
	bool failed;
};

/** der_put() - bytes as they are */
void der_put(struct der_out *out, const void *data, size_t size);

/** der_put_byte() - one */
void der_put_byte(struct der_out *out, unsigned int byte);

/**
 * der_head() - the tag and length of what was written since
 * @end: where @at stood before its content was
 */
void der_head(struct der_out *out, unsigned int tag, const unsigned char *end);

/** der_put_all() - a whole element: head and content */
void der_put_all(struct der_out *out, unsigned int tag, const void *data,
		 size_t size);

/** der_put_natural() - an INTEGER from big-endian bytes */
void der_put_natural(struct der_out *out, const unsigned char *data,
		     size_t size);

/**
 * der_put_time() - UTCTime up to 2049, GeneralizedTime from 2050 on
 * (RFC 5280 4.1.2.5)
 */
void der_put_time(struct der_out *out, int64_t seconds);

#endif
