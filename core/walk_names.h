/* SPDX-License-Identifier: Apache-2.0 */
/* Finds entries of given names, as protected ones are. */
#ifndef SRT_WALK_NAMES_H
#define SRT_WALK_NAMES_H

#include "core/walk.h"

/** struct walk_names - what is looked for, borrowed */
struct walk_names {
	/* Each one component, or several with a slash: ".git/hooks". */
	const char *const *names;
	size_t count;
	/* Directories that are not searched, by name. */
	const char *const *skip;
	size_t skip_count;
	/* How deep the first component of a name may lie; 1: in the root. */
	unsigned int depth;
};

/**
 * walk_names() - find the entries beneath @root that end in one of the names
 *
 * A record's tag is the index of the name. A directory that is not searched
 * is still entered as far as a name that began above goes through it.
 *
 * Return: as walk_tree(), and -EINVAL for an empty name, an empty component,
 * and for more names or depth than anyone needs (65535).
 */
int walk_names(const char *root, const struct walk_names *names,
	       struct walk_limits *limits, struct walk_result *result);

#endif
