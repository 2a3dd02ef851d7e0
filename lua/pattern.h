/* SPDX-License-Identifier: Apache-2.0 */
/* Lua patterns (reference manual 6.4.1) with a step budget. Pure. */
#ifndef SRT_LUA_PATTERN_H
#define SRT_LUA_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATTERN_CAPTURES 32

enum pattern_error {
	PATTERN_OK,
	PATTERN_BUDGET,	       /* the steps are spent */
	PATTERN_DEEP,	       /* nested too deeply */
	PATTERN_PERCENT_END,   /* ends with '%' */
	PATTERN_NO_BRACKET,    /* '[' without ']' */
	PATTERN_BALANCE,       /* %b without its two characters */
	PATTERN_FRONTIER,      /* %f without a set */
	PATTERN_BACK_INDEX,    /* %1 of no finished capture */
	PATTERN_CLOSE,	       /* ')' that closes nothing */
	PATTERN_OPEN,	       /* '(' that is never closed */
	PATTERN_MANY,	       /* more than PATTERN_CAPTURES */
	PATTERN_CAPTURE_INDEX, /* a capture that the pattern has not */
};

enum pattern_capture_kind {
	PATTERN_UNFINISHED,
	PATTERN_POSITION, /* "()": @start only */
	PATTERN_TEXT,
};

struct pattern_capture {
	enum pattern_capture_kind kind;
	const char *start;
	size_t size;
};

/**
 * struct pattern - one subject and one pattern; all memory is borrowed
 * @pattern, @pattern_end: without a leading '^'
 * @anchored: whether there was one
 * @subject, @subject_end: any bytes
 * @steps: what is left of the budget; about one for each comparison made
 * @error: why the last call returned -1
 * @count, @capture: of the last match
 * @depth: of the recursion; internal
 */
struct pattern {
	const char *pattern, *pattern_end;
	bool anchored;
	const char *subject, *subject_end;
	uint64_t steps;
	enum pattern_error error;
	int count;
	int depth;
	struct pattern_capture capture[PATTERN_CAPTURES];
};

/**
 * pattern_init - set up @m; the budget is the caller's to set
 * @anchors: whether a leading '^' is an anchor (not in string.gmatch)
 */
void pattern_init(struct pattern *m, const char *pattern, size_t pattern_size,
		  const char *subject, size_t subject_size, bool anchors);

/**
 * pattern_match - match at @at only
 * @end: where 1 is returned, one past the match
 *
 * Return: 1, 0, or -1 with @m->error set.
 */
int pattern_match(struct pattern *m, const char *at, const char **end);

/**
 * pattern_find - the first match at or after @at (only at it when anchored)
 * @start, @end: where 1 is returned, the match
 *
 * Return: 1, 0, or -1 with @m->error set.
 */
int pattern_find(struct pattern *m, const char *at, const char **start,
		 const char **end);

/**
 * pattern_captures - how many values a match gives: its captures, or 1 for
 * the whole match where the pattern has none
 */
int pattern_captures(const struct pattern *m);

/**
 * pattern_capture - the capture with this index, from 0; index 0 of a pattern
 * without captures is the whole match
 *
 * Return: true, or false with @m->error set.
 */
bool pattern_capture(struct pattern *m, int index, const char *start,
		     const char *end, struct pattern_capture *out);

/** pattern_strerror - a message for @m->error; static storage */
const char *pattern_strerror(enum pattern_error error);

#endif
