/* SPDX-License-Identifier: Apache-2.0 */
/* Which ids and capabilities a caller has inside. */
#ifndef SRT_IDENTITY_H
#define SRT_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel takes that many lines of a map: user_namespaces(7). */
#define IDENTITY_EXTENTS 340

/** struct id_extent - one line of a uid_map or gid_map, identity */
struct id_extent {
	uint32_t first;
	uint32_t count;
};

/**
 * struct identity - identity maps of the new user namespace, and what they mean
 * @root_caller: the caller is uid 0 of its namespace and can map many ids:
 *	@caps are kept and masks belong to @mask_owner, which is left out
 * @close_proc: the caller is uid 0, mapped or not: what it could write in /proc
 *	without a capability becomes read-only
 * @caps: bit mask of capabilities that the command keeps
 */
struct identity {
	struct id_extent uids[IDENTITY_EXTENTS];
	struct id_extent gids[IDENTITY_EXTENTS];
	size_t uid_count, gid_count;
	bool root_caller;
	bool close_proc;
	uint32_t mask_owner;
	uint64_t caps;
};

/** IDENTITY_UNREAD - what it means that identity_read() failed */
#define IDENTITY_UNREAD "cannot read the maps of the user namespace in /proc"

/**
 * identity_read() - ask the kernel who the calling process is
 *
 * In C since the namespaces are built before there is a Lua state: waiting for
 * that took longer than building them.
 * Return: 0 or -errno, when /proc can't be read.
 */
int identity_read(struct identity *out);

/**
 * identity_bare() - the same, for a sandbox without a user namespace
 *
 * There what a capability opens is the host's. CAP_DAC_OVERRIDE is kept where
 * the caller has it, since Landlock bounds what is opened with it.
 */
int identity_bare(struct identity *out);

/**
 * identity_act() - act with these capabilities, of those that the process may
 * have at all: what a command is answered shows to whoever has no more
 * @before: may be NULL; filled with those that were in effect
 * Return: 0 or -errno.
 */
int identity_act(uint64_t caps, uint64_t *before);

/** identity_alone() - the caller's own ids are all there are, nothing is kept
 */
void identity_alone(struct identity *id);

#endif
