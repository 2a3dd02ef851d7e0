/* SPDX-License-Identifier: Apache-2.0 */
/* A byte queue that holds no memory while it is empty. */
#ifndef SRT_PROXY_PBUF_H
#define SRT_PROXY_PBUF_H

#include "proxy/text.h"

/**
 * struct pbuf - bytes appended at the end and dropped from the front
 * @failed: an append ran out of memory; what was appended since is incomplete
 *
 * Zeroed memory is an empty one. Freed by pbuf_free().
 */
struct pbuf {
	char *memory;
	size_t start;
	size_t size;
	size_t capacity;
	bool failed;
};

/** pbuf_text() - the bytes held; borrowed until the next change */
static inline struct proxy_text pbuf_text(const struct pbuf *buffer)
{
	return (struct proxy_text){ buffer->memory
					    ? buffer->memory + buffer->start
					    : NULL,
				    buffer->size };
}

/** pbuf_reserve() - room for more; false and @failed on lack of memory */
bool pbuf_reserve(struct pbuf *buffer, size_t more);

/** pbuf_add() - append; on lack of memory sets @failed */
static inline void pbuf_add(struct pbuf *buffer, const char *data, size_t size)
{
	if (!size || (buffer->start + buffer->size + size > buffer->capacity &&
		      !pbuf_reserve(buffer, size)))
		return;
	memcpy(buffer->memory + buffer->start + buffer->size, data, size);
	buffer->size += size;
}

/** pbuf_text_add() - append a text */
static inline void pbuf_text_add(struct pbuf *buffer, struct proxy_text text)
{
	pbuf_add(buffer, text.data, text.size);
}

/** pbuf_string() - append a C string */
static inline void pbuf_string(struct pbuf *buffer, const char *string)
{
	pbuf_add(buffer, string, strlen(string));
}

/** pbuf_number() - append a number in decimal digits */
void pbuf_number(struct pbuf *buffer, unsigned long long number);

/** pbuf_format() - append formatted text, at most 511 bytes of it */
void pbuf_format(struct pbuf *buffer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** pbuf_drop() - take bytes off the front; frees the memory when none is left
 */
void pbuf_drop(struct pbuf *buffer, size_t size);

/** pbuf_free() - back to empty */
void pbuf_free(struct pbuf *buffer);

#endif
