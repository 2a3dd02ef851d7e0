/* SPDX-License-Identifier: Apache-2.0 */
/* Reads patterns token by token, and steps over text with one. */
#include "core/glob_token.h"

#include <string.h>

#define BAD_BYTE 0x110000u /* beyond Unicode: a byte that is not UTF-8 */

static bool is_tail(unsigned char c)
{
	return (c & 0xc0) == 0x80;
}

/* Length by the lead byte; 1 where the bytes are not well-formed UTF-8. */
static size_t sequence(const char *s, size_t left)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t size = u[0] >= 0xf0 && u[0] <= 0xf4   ? 4
		      : u[0] >= 0xe0 && u[0] <= 0xef ? 3
		      : u[0] >= 0xc2 && u[0] <= 0xdf ? 2
						     : 1;

	if (size > left)
		return 1;
	for (size_t i = 1; i < size; i++)
		if (!is_tail(u[i]))
			return 1;
	return size;
}

static uint32_t decode(const char *s, size_t left, size_t *size)
{
	static const unsigned char lead[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned char c = (unsigned char)s[0];
	uint32_t code;

	*size = sequence(s, left);
	if (*size == 1)
		return c < 0x80 ? c : BAD_BYTE + c;
	code = c & lead[*size];
	for (size_t i = 1; i < *size; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

/* Bytes of the UTF-16 unit at @i; a sequence of four bytes is two units. */
static size_t unit(const struct glob_front *f, size_t i)
{
	size_t size = sequence(f->text + i, f->size - i);

	if (size == 4)
		return 2;
	if (i >= 2 && sequence(f->text + i - 2, f->size - i + 2) == 4)
		return 2;
	return size;
}

/*
 * One member of a set, or a range of them; false where a range runs
 * backwards. @p moves past it.
 */
static bool set_member(const char **p, const char *end, uint32_t *low,
		       uint32_t *high)
{
	size_t size;

	*low = *high = decode(*p, (size_t)(end - *p), &size);
	*p += size;
	if (end - *p < 2 || **p != '-')
		return true;
	(*p)++;
	*high = decode(*p, (size_t)(end - *p), &size);
	*p += size;
	return *low <= *high;
}

bool glob_set_has(const struct glob_token *token, uint32_t code)
{
	uint32_t low, high;

	for (const char *p = token->set; p < token->set_end;)
		if (set_member(&p, token->set_end, &low, &high) &&
		    low <= code && code <= high)
			return true;
	return false;
}

/* @p stands after '['. Where there is no well-formed set, '[' is text. */
static void take_set(struct glob_token *token, const char **p, const char *end)
{
	const char *close = memchr(*p, ']', (size_t)(end - *p));
	uint32_t low, high;

	if (!close || close == *p)
		return;
	for (const char *q = *p; q < close;)
		if (!set_member(&q, close, &low, &high))
			return;
	token->kind = GLOB_SET;
	token->set = *p;
	token->set_end = close;
	*p = close + 1;
}

/* @p stands after the first star of a run. */
static void take_stars(struct glob_token *token, const char **p,
		       const char *end, bool path)
{
	const char *q = *p;
	size_t run;

	while (q < end && *q == '*')
		q++;
	run = (size_t)(q - *p) + 1;
	token->kind = run == 1 ? GLOB_STAR : GLOB_ANY;
	if (!path) {
		token->kind = GLOB_ANY;
		*p = q;
	} else if (run == 1 || q == end || *q != '/') {
		*p = q;
	} else if (run == 2) {
		token->kind = GLOB_DIRS;
		*p = q + 1;
	} else {
		/* The last two stars and the slash are a token of their own. */
		token->kind = run == 3 ? GLOB_STAR : GLOB_ANY;
		*p = q - 2;
	}
}

struct glob_token glob_take(const char **p, const char *end, bool path)
{
	struct glob_token token = { .kind = GLOB_BYTE, .byte = *(*p)++ };

	if (token.byte == '?')
		token.kind = GLOB_ONE;
	else if (token.byte == '[')
		take_set(&token, p, end);
	else if (token.byte == '*')
		take_stars(&token, p, end, path);
	return token;
}

/* Bytes that @token takes at @i, 0 where it does not match there. */
static size_t width(const struct glob_front *f, const struct glob_token *token,
		    size_t i)
{
	size_t size;

	if (i == f->size)
		return 0;
	switch (token->kind) {
	case GLOB_BYTE:
		return f->text[i] == token->byte;
	case GLOB_ONE:
		return f->path && f->text[i] == '/' ? 0 : unit(f, i);
	default:
		return glob_set_has(token,
				    decode(f->text + i, f->size - i, &size))
			       ? size
			       : 0;
	}
}

/* Backwards, so that a position is read before a shorter one sets it. */
static void step_one(struct glob_front *f, const struct glob_token *token)
{
	size_t first = f->size + 1, last = 0;

	for (size_t i = f->last + 1; i-- > f->first;) {
		size_t size = f->live[i] ? width(f, token, i) : 0;

		f->live[i] = 0;
		if (!size)
			continue;
		f->live[i + size] = 1;
		first = i + size < first ? i + size : first;
		last = i + size > last ? i + size : last;
	}
	f->first = first;
	f->last = last;
}

static void step_many(struct glob_front *f, enum glob_kind kind)
{
	bool on = false;

	for (size_t i = f->first; i <= f->size; i++) {
		bool slash = i > f->first && f->text[i - 1] == '/';

		on = kind == GLOB_STAR	? f->live[i] || (on && !slash)
		     : kind == GLOB_ANY ? on || f->live[i]
					: f->live[i] || slash;
		f->live[i] = on;
		if (on)
			f->last = i;
	}
}

void glob_step(struct glob_front *f, const struct glob_token *token)
{
	if (token->kind >= GLOB_STAR)
		step_many(f, token->kind);
	else
		step_one(f, token);
}
