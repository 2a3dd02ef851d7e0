/* SPDX-License-Identifier: Apache-2.0 */
/* Glob matching by sets of positions, so no pattern is exponential. */
#include "core/glob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/glob_token.h"

#define STACK_TEXT 1024 /* longer texts take their set from the heap */

static bool is_special(char c)
{
	return c == '*' || c == '?' || c == '[';
}

static int accepts(const struct glob_front *f, bool beneath)
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
static const char *skip_equal(struct glob_front *f, const char *p,
			      const char *end)
{
	size_t i = 0;

	while (p < end && i < f->size && *p == f->text[i] && !is_special(*p)) {
		p++;
		i++;
	}
	f->first = f->last = i;
	return p;
}

static int walk(struct glob_front *f, const char *p, const char *end,
		bool beneath)
{
	f->live[f->first] = 1;
	while (p < end) {
		struct glob_token token = glob_take(&p, end, f->path);

		glob_step(f, &token);
		if (f->first > f->last)
			return 0;
	}
	return accepts(f, beneath);
}

static int match(struct glob_front *f, const char *pattern, size_t pattern_size,
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
	struct glob_front f = { .text = path, .size = path_size, .path = true };

	return match(&f, pattern, pattern_size, beneath);
}

int glob_string(const char *pattern, size_t pattern_size, const char *text,
		size_t text_size)
{
	struct glob_front f = { .text = text, .size = text_size };

	return match(&f, pattern, pattern_size, false);
}

size_t glob_fixed(const char *pattern, size_t pattern_size)
{
	const char *end = pattern + pattern_size;

	for (const char *p = pattern, *next = p; p < end; p = next)
		if (glob_take(&next, end, true).kind != GLOB_BYTE)
			return (size_t)(p - pattern);
	return pattern_size;
}
