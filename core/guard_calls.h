/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the notified calls that make a name. */
#ifndef SRT_GUARD_CALLS_H
#define SRT_GUARD_CALLS_H

#include "core/guard.h"

/** guard_serves() - is it one of the calls that the guard carries out? */
bool guard_serves(const struct guard *guard, const struct seccomp_data *data);

/**
 * guard_serve() - carry out or refuse the call in @guard->notify, and answer it
 *
 * All arguments are copied once. Only one call is carried out at a time, and
 * nobody else inside can make or move a name: what was judged stays true until
 * it is done.
 * Context: the agent, with the caller's mounts, root, ids and Landlock layers.
 */
void guard_serve(struct guard *guard);

/**
 * guard_refuse() - what may not be made: the host process is told, unless it is
 * there, its folder can't be searched, or it is to be a folder by its slash
 * alone
 * @folder: it would be one
 * Return: -EROFS, -EEXIST, -EACCES or -ENOENT.
 */
int guard_refuse(struct guard *guard, const struct guard_place *place,
		 bool folder);

/**
 * guard_leave() - let the kernel carry the call out
 *
 * Only with an area: the caller's Landlock layer lets nothing of it be made, so
 * it does not matter what the arguments are by then.
 * Return: GUARD_ANSWERED.
 */
int guard_leave(struct guard *guard);

/** guard_tell() - of what is likely denied; only with an area */
void guard_tell(struct guard *guard, enum watch_action action,
		const char *real);

/** guard_pass() - guard_tell(), and guard_leave() */
int guard_pass(struct guard *guard, enum watch_action action, const char *real);

/** guard_may() - is a place one that the agent may touch? */
bool guard_may(const struct guard *guard, const struct guard_place *place);

/**
 * guard_may_list() - is a place a folder that may be listed?
 * @flags: as it is to be opened
 * @st: what is there
 */
bool guard_may_list(const struct guard *guard, const struct guard_place *place,
		    int flags, const struct stat *st);

/**
 * guard_open() - open(2) with O_CREAT; with an area, any that is notified
 * @place: found; taken over
 * @flags: as the caller gave them
 * Return: -errno, or GUARD_ANSWERED.
 */
int guard_open(struct guard *guard, struct guard_place *place, int flags,
	       mode_t mode);

/**
 * guard_reopen() - open(2) by a magic link, with an area
 * @place: found; what it leads to is what is open already
 */
int guard_reopen(struct guard *guard, const struct guard_place *place,
		 int flags);

/**
 * guard_unnamed() - open(2) with O_TMPFILE, with an area
 * @base: as of guard_place_find(), taken over
 */
int guard_unnamed(struct guard *guard, int base, struct guard_place *place,
		  int flags, mode_t mode);

/** guard_remove() - unlinkat(2), with an area */
int guard_remove(struct guard *guard, const struct guard_place *place,
		 int flags);

/**
 * guard_truncate() - truncate(2), with an area
 * @base: as of guard_place_find(), taken over
 */
int guard_truncate(struct guard *guard, int base, struct guard_place *place,
		   off_t size);

/**
 * guard_may_file() - may an open file get another name, or be written?
 *
 * With an area only: by the path it has now, and not where that is gone.
 */
bool guard_may_file(const struct guard *guard, int fd);

/**
 * guard_keep_out() - answers that a file gets no name in the area
 * @place: the name
 * Return: -EXDEV, as from another mount; or GUARD_ANSWERED: of what is denied
 * in the area the kernel says so.
 */
int guard_keep_out(struct guard *guard, int fd,
		   const struct guard_place *place);

/**
 * guard_may_change() - may modes, owners, times and attributes be changed?
 *
 * As guard_may_file(), and besides of the tops themselves, and of all that the
 * command's own layer lets it write.
 */
bool guard_may_change(const struct guard *guard, int fd);

/**
 * guard_rename() - renameat2(2)
 * Return: 0 or -errno: -EXDEV for a folder that holds more than can be looked
 * at, so that it is copied instead.
 */
int guard_rename(struct guard *guard, const struct guard_place *from,
		 const struct guard_place *to, unsigned int flags);

#endif
