/* SPDX-License-Identifier: Apache-2.0 */
/* The one glob matcher: paths of the policy's lists, and srt.match. Pure. */
#ifndef SRT_GLOB_H
#define SRT_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/**
 * glob_path - does @pattern match @path?
 * @pattern: an absolute pattern. A star matches within one component, two
 *	stars any bytes; two stars and a slash match zero or more whole
 *	components; '?' one UTF-16 unit as in srt's JSON settings (so an
 *	emoji counts as two), never '/'; "[...]" one character of a set with
 *	ranges. There is no negation, no escape and no brace: '!', '^', '\\'
 *	and '{' are themselves. An empty, unclosed or backward set is literal
 *	text. Case matters; dot files are like any other.
 * @pattern_size: bytes at @pattern
 * @path: an absolute path; any bytes
 * @path_size: bytes at @path
 * @beneath: also true when a directory above @path matches (a denied
 *	directory covers all beneath it)
 *
 * Time and memory are O(pattern * path) and O(path) whatever the pattern.
 * Rules by example: spec/unit/globs.tsv.
 *
 * Return: 1, 0, or -ENOMEM.
 */
int glob_path(const char *pattern, size_t pattern_size, const char *path,
	      size_t path_size, bool beneath);

/**
 * glob_string - does @pattern match all of @text?
 *
 * As glob_path(), but '/' is an ordinary character and any run of stars
 * matches any bytes.
 *
 * Return: 1, 0, or -ENOMEM.
 */
int glob_string(const char *pattern, size_t pattern_size, const char *text,
		size_t text_size);

/**
 * glob_fixed - bytes at the beginning of a path's pattern that are plain text;
 * all of them where it is no pattern
 */
size_t glob_fixed(const char *pattern, size_t pattern_size);

#endif
