/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of DER (X.690): what has a second spelling is refused. */
#ifndef SRT_PROXY_DER_H
#define SRT_PROXY_DER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DER_BOOLEAN = 0x01,
	DER_INTEGER = 0x02,
	DER_BITS = 0x03,
	DER_OCTETS = 0x04,
	DER_NULL = 0x05,
	DER_OID = 0x06,
	DER_UTF8 = 0x0c,
	DER_UTC_TIME = 0x17,
	DER_TIME = 0x18,
	DER_SEQUENCE = 0x30,
	DER_SET = 0x31,
	DER_CONTEXT = 0x80,
	DER_CONSTRUCTED = 0x20,
};

/** struct der - borrowed bytes, consumed from the front */
struct der {
	const unsigned char *data;
	size_t size;
};

/**
 * der_any() - take the next element
 * @tag: out; tags of more than one byte are refused
 * @value: out: its content; not @from itself
 * Return: false where none stands there whole, or its length is indefinite or
 * not in the shortest form.
 */
bool der_any(struct der *from, unsigned int *tag, struct der *value);

/** der_take() - the next element, which must have this tag */
bool der_take(struct der *from, unsigned int tag, struct der *value);

/** der_is() - is the next element of this tag? */
static inline bool der_is(const struct der *from, unsigned int tag)
{
	return from->size && from->data[0] == tag;
}

/** der_whole() - take an element with its head: @whole is all of it */
bool der_whole(struct der *from, unsigned int tag, struct der *whole);

/** der_boolean() - 0x00 or 0xff, nothing else */
bool der_boolean(struct der *from, bool *value);

/** der_natural() - a non-negative INTEGER's bytes without leading zeros */
bool der_natural(struct der *from, struct der *value);

/** der_small() - a natural number below 2^31 */
bool der_small(struct der *from, uint32_t *value);

/** der_bytes() - a BIT STRING of whole bytes */
bool der_bytes(struct der *from, struct der *value);

/** der_flags() - a BIT STRING as a number: bit 0 is the first; up to 16 count
 */
bool der_flags(struct der *from, uint32_t *value);

/**
 * der_time() - UTCTime or GeneralizedTime as RFC 5280 4.1.2.5 writes them, with
 * seconds and Z; out: seconds since 1970
 */
bool der_time(struct der *from, int64_t *value);

/** der_equal() - the same bytes */
bool der_equal(struct der a, struct der b);

#endif
