/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces texts by others of the same length, in heads and flowing bodies. */
#include "proxy/substitute.h"

#include <errno.h>
#include <stdlib.h>

/* @from and @to are one block; @places: where @to may be put. */
struct pair {
	char *from;
	const char *to;
	size_t size;
	unsigned int places;
};

/*
 * Sorted by first byte, and the longer ones first: where one pair begins like
 * another the longer one counts. @first: where those of a byte begin.
 */
struct substitute {
	struct pair *pairs;
	size_t count;
	size_t refs;
	uint16_t first[257];
};

static bool is_control(unsigned char byte)
{
	return (byte < 0x20 && byte != '\t') || byte == 0x7f;
}

static bool is_unreserved(unsigned char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
	       (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
	       byte == '_' || byte == '~';
}

/* Where a text means itself. */
static unsigned int places_of(const char *text, size_t size)
{
	unsigned int places = SUBSTITUTE_HEAD | SUBSTITUTE_FORM |
			      SUBSTITUTE_JSON | SUBSTITUTE_BODY;

	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)text[i];

		if (is_control(byte))
			places &= ~(unsigned int)SUBSTITUTE_HEAD;
		if (byte < 0x20 || byte == '"' || byte == '\\')
			places &= ~(unsigned int)SUBSTITUTE_JSON;
		if (!is_unreserved(byte))
			places &= ~(unsigned int)SUBSTITUTE_FORM;
	}
	return places;
}

struct substitute *substitute_new(void)
{
	struct substitute *set = calloc(1, sizeof(*set));

	if (set)
		set->refs = 1;
	return set;
}

struct substitute *substitute_hold(struct substitute *set)
{
	if (set)
		set->refs++;
	return set;
}

void substitute_release(struct substitute *set)
{
	if (!set || --set->refs)
		return;
	for (size_t i = 0; i < set->count; i++) {
		explicit_bzero(set->pairs[i].from, 2 * set->pairs[i].size);
		free(set->pairs[i].from);
	}
	free(set->pairs);
	free(set);
}

/* Before which of the pairs a new one belongs. */
static size_t place_for(const struct substitute *set, struct proxy_text from)
{
	size_t i = set->first[(unsigned char)*from.data];
	size_t end = set->first[(unsigned char)*from.data + 1];

	while (i < end && set->pairs[i].size >= from.size)
		i++;
	return i;
}

int substitute_add(struct substitute *set, struct proxy_text from,
		   struct proxy_text to)
{
	struct pair *pairs, pair = { .size = from.size };
	size_t at;

	if (from.size != to.size || from.size < SUBSTITUTE_LEAST ||
	    from.size > SUBSTITUTE_MOST)
		return -EINVAL;
	if (set->count == SUBSTITUTE_PAIRS)
		return -E2BIG;
	pairs = realloc(set->pairs, (set->count + 1) * sizeof(*pairs));
	if (!pairs)
		return -ENOMEM;
	set->pairs = pairs;
	pair.from = malloc(2 * from.size);
	if (!pair.from)
		return -ENOMEM;
	memcpy(pair.from, from.data, from.size);
	memcpy(pair.from + from.size, to.data, to.size);
	pair.to = pair.from + from.size;
	pair.places = places_of(to.data, to.size);
	at = place_for(set, from);
	memmove(pairs + at + 1, pairs + at, (set->count - at) * sizeof(*pairs));
	pairs[at] = pair;
	set->count++;
	for (size_t i = (unsigned char)*from.data + 1U; i < 257; i++)
		set->first[i]++;
	return 0;
}

/*
 * The pair that begins at @data, or NULL. @wait: its end may be still to come.
 */
static const struct pair *find(const struct substitute *set, const char *data,
			       size_t size, enum substitute_place place,
			       bool *wait)
{
	size_t end = set->first[(unsigned char)*data + 1];

	*wait = false;
	for (size_t i = set->first[(unsigned char)*data]; i < end; i++) {
		const struct pair *pair = &set->pairs[i];
		size_t have = size < pair->size ? size : pair->size;

		if (!(pair->places & place) ||
		    memcmp(pair->from, data, have) != 0)
			continue;
		if (have == pair->size)
			return pair;
		*wait = true;
	}
	return NULL;
}

/*
 * Replaces in @data. Return: how many bytes are done; unless @last, what may
 * be the beginning of a pair is not.
 */
static size_t scan(const struct substitute *set, char *data, size_t size,
		   enum substitute_place place, bool last, size_t *count)
{
	size_t i = 0;

	while (i < size) {
		unsigned char byte = (unsigned char)data[i];
		const struct pair *pair;
		bool wait;

		if (set->first[byte] == set->first[byte + 1]) {
			i++;
			continue;
		}
		pair = find(set, data + i, size - i, place, &wait);
		if (wait && !last)
			return i;
		if (!pair) {
			i++;
			continue;
		}
		memcpy(data + i, pair->to, pair->size);
		i += pair->size;
		++*count;
	}
	return size;
}

size_t substitute_apply(const struct substitute *set, char *data, size_t size,
			enum substitute_place place)
{
	size_t count = 0;

	(void)scan(set, data, size, place, true, &count);
	return count;
}

static void add_encoded(struct pbuf *out, const struct pair *pair)
{
	for (size_t i = 0; i < pair->size; i++) {
		unsigned char byte = (unsigned char)pair->to[i];

		if (is_unreserved(byte))
			pbuf_add(out, pair->to + i, 1);
		else
			pbuf_format(out, "%%%02X", byte);
	}
}

size_t substitute_target(const struct substitute *set, struct pbuf *out,
			 struct proxy_text target)
{
	size_t count = 0, from = 0, i = 0;

	while (i < target.size) {
		bool wait;
		const struct pair *pair =
			find(set, target.data + i, target.size - i,
			     SUBSTITUTE_BODY, &wait);

		if (!pair) {
			i++;
			continue;
		}
		pbuf_add(out, target.data + from, i - from);
		add_encoded(out, pair);
		i += pair->size;
		from = i;
		count++;
	}
	pbuf_add(out, target.data + from, i - from);
	return count;
}

void substitute_begin(struct substitute_stream *stream, struct substitute *set,
		      enum substitute_place place)
{
	*stream = (struct substitute_stream){ .set = substitute_hold(set),
					      .place = place };
}

size_t substitute_feed(struct substitute_stream *stream, struct proxy_text data,
		       bool last)
{
	struct pbuf *held = &stream->held;
	size_t count = 0;

	pbuf_text_add(held, data);
	if (held->failed || !held->size)
		return 0;
	return scan(stream->set, held->memory + held->start, held->size,
		    stream->place, last, &count);
}

void substitute_end(struct substitute_stream *stream)
{
	substitute_release(stream->set);
	pbuf_free(&stream->held);
	*stream = (struct substitute_stream){ 0 };
}
