/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's own seccomp filter. */
#ifndef SRT_GUARD_FILTER_H
#define SRT_GUARD_FILTER_H

#include <stdbool.h>

/**
 * guard_filter_enter() - allow the agent the system calls that it makes
 *
 * Others fail (EPERM).
 * @sockets: those that allowUnixSockets takes as well
 * @watches: those that observing takes as well
 * Context: the agent, with no_new_privs.
 * Return: 0 or -errno.
 */
int guard_filter_enter(bool sockets, bool watches);

#endif
