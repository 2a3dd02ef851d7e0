/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files that build the sandbox's root. */
#ifndef SRT_MOUNTS_PRIVATE_H
#define SRT_MOUNTS_PRIVATE_H

#include <linux/mount.h>

#include "core/mounts.h"

#define MOUNTS_SAFE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define AT_RECURSIVE_ 0x8000 /* fcntl.h has it from glibc 2.37 */
/* Among the masks: the folder of a plan's own files. */
#define MOUNTS_FILES "files"

/**
 * mounts_filesystem() - a detached mount of a new file system
 * @options: NULL-terminated pairs, or NULL
 * Return: mount descriptor owned by the caller, or -errno.
 */
int mounts_filesystem(const char *type, unsigned int attributes,
		      const char *const *options);

/**
 * mounts_own_files() - make the folder MOUNTS_FILES with a plan's own files
 * @at: where to make it
 * Context: with a umask of 0.
 * Return: 0 or -errno.
 */
int mounts_own_files(int at, const struct plan *plan);

/** mounts_private() - what the host mounts from here on does not show inside */
int mounts_private(void);

/**
 * mounts_close_proc() - close what uid 0 could write in /proc
 * @proc: borrowed; the root of that mount
 * @root: borrowed; that of a tree whose /proc may know the same files, or -1
 */
int mounts_close_proc(int proc, int root);

#endif
