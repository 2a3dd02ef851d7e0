/* SPDX-License-Identifier: Apache-2.0 */
/* The agent inside: what it knows, and what it may do for a while. */
#ifndef SRT_GUARD_H
#define SRT_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "core/area.h"
#include "core/guard_path.h"
#include "core/guard_rules.h"
#include "core/lead_calls.h"
#include "core/notify.h"
#include "core/own_sockets.h"
#include "core/plan.h"
#include "core/watch.h"

/** A call that was answered already, or whose answer is on its way. */
#define GUARD_ANSWERED 1

/**
 * struct guard - the agent that makes names and connections for the sandbox
 * @rules: names that are not to be made
 * @makes: the names are made by the agent (createGuard)
 * @area: NULL where mounts hold all else; what is not in it is the kernel's
 *	affair, and Landlock's
 * @sockets: borrowed; Unix sockets of the host that may be connected to
 * @lead: where TCP that would leave is led to
 * @own: those of the sandbox
 * @network: cookie of its network namespace; 0 where that can't be known
 * @keep: capabilities that the command may have
 * @spare: further ones that the agent may raise for a moment
 * @caps: those that are effective now, but for these moments
 * @umask: ours now
 * @workers: processes of ours that wait in a call
 * @part: called in each of them: what it does not need is closed; or NULL
 * @watch: what is observed
 */
struct guard {
	struct notify notify;
	struct guard_rules rules;
	bool makes;
	const struct area *area;
	const struct socket_table *sockets;
	struct lead lead;
	struct own_sockets own;
	uint64_t network;
	struct guard_view view;
	uint64_t keep;
	uint64_t spare;
	uint64_t caps;
	mode_t umask;
	unsigned int workers;
	void (*part)(struct guard *guard);
	struct watch watch;
};

/**
 * guard_begin() - what an agent needs before it carries out calls
 *
 * For all that both kinds of agents have in common; raises this process's limit
 * of descriptors.
 * @guard: its own
 * Return: 0 or -errno.
 */
int guard_begin(struct guard *guard, const struct plan *plan);

/** guard_raise() - use one of the spare capabilities, or not any more */
void guard_raise(const struct guard *guard, int cap, bool on);

/** guard_powers() - look into processes (CAP_SYS_PTRACE), or not any more */
void guard_powers(void *guard, bool on);

/**
 * guard_look() - copy a call, with these powers where it takes them
 *
 * A process that is not dumpable, or any where Yama restricts looking into
 * others, shows itself to CAP_SYS_PTRACE only.
 * @copy: fills @call and @caller; called a second time where it was not let
 */
int guard_look(struct guard *guard,
	       int (*copy)(struct guard *guard, void *call,
			   struct notify_caller *caller),
	       void *call, struct notify_caller *caller);

/**
 * guard_take_on() - be about to do what was copied, as the caller would
 * @error: of the look
 * Return: 0; @error; GUARD_ANSWERED for a call that waits no more; or -EPERM.
 */
int guard_take_on(struct guard *guard, const struct notify_caller *caller,
		  int error);

/**
 * guard_become() - make ours what the caller has: umask, no capability more
 * Return: 0 or -EPERM.
 */
int guard_become(struct guard *guard, const struct notify_caller *caller);

/** guard_heed_alarms() - have alarms interrupt what waits, and do no more */
void guard_heed_alarms(void);

/**
 * guard_hurry() - what the agent does next may not wait: within a few
 * milliseconds it is interrupted
 */
void guard_hurry(void);

/**
 * guard_fork() - a process that waits in the agent's place, with the same call
 *
 * It is interrupted often, and then has to ask guard_goes_on(). With the agent
 * it ends, or its copy of the listener would keep calls waiting for nobody.
 * @most: how many such processes there may be
 * Return: 0 in that process, its id in the agent, or -errno, -EAGAIN where
 * there are too many.
 */
pid_t guard_fork(struct guard *guard, unsigned int most);

/**
 * guard_goes_on() - is the call still to be waited for?
 * Context: a process of guard_fork(). errno is kept.
 * Return: false where the caller has a signal to see to; does not return where
 * it is gone.
 */
bool guard_goes_on(struct guard *guard);

/** guard_reap() - count who has ended */
void guard_reap(struct guard *guard);

#endif
