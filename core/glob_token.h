/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What patterns are made of, for those that match: core/glob.c a whole path,
 * core/walk_globs.c a tree. Pure.
 */
#ifndef SRT_GLOB_TOKEN_H
#define SRT_GLOB_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum glob_kind {
	GLOB_BYTE,
	GLOB_ONE,  /* ? */
	GLOB_SET,  /* [abc] */
	GLOB_STAR, /* any bytes but '/' */
	GLOB_ANY,  /* any bytes */
	GLOB_DIRS, /* nothing, or any bytes up to and with a '/' */
};

struct glob_token {
	enum glob_kind kind;
	char byte;
	const char *set, *set_end;
};

/*
 * The positions of @text that the pattern so far can end at: live[i] is 1
 * where it can, and only indexes from first to last may be 1.
 */
struct glob_front {
	const char *text;
	size_t size;
	bool path;
	unsigned char *live;
	size_t first, last;
};

/**
 * glob_take() - the next token of a pattern
 * @p: not at @end; moves past it
 * @path: '/' is no ordinary character
 */
struct glob_token glob_take(const char **p, const char *end, bool path);

/** glob_set_has() - is a character in the set of a GLOB_SET? */
bool glob_set_has(const struct glob_token *token, uint32_t code);

/**
 * glob_step() - the positions after one more token
 *
 * Where none is left, first is beyond last.
 */
void glob_step(struct glob_front *f, const struct glob_token *token);

#endif
