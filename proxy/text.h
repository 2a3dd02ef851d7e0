/* SPDX-License-Identifier: Apache-2.0 */
/* Borrowed bytes, and header fields made of them. */
#ifndef SRT_PROXY_TEXT_H
#define SRT_PROXY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

/** struct proxy_text - bytes that are not NUL-terminated; borrowed */
struct proxy_text {
	const char *data;
	size_t size;
};

/** struct proxy_header - one header field as it stood on the wire */
struct proxy_header {
	struct proxy_text name;
	struct proxy_text value;
};

/** proxy_text_of() - the text of a C string; NULL gives data NULL */
static inline struct proxy_text proxy_text_of(const char *string)
{
	return (struct proxy_text){ string, string ? strlen(string) : 0 };
}

/** proxy_text_equal() - same bytes */
static inline bool proxy_text_equal(struct proxy_text text, const char *other)
{
	size_t size = strlen(other);

	return text.size == size && memcmp(text.data, other, size) == 0;
}

/** proxy_text_same() - same but for the case of ASCII letters */
static inline bool proxy_text_same(struct proxy_text a, struct proxy_text b)
{
	/* Most that are of one length differ at once. */
	return a.size == b.size &&
	       (a.size == 0 || (((a.data[0] ^ b.data[0]) & ~0x20) == 0 &&
				strncasecmp(a.data, b.data, a.size) == 0));
}

/** proxy_text_is() - proxy_text_same() against a C string */
static inline bool proxy_text_is(struct proxy_text text, const char *other)
{
	return proxy_text_same(text, proxy_text_of(other));
}

#endif
