/* SPDX-License-Identifier: Apache-2.0 */
/* Which Unix sockets of the host may be connected to: the plan's table. Pure.
 */
#ifndef SRT_SOCKET_RULES_H
#define SRT_SOCKET_RULES_H

#include <stddef.h>

#include "core/plan.h"

/** struct socket_rule - the rule that was found, by its place in its list */
struct socket_rule {
	enum { SOCKET_NONE, SOCKET_PATH, SOCKET_GLOB } kind;
	size_t index;
};

/**
 * socket_rules_find() - the rule by which @path may be connected to
 *
 * It says what the policy names. That nobody inside could have put another
 * socket at that path is for who asks to see to.
 * @path: absolute and real
 */
struct socket_rule socket_rules_find(const struct socket_table *table,
				     const char *path);

#endif
