/* SPDX-License-Identifier: Apache-2.0 */
/* Expands glob patterns: many in one walk. */
#ifndef SRT_WALK_GLOBS_H
#define SRT_WALK_GLOBS_H

#include "core/walk.h"

/**
 * walk_globs() - find the entries beneath @root that patterns match
 * @patterns: beneath @root, so without a slash in front: with the root "/w",
 *	"*.ts" finds what glob_path() says that "/w/" "*.ts" matches
 * @count: of them, less than 2^32
 *
 * A record's tag is the index of the pattern; an entry that several match has
 * several records. Only directories in which something can still match are
 * entered, and one that can't be read is told for each pattern that could.
 *
 * Return: as walk_tree().
 */
int walk_globs(const char *root, const char *const *patterns, size_t count,
	       struct walk_limits *limits, struct walk_result *result);

#endif
