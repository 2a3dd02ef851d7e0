/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lua patterns, written from the reference manual: the library's own matcher
 * has no budget, so "(.-)(.-)(.-)b" on hostile input would hang in C where no
 * hook runs. Every comparison here takes a step from the caller's budget.
 */
#include "lua/pattern.h"

#include <ctype.h>
#include <string.h>

#define MAX_DEPTH 200 /* as the library's; bounds the C stack */

static const char *match_here(struct pattern *m, const char *s, const char *p);

static const char *fail(struct pattern *m, enum pattern_error error)
{
	m->error = error;
	return NULL;
}

static bool spend(struct pattern *m, size_t steps)
{
	if (m->steps < steps) {
		m->steps = 0;
		m->error = PATTERN_BUDGET;
		return false;
	}
	m->steps -= steps;
	return true;
}

/* Does the class named by @letter ("%a") hold @c? */
static bool class_has(unsigned char letter, unsigned char c)
{
	bool has;

	switch (tolower(letter)) {
	case 'a':
		has = isalpha(c);
		break;
	case 'c':
		has = iscntrl(c);
		break;
	case 'd':
		has = isdigit(c);
		break;
	case 'g':
		has = isgraph(c);
		break;
	case 'l':
		has = islower(c);
		break;
	case 'p':
		has = ispunct(c);
		break;
	case 's':
		has = isspace(c);
		break;
	case 'u':
		has = isupper(c);
		break;
	case 'w':
		has = isalnum(c);
		break;
	case 'x':
		has = isxdigit(c);
		break;
	case 'z': /* undocumented since 5.2, still understood */
		has = c == 0;
		break;
	default:
		return letter == c;
	}
	return isupper(letter) ? !has : has;
}

/* @p at '[', @close at its ']'. */
static bool set_has(const char *p, const char *close, unsigned char c)
{
	bool wanted = true;

	if (*++p == '^') {
		wanted = false;
		p++;
	}
	while (p < close) {
		if (*p == '%') {
			if (class_has((unsigned char)p[1], c))
				return wanted;
			p += 2;
		} else if (p + 2 < close && p[1] == '-') {
			if ((unsigned char)p[0] <= c &&
			    c <= (unsigned char)p[2])
				return wanted;
			p += 3;
		} else {
			if ((unsigned char)*p == c)
				return wanted;
			p++;
		}
	}
	return !wanted;
}

/* @p at '['; one past the ']' that ends the set. Its first byte never does. */
static const char *set_end(struct pattern *m, const char *p)
{
	p++;
	if (p < m->pattern_end && *p == '^')
		p++;
	for (bool first = true; p < m->pattern_end; first = false) {
		if (*p == ']' && !first)
			return p + 1;
		p += *p == '%' && p + 1 < m->pattern_end ? 2 : 1;
	}
	return fail(m, PATTERN_NO_BRACKET);
}

/* One past the single-character class at @p. */
static const char *class_end(struct pattern *m, const char *p)
{
	const char *end;

	if (*p == '%') {
		if (p + 1 == m->pattern_end)
			return fail(m, PATTERN_PERCENT_END);
		return p + 2;
	}
	if (*p != '[')
		return p + 1;
	end = set_end(m, p);
	if (end && !spend(m, (size_t)(end - p)))
		return NULL;
	return end;
}

/* Does the class from @p to @end match the character at @s? */
static bool single(struct pattern *m, const char *s, const char *p,
		   const char *end)
{
	unsigned char c;

	if (s == m->subject_end || !spend(m, (size_t)(end - p)))
		return false;
	c = (unsigned char)*s;
	switch (*p) {
	case '.':
		return true;
	case '%':
		return class_has((unsigned char)p[1], c);
	case '[':
		return set_has(p, end - 1, c);
	default:
		return (unsigned char)*p == c;
	}
}

/* As many as there are, then fewer until the rest matches. */
static const char *repeat_most(struct pattern *m, const char *s, const char *p,
			       const char *end)
{
	const char *least = s, *found;

	while (single(m, s, p, end))
		s++;
	for (; !m->error; s--) {
		found = match_here(m, s, end + 1);
		if (found || s == least)
			return found;
	}
	return NULL;
}

/* None, then more until the rest matches. */
static const char *repeat_least(struct pattern *m, const char *s, const char *p,
				const char *end)
{
	const char *found;

	for (; !m->error; s++) {
		found = match_here(m, s, end + 1);
		if (found || m->error || !single(m, s, p, end))
			return found;
	}
	return NULL;
}

static const char *open_capture(struct pattern *m, const char *s, const char *p)
{
	bool position = p + 1 < m->pattern_end && p[1] == ')';
	const char *found;

	if (m->count == PATTERN_CAPTURES)
		return fail(m, PATTERN_MANY);
	m->capture[m->count++] = (struct pattern_capture){
		.kind = position ? PATTERN_POSITION : PATTERN_UNFINISHED,
		.start = s,
	};
	found = match_here(m, s, position ? p + 2 : p + 1);
	if (!found)
		m->count--;
	return found;
}

static const char *close_capture(struct pattern *m, const char *s,
				 const char *p)
{
	struct pattern_capture *capture;
	int i = m->count;
	const char *found;

	do {
		if (i-- == 0)
			return fail(m, PATTERN_CLOSE);
		capture = &m->capture[i];
	} while (capture->kind != PATTERN_UNFINISHED);
	capture->kind = PATTERN_TEXT;
	capture->size = (size_t)(s - capture->start);
	found = match_here(m, s, p + 1);
	if (!found)
		capture->kind = PATTERN_UNFINISHED;
	return found;
}

/* %bxy; @p at the 'x'. */
static const char *balanced(struct pattern *m, const char *s, const char *p)
{
	size_t open = 1;

	if (m->pattern_end - p < 2)
		return fail(m, PATTERN_BALANCE);
	if (s == m->subject_end || *s != p[0])
		return NULL;
	while (++s < m->subject_end) {
		if (!spend(m, 1))
			return NULL;
		if (*s == p[1]) {
			if (--open == 0)
				return s + 1;
		} else if (*s == p[0]) {
			open++;
		}
	}
	return NULL;
}

/* %f[set]; @p at the '['. The end counts as '\0', and so does the start. */
static const char *frontier(struct pattern *m, const char *s, const char *p,
			    const char **next)
{
	unsigned char before, after;

	if (p == m->pattern_end || *p != '[')
		return fail(m, PATTERN_FRONTIER);
	*next = class_end(m, p);
	if (!*next || !spend(m, (size_t)(*next - p)))
		return NULL;
	before = s == m->subject ? 0 : (unsigned char)s[-1];
	after = s == m->subject_end ? 0 : (unsigned char)*s;
	if (set_has(p, *next - 1, before) || !set_has(p, *next - 1, after))
		return NULL;
	return s;
}

/* %1 to %9 */
static const char *back_reference(struct pattern *m, const char *s, char digit)
{
	int i = digit - '1';
	const struct pattern_capture *capture;

	if (i < 0 || i >= m->count || m->capture[i].kind == PATTERN_UNFINISHED)
		return fail(m, PATTERN_BACK_INDEX);
	capture = &m->capture[i];
	if (capture->kind == PATTERN_POSITION ||
	    (size_t)(m->subject_end - s) < capture->size ||
	    !spend(m, capture->size / 8) ||
	    memcmp(s, capture->start, capture->size) != 0)
		return NULL;
	return s + capture->size;
}

/*
 * The items that start with '%' and are no single character: where @p is at
 * one, true, with *@s moved (NULL: no match) and *@p at the next item.
 */
static bool escape_item(struct pattern *m, const char **s, const char **p)
{
	const char *item = *p;
	char kind = *item == '%' && item + 1 < m->pattern_end ? item[1] : 0;

	if (kind == 'b') {
		*s = balanced(m, *s, item + 2);
		*p = item + 4;
	} else if (kind == 'f') {
		*s = frontier(m, *s, item + 2, p);
	} else if (kind >= '0' && kind <= '9') {
		*s = back_reference(m, *s, kind);
		*p = item + 2;
	} else {
		return false;
	}
	return true;
}

/*
 * A single-character class with what may follow it. True where the rest is
 * to be matched by the caller's loop, from *@s and *@p; else the answer is
 * in *@s.
 */
static bool class_item(struct pattern *m, const char **s, const char **p)
{
	const char *at = *s, *item = *p, *end = class_end(m, item);
	char suffix = end && end < m->pattern_end ? *end : 0;
	bool is;

	*s = NULL;
	if (!end)
		return false;
	if (suffix == '-') {
		*s = repeat_least(m, at, item, end);
		return false;
	}
	if (suffix == '*') {
		*s = repeat_most(m, at, item, end);
		return false;
	}
	is = single(m, at, item, end);
	if (suffix == '+') {
		*s = is ? repeat_most(m, at + 1, item, end) : NULL;
		return false;
	}
	if (suffix == '?') {
		*s = is ? match_here(m, at + 1, end + 1) : NULL;
		if (*s || m->error)
			return false;
		*s = at;
		*p = end + 1;
		return true;
	}
	*s = is ? at + 1 : NULL;
	*p = end;
	return is;
}

static const char *match_items(struct pattern *m, const char *s, const char *p)
{
	while (p < m->pattern_end) {
		if (!spend(m, 1))
			return NULL;
		if (*p == '(')
			return open_capture(m, s, p);
		if (*p == ')')
			return close_capture(m, s, p);
		if (*p == '$' && p + 1 == m->pattern_end)
			return s == m->subject_end ? s : NULL;
		if (escape_item(m, &s, &p)) {
			if (!s)
				return NULL;
		} else if (!class_item(m, &s, &p)) {
			return s;
		}
	}
	return s;
}

/* One past the match of the rest of the pattern at @s, or NULL. */
static const char *match_here(struct pattern *m, const char *s, const char *p)
{
	const char *found;

	if (m->depth == MAX_DEPTH)
		return fail(m, PATTERN_DEEP);
	m->depth++;
	found = match_items(m, s, p);
	m->depth--;
	return m->error ? NULL : found;
}

void pattern_init(struct pattern *m, const char *pattern, size_t pattern_size,
		  const char *subject, size_t subject_size, bool anchors)
{
	m->anchored = anchors && pattern_size && *pattern == '^';
	m->pattern = pattern + m->anchored;
	m->pattern_end = pattern + pattern_size;
	m->subject = subject;
	m->subject_end = subject + subject_size;
	m->steps = 0;
	m->error = PATTERN_OK;
	m->count = 0;
	m->depth = 0;
}

int pattern_match(struct pattern *m, const char *at, const char **end)
{
	m->count = 0;
	m->depth = 0;
	if (!spend(m, 1))
		return -1;
	*end = match_here(m, at, m->pattern);
	if (m->error)
		return -1;
	return *end != NULL;
}

int pattern_find(struct pattern *m, const char *at, const char **start,
		 const char **end)
{
	int found;

	do {
		*start = at;
		found = pattern_match(m, at, end);
	} while (!found && !m->anchored && at++ < m->subject_end);
	return found;
}

int pattern_captures(const struct pattern *m)
{
	return m->count ? m->count : 1;
}

bool pattern_capture(struct pattern *m, int index, const char *start,
		     const char *end, struct pattern_capture *out)
{
	if (index < m->count) {
		*out = m->capture[index];
		if (out->kind != PATTERN_UNFINISHED)
			return true;
		m->error = PATTERN_OPEN;
		return false;
	}
	*out = (struct pattern_capture){
		.kind = PATTERN_TEXT,
		.start = start,
		.size = (size_t)(end - start),
	};
	if (index == 0)
		return true;
	m->error = PATTERN_CAPTURE_INDEX;
	return false;
}

const char *pattern_strerror(enum pattern_error error)
{
	static const char *const text[] = {
		[PATTERN_OK] = "no error",
		[PATTERN_BUDGET] = "instruction budget spent",
		[PATTERN_DEEP] = "pattern too complex",
		[PATTERN_PERCENT_END] = "malformed pattern (ends with '%')",
		[PATTERN_NO_BRACKET] = "malformed pattern (missing ']')",
		[PATTERN_BALANCE] =
			"malformed pattern (missing arguments to '%b')",
		[PATTERN_FRONTIER] = "missing '[' after '%f' in pattern",
		[PATTERN_BACK_INDEX] = "invalid capture index in pattern",
		[PATTERN_CLOSE] = "invalid pattern capture",
		[PATTERN_OPEN] = "unfinished capture",
		[PATTERN_MANY] = "too many captures",
		[PATTERN_CAPTURE_INDEX] = "invalid capture index",
	};

	return text[error];
}
