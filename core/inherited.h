/* SPDX-License-Identifier: Apache-2.0 */
/* Standard descriptors, opened anew by the sandbox's own mounts. */
#ifndef SRT_INHERITED_H
#define SRT_INHERITED_H

#include "core/janitor.h"

/**
 * inherited_note() - note by what names descriptors 0 to 2 are to be reopened
 *
 * A file that is only read, and the memory devices (null, zero, full, random,
 * urandom): through the host's mount behind such a descriptor the command could
 * change mode, times and attributes, of the caller's file or of the host's
 * /dev/null, and no layer looks at that. A deleted file has no name and stays.
 * Context: host process, before it forks the janitor.
 * @shared: @shared->inherited is filled
 */
void inherited_note(struct shared *shared);

/**
 * inherited_reopen() - put what these names lead to inside in their place
 *
 * It must be the very same file, at the same position. The position is no
 * longer shared with the caller.
 * Context: PID 1, in the new root.
 * Return: 0, or -errno with @failure set: the file can't be reached inside.
 */
int inherited_reopen(const struct shared *shared, struct failure *failure);

#endif
