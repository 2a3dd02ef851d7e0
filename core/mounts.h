/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the sandbox's root from a plan's mount steps. */
#ifndef SRT_MOUNTS_H
#define SRT_MOUNTS_H

#include "core/plan.h"
#include "core/util.h"

/**
 * mounts_masks() - make the file system of masks, detached
 *
 * It holds an unreadable empty file and directory and a tree for each
 * scaffold. Masks of a root caller belong to an id that its user namespace does
 * not map, so CAP_DAC_OVERRIDE does not open them; therefore it is called in
 * the host process for root callers, in the child for the others.
 * @out: mount descriptor owned by the caller; -1 where no step needs a mask
 * Return: 0 or -errno, @failure filled.
 */
int mounts_masks(const struct plan *plan, int *out, struct failure *failure);

/**
 * mounts_apply() - build the new root and pivot into it
 *
 * Context: the child, in its own user and mount namespaces with CAP_SYS_ADMIN
 * there, PID 1 of its PID namespace. Sources are opened in the host's tree,
 * without following links, before it is detached.
 * @masks: from mounts_masks(), or -1
 * Return: 0 or -errno, @failure filled; the caller must then end.
 */
int mounts_apply(const struct plan *plan, int masks, struct failure *failure);

#endif
