/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces texts by others of the same length, in heads and flowing bodies. */
#ifndef SRT_SUBSTITUTE_H
#define SRT_SUBSTITUTE_H

#include <stdint.h>

#include "proxy/pbuf.h"

enum {
	SUBSTITUTE_LEAST = 8,	 /* shorter ones would be met by chance */
	SUBSTITUTE_MOST = 65536, /* what a stream may have to hold back */
	SUBSTITUTE_PAIRS = 4096,
};

/** enum substitute_place - where bytes stand, so what may be put there */
enum substitute_place {
	SUBSTITUTE_HEAD = 1, /* a field's value: no control bytes */
	SUBSTITUTE_FORM = 2, /* a form: only bytes that it does not escape */
	SUBSTITUTE_JSON = 4, /* likewise, of a string */
	SUBSTITUTE_BODY = 8, /* any bytes */
};

/**
 * struct substitute - a set of pairs; counted, so that an exchange may outlive
 * whoever made it. Its bytes are overwritten when it goes.
 */
struct substitute;

/** substitute_new() - an empty set, one reference; NULL without memory */
struct substitute *substitute_new(void);

/**
 * substitute_add() - one more pair; before the set is used
 * @from, @to: of the same size; copied
 * Return: 0; -EINVAL for a size that can't be; -E2BIG or -ENOMEM.
 */
int substitute_add(struct substitute *set, struct proxy_text from,
		   struct proxy_text to);

/** substitute_hold() - one reference more; NULL stays NULL */
struct substitute *substitute_hold(struct substitute *set);

/** substitute_release() - one less; NULL does nothing */
void substitute_release(struct substitute *set);

/**
 * substitute_apply() - replace in a whole text, in place
 * Return: how many were replaced.
 */
size_t substitute_apply(const struct substitute *set, char *data, size_t size,
			enum substitute_place place);

/**
 * substitute_target() - append a request target, what is put in percent-encoded
 * Return: how many were replaced.
 */
size_t substitute_target(const struct substitute *set, struct pbuf *out,
			 struct proxy_text target);

/**
 * substitute_basic() - replace inside a value of the form "Basic BASE64"
 *
 * What is no such value stays as it is.
 * Return: how many were replaced.
 */
size_t substitute_basic(const struct substitute *set, char *value, size_t size);

/**
 * struct substitute_stream - bytes under way; zeroed memory is none
 * @set: its own reference
 * @held: not sent on yet, since it may be the beginning of a @from
 */
struct substitute_stream {
	struct substitute *set;
	enum substitute_place place;
	struct pbuf held;
};

/** substitute_begin() - the stream takes a reference */
void substitute_begin(struct substitute_stream *stream, struct substitute *set,
		      enum substitute_place place);

/**
 * substitute_feed() - bytes in; what is sure is at the front of @held
 *
 * All but what may be the beginning of a @from; nothing is kept back when a
 * text ends. Whoever sends them on drops them from @held.
 * @last: nothing follows
 * Return: how many bytes of @held are ready. @held.failed: out of memory.
 */
size_t substitute_feed(struct substitute_stream *stream, struct proxy_text data,
		       bool last);

/** substitute_end() - lets go; the stream is zeroed */
void substitute_end(struct substitute_stream *stream);

#endif
