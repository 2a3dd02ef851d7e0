/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on access control lists as Windows keeps them ([MS-DTYP] 2.4.5):
 * bytes in, bytes out. Pure, so that it is tested where there is no Windows.
 */
#ifndef SRT_WINDOWS_ACL_H
#define SRT_WINDOWS_ACL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SID_MOST = 8 + 4 * 15, ACL_MOST = 65535 };

/** struct sid - a security identifier, binary */
struct sid {
	uint8_t size;
	uint8_t bytes[SID_MOST];
};

/** struct ace - an entry that allows or denies */
struct ace {
	bool deny;
	uint8_t flags; /* inheritance */
	uint32_t mask;
	struct sid sid;
};

/** struct acl_bytes - a list; @bytes are owned */
struct acl_bytes {
	uint8_t *bytes;
	size_t size;
};

/**
 * sid_parse() - read S-1-…
 * Return: false for what is none
 */
bool sid_parse(struct sid *out, const char *text);

/**
 * acl_valid() - are these the bytes of a list, and all of them?
 * Everything below takes only lists for which this is true.
 */
bool acl_valid(const uint8_t *bytes, size_t size);

/**
 * acl_count() - how often does an entry stand in the list as the object's own?
 * Inherited ones are another object's.
 */
unsigned acl_count(const uint8_t *bytes, const struct ace *ace);

/**
 * acl_add() - a list with one more entry, in canonical order: own denying ones,
 * own allowing ones, inherited ones
 * @bytes: a list, or NULL for an empty one
 * @out: owned by the caller
 * Return: 0; -EINVAL for a list whose own entries are in another order, where
 * a new one could mean less than it says; -E2BIG; -ENOMEM.
 */
int acl_add(const uint8_t *bytes, const struct ace *ace, struct acl_bytes *out);

/**
 * acl_remove() - a list without one entry of its own
 * Return: 0; -ENOENT where it has none such; -ENOMEM.
 */
int acl_remove(const uint8_t *bytes, const struct ace *ace,
	       struct acl_bytes *out);

#endif
