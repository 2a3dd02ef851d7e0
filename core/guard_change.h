/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the calls that change what is known of a file, with an area. */
#ifndef SRT_GUARD_CHANGE_H
#define SRT_GUARD_CHANGE_H

#include "core/guard.h"

/** guard_changes() - is it a call on modes, owners, times or attributes? */
bool guard_changes(int number);

/**
 * guard_change() - carry out or refuse the call in @guard->notify
 *
 * Landlock knows nothing of these, so none is ever continued. All arguments are
 * copied once; the file is held by a descriptor, its real path asked of the
 * kernel, judged, and the change made by that descriptor. A call by descriptor
 * counts as one on the file that it leads to.
 * Context: the agent, with the caller's root and ids; @guard->area is there.
 * Return: 0 or -errno, -EACCES for what is not of the area, or GUARD_ANSWERED.
 */
int guard_change(struct guard *guard);

#endif
