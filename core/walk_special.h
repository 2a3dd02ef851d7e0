/* SPDX-License-Identifier: Apache-2.0 */
/* Finds FIFOs and sockets, which no mount keeps from being written. */
#ifndef SRT_WALK_SPECIAL_H
#define SRT_WALK_SPECIAL_H

#include "core/walk.h"

/**
 * walk_special() - find the FIFOs and sockets beneath @root
 * Return: as walk_tree().
 */
int walk_special(const char *root, struct walk_limits *limits,
		 struct walk_result *result);

#endif
