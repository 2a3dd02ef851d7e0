/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the notified calls that make a name. */
#ifndef SRT_GUARD_CALLS_H
#define SRT_GUARD_CALLS_H

#include "core/guard.h"

/** guard_serves() - is it one of the calls that make a name? */
bool guard_serves(const struct seccomp_data *data);

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
 * there
 * Return: -EROFS, or -EEXIST.
 */
int guard_refuse(struct guard *guard, const struct guard_place *place);

/**
 * guard_open() - open(2) with O_CREAT
 * @place: found; taken over
 * @flags: as the caller gave them
 * Return: -errno, or GUARD_ANSWERED.
 */
int guard_open(struct guard *guard, struct guard_place *place, int flags,
	       mode_t mode);

/**
 * guard_rename() - renameat2(2)
 * Return: 0 or -errno: -EXDEV for a folder that holds more than can be looked
 * at, so that it is copied instead.
 */
int guard_rename(struct guard *guard, const struct guard_place *from,
		 const struct guard_place *to, unsigned int flags);

#endif
