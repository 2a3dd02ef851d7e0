/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the notified calls that make a name. */
#ifndef SRT_GUARD_CALLS_H
#define SRT_GUARD_CALLS_H

#include <stdint.h>

#include "core/guard_path.h"
#include "core/guard_rules.h"
#include "core/notify.h"

/** A call that was answered already, or whose answer is on its way. */
#define GUARD_ANSWERED 1

/**
 * struct guard - the agent that makes names for the sandbox
 * @keep: capabilities that the command may have
 * @caps: those that are effective now, but for looking into processes
 * @umask: ours now
 * @workers: processes of ours that wait in an open(2)
 */
struct guard {
	struct notify notify;
	struct guard_rules rules;
	struct guard_view view;
	uint64_t keep;
	uint64_t caps;
	mode_t umask;
	unsigned int workers;
};

/**
 * guard_serve() - carry out or refuse the call in @guard->notify, and answer it
 *
 * All arguments are copied once. Only one call is carried out at a time, and
 * nobody else inside can make or move a name: what was judged stays true until
 * it is done.
 * Context: the agent, with the caller's mounts, root, ids and Landlock layers.
 */
void guard_serve(struct guard *guard);

/** guard_powers() - look into processes (CAP_SYS_PTRACE), or not any more */
void guard_powers(void *guard, bool on);

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
