/* SPDX-License-Identifier: Apache-2.0 */
/* Glob matching by sets of positions, so no pattern is exponential. */
#include "core/glob.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define STACK_TEXT 1024	   /* longer texts take their set from the heap */
#define BAD_BYTE 0x110000u /* beyond Unicode: a byte that is not UTF-8 */

enum token_kind {
	TOKEN_BYTE,
	TOKEN_ONE,  /* ? */
	TOKEN_SET,  /* [abc] */
	TOKEN_STAR, /* any bytes but '/' */
	TOKEN_ANY,  /* any bytes */
	TOKEN_DIRS, /* nothing, or any bytes up to and with a '/' */
};

struct token {
	enum token_kind kind;
	char byte;
	const char *set, *set_end;
};

/*
 * The positions of @text that the pattern so far can end at: live[i] is 1
 * where it can, and only indexes from first to last may be 1.
 */
struct front {
	const char *text;
	size_t size;
	bool path;
	unsigned char *live;
	size_t first, last;
};

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[';
}

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
static size_t unit(const struct front *f, size_t i)
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

static bool set_has(const struct token *token, uint32_t code)
{
	uint32_t low, high;

	for (const char *p = token->set; p < token->set_end;)
		if (set_member(&p, token->set_end, &low, &high) &&
		    low <= code && code <= high)
			return true;
	return false;
}

/* @p stands after '['. Where there is no well-formed set, '[' is text. */
static void take_set(struct token *token, const char **p, const char *end)
{
	const char *close = memchr(*p, ']', (size_t)(end - *p));
	uint32_t low, high;

	if (!close || close == *p)
		return;
	for (const char *q = *p; q < close;)
		if (!set_member(&q, close, &low, &high))
			return;
	token->kind = TOKEN_SET;
	token->set = *p;
	token->set_end = close;
	*p = close + 1;
}

/* @p stands after the first star of a run. */
static void take_stars(struct token *token, const char **p, const char *end,
		       bool path)
{
	const char *q = *p;
	size_t run;

	while (q < end && *q == '*')
		q++;
	run = (size_t)(q - *p) + 1;
	token->kind = run == 1 ? TOKEN_STAR : TOKEN_ANY;
	if (!path) {
		token->kind = TOKEN_ANY;
		*p = q;
	} else if (run == 1 || q == end || *q != '/') {
		*p = q;
	} else if (run == 2) {
		token->kind = TOKEN_DIRS;
		*p = q + 1;
	} else {
		/* The last two stars and the slash are a token of their own. */
		token->kind = run == 3 ? TOKEN_STAR : TOKEN_ANY;
		*p = q - 2;
	}
}

static struct token take(const char **p, const char *end, bool path)
{
	struct token token = { .kind = TOKEN_BYTE, .byte = *(*p)++ };

	if (token.byte == '?')
		token.kind = TOKEN_ONE;
	else if (token.byte == '[')
		take_set(&token, p, end);
	else if (token.byte == '*')
		take_stars(&token, p, end, path);
	return token;
}

/* Bytes that @token takes at @i, 0 where it does not match there. */
static size_t width(const struct front *f, const struct token *token, size_t i)
{
	size_t size;

	if (i == f->size)
		return 0;
	switch (token->kind) {
	case TOKEN_BYTE:
		return f->text[i] == token->byte;
	case TOKEN_ONE:
		return f->path && f->text[i] == '/' ? 0 : unit(f, i);
	default:
		return set_has(token, decode(f->text + i, f->size - i, &size))
			       ? size
			       : 0;
	}
}

/* Backwards, so that a position is read before a shorter one sets it. */
static void step_one(struct front *f, const struct token *token)
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

static void step_many(struct front *f, enum token_kind kind)
{
	bool on = false;

	for (size_t i = f->first; i <= f->size; i++) {
		bool slash = i > f->first && f->text[i - 1] == '/';

		on = kind == TOKEN_STAR	 ? f->live[i] || (on && !slash)
		     : kind == TOKEN_ANY ? on || f->live[i]
					 : f->live[i] || slash;
		f->live[i] = on;
		if (on)
			f->last = i;
	}
}

static int accepts(const struct front *f, bool beneath)
{
	if (f->last == f->size)
		return f->live[f->size];
	if (!beneath)
		return 0;
	for (size_t i = f->first; i <= f->last; i++)
		if (f->live[i] && i &&
		    (f->text[i] == '/' || (i == 1 && f->text[0] == '/')))
			return 1;
	return 0;
}

/* Most patterns differ early, so literal text needs no set at all. */
static const char *skip_equal(struct front *f, const char *p, const char *end)
{
	size_t i = 0;

	while (p < end && i < f->size && *p == f->text[i] && !is_special(*p)) {
		p++;
		i++;
	}
	f->first = f->last = i;
	return p;
}

static int walk(struct front *f, const char *p, const char *end, bool beneath)
{
	f->live[f->first] = 1;
	while (p < end) {
		struct token token = take(&p, end, f->path);

		if (token.kind >= TOKEN_STAR)
			step_many(f, token.kind);
		else
			step_one(f, &token);
		if (f->first > f->last)
			return 0;
	}
	return accepts(f, beneath);
}

static int match(struct front *f, const char *pattern, size_t pattern_size,
		 bool beneath)
{
	const char *end = pattern + pattern_size;
	const char *p = skip_equal(f, pattern, end);
	unsigned char stack[STACK_TEXT], *heap = NULL;
	int found;

	if (p < end && !is_special(*p))
		return 0;
	if (f->size >= STACK_TEXT) {
		heap = calloc(f->size + 1, 1);
		if (!heap)
			return -ENOMEM;
	} else {
		memset(stack, 0, f->size + 1);
	}
	f->live = heap ? heap : stack;
	found = walk(f, p, end, beneath);
	free(heap);
	return found;
}

int glob_path(const char *pattern, size_t pattern_size, const char *path,
	      size_t path_size, bool beneath)
{
	struct front f = { .text = path, .size = path_size, .path = true };

	return match(&f, pattern, pattern_size, beneath);
}

int glob_string(const char *pattern, size_t pattern_size, const char *text,
		size_t text_size)
{
	struct front f = { .text = text, .size = text_size };

	return match(&f, pattern, pattern_size, false);
}
