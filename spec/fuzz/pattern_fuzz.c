/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the pattern matcher: no bad access, matches and captures lie within
 * the subject, the budget holds. Input: pattern, newline, subject.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS = 200000 };

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_span(const struct pattern *m, const char *start,
		       const char *end)
{
	check(start >= m->subject && start <= end && end <= m->subject_end);
}

static void check_match(struct pattern *m, const char *start, const char *end)
{
	struct pattern_capture capture;

	check_span(m, start, end);
	for (int i = 0; i < pattern_captures(m); i++) {
		if (!pattern_capture(m, i, start, end, &capture)) {
			check(m->error == PATTERN_OPEN);
			return;
		}
		if (capture.kind == PATTERN_TEXT)
			check_span(m, capture.start,
				   capture.start + capture.size);
		else
			check_span(m, capture.start, capture.start);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *pattern = (const char *)data, *subject, *start, *end;
	struct pattern m;
	size_t n;
	int found;

	subject = size ? memchr(pattern, '\n', size) : NULL;
	n = subject ? (size_t)(subject - pattern) : size;
	subject = subject ? subject + 1 : pattern + size;
	pattern_init(&m, pattern, n, subject,
		     size - (size_t)(subject - pattern), true);
	m.steps = STEPS;
	found = pattern_find(&m, subject, &start, &end);
	check(m.steps <= STEPS);
	check((found < 0) == (m.error != PATTERN_OK));
	if (found > 0)
		check_match(&m, start, end);
	return 0;
}
