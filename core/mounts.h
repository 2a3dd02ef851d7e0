/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the sandbox's root from a plan's mount steps. */
#ifndef SRT_MOUNTS_H
#define SRT_MOUNTS_H

#include "core/plan.h"
#include "core/util.h"

/**
 * mounts_masks_begin() - make the file system of masks, detached
 *
 * It holds an unreadable empty file and directory so far, what nearly every
 * plan needs. Masks of a root caller belong to an id that its user namespace
 * does not map, so CAP_DAC_OVERRIDE does not open them; therefore it is called
 * in the janitor for root callers, in the child for the others.
 * @plan: of it, only the identity is read
 * @out: mount descriptor owned by the caller
 * Return: 0 or -errno, @failure filled.
 */
int mounts_masks_begin(const struct plan *plan, int *out,
		       struct failure *failure);

/** mounts_masks_needed() - does a step take one of them, or a file of ours? */
bool mounts_masks_needed(const struct plan *plan);

/**
 * mounts_masks_owned() - is what mounts_masks() makes to belong to others than
 * the caller? Then the janitor makes it.
 */
bool mounts_masks_owned(const struct plan *plan);

/**
 * mounts_masks() - add a tree for each scaffold, and the plan's own files
 * @masks: of mounts_masks_begin()
 * Return: 0 or -errno, @failure filled.
 */
int mounts_masks(const struct plan *plan, int masks, struct failure *failure);

/**
 * mounts_fill_first(), mounts_fill() - make what they hold in a folder
 * Context: umask 0.
 * @dir: borrowed; at first an empty folder of the caller
 * Return: 0 or -errno.
 */
int mounts_fill_first(int dir, const struct plan *plan);
int mounts_fill(int dir, const struct plan *plan);

#define MOUNTS_COVER_SIZE 32

/**
 * mounts_cover() - the name, among the masks, of what a step that is no bind
 * puts over its target
 * @directory: what the target is now; it may have become another than the
 *	plan's, and is closed then
 */
void mounts_cover(const struct plan *plan, size_t index, bool directory,
		  char out[MOUNTS_COVER_SIZE]);

/**
 * mounts_covered() - is that the file which a step's target shows?
 * @masks: where the masks are
 * @at: what the target of the step, which is no bind, leads to now
 */
bool mounts_covered(const struct plan *plan, size_t index, int masks, int at);

/**
 * struct mounts - a root that is being built; the descriptors are its own
 *
 * Context of all that takes one: the child, in its own user and mount
 * namespaces with CAP_SYS_ADMIN there, PID 1 of its PID namespace. They return
 * 0 or -errno with @failure filled; the caller must then end.
 */
struct mounts {
	int old_root;
	int new_root;
	int masks; /* after mounts_apply(): where remount.h finds them, or -1 */
	uint64_t still; /* of mounts within mounts_apply(): follow no link */
};

/**
 * mounts_begin() - clone the host's tree, read-only, over "/"
 *
 * What nearly every plan begins with, so that it need not wait for the plan.
 */
int mounts_begin(struct mounts *mounts, struct failure *failure);

/**
 * mounts_view() - a detached clone of the host's tree, read-only and nodev
 *
 * What is opened by it can't be opened again for writing, whoever has it.
 * Return: descriptor owned by the caller, or -errno.
 */
int mounts_view(const struct mounts *mounts);

/**
 * mounts_own() - mount the sandbox's own /proc and /dev in the new root
 * @plan: of it, only @close_proc is read
 * Context: the maps of the user namespace are written.
 */
int mounts_own(struct mounts *mounts, const struct plan *plan,
	       struct failure *failure);

/**
 * mounts_apply() - do the plan's steps, but the temporary directory's, and
 * pivot into the new root
 *
 * A plan whose root is not the host's tree, read-only, gets it built anew.
 * Sources are opened in the host's tree, without following links; no path leads
 * there any more afterwards, and mounts_finish() and mounts_detach() are owed.
 * @masks: from mounts_masks(), or -1
 */
int mounts_apply(struct mounts *mounts, const struct plan *plan, int masks,
		 struct failure *failure);

/**
 * mounts_finish() - do the step of the temporary directory, which is there now;
 * of @mounts, @masks is left to the caller
 *
 * The last one to be done, since it holds no other.
 */
int mounts_finish(struct mounts *mounts, const struct plan *plan,
		  struct failure *failure);

/**
 * mounts_detach() - take the host's tree away
 *
 * Takes a grace period of the kernel's, so others may work meanwhile.
 * Context: PID 1, once, after mounts_finish().
 * Return: 0 or -errno.
 */
int mounts_detach(void);

/**
 * mounts_clear() - have what the janitor removes be no mount points
 *
 * The end of a directory that something is mounted on, in whatever namespace,
 * takes a grace period of the kernel's: 0.1 ms and more for each.
 * Context: PID 1 in the new root, when nothing else lives inside. What can't be
 * moved away stays.
 */
void mounts_clear(const struct plan *plan);

#endif
