/* SPDX-License-Identifier: Apache-2.0 */
/* An agent inside, which carries out notified calls for the command. */
#ifndef SRT_AGENT_H
#define SRT_AGENT_H

#include <linux/filter.h>

#include "core/plan.h"
#include "core/util.h"

/** What it and its workers are called in /proc. */
#define AGENT_NAME "srt-lua-guard"

/** agent_is_told() - are there calls that an agent is needed for? */
bool agent_is_told(const struct notified *notified);

/**
 * agent_start() - fork the agent
 *
 * It has what the caller has, by inheritance: mounts, root, ids, Landlock
 * layers, session and terminal; of capabilities, those that the command may
 * have, CAP_SYS_PTRACE, which it uses only to look into who called, and for
 * allowUnixSockets CAP_NET_ADMIN in the sandbox's network namespace. It becomes
 * a child of PID 1, so that it is no child of the command. What comes after it
 * in the calling process can neither look into it nor, where Landlock knows of
 * signals, kill it; when it is gone all the same, the calls that it makes fail
 * (ENOSYS). Where the kernel lets nobody notify, and the plan can do without,
 * there is none, and calls that it would have refused are refused by the filter
 * itself. Context: the process that will be the command, with no_new_privs,
 * under Landlock, before it drops its capabilities and before seccomp.
 * @leads: it leads TCP to the proxy, with the rules of the plan's redirect
 * @watch: socket to the host process, for what the agent observes; borrowed
 * @agent: socket to it, owned by the caller; -1 where the plan notifies nothing
 * Return: 0 or -errno, @failure filled.
 */
int agent_start(const struct plan *plan, bool leads, int watch, int *agent,
		struct failure *failure);

/**
 * agent_waits() - is it needed only when the first call is notified?
 *
 * So it is where it observes, and no more. Then agent_start() is left out, and
 * PID 1 forks it by agent_wake(): most short commands never need one.
 * @leads: as of agent_start()
 */
bool agent_waits(const struct plan *plan, bool leads);

/**
 * agent_wake() - fork the agent that waited
 *
 * If it can't be, the calls fail (ENOSYS) as they do when it is gone.
 * @listener, @watch: taken over
 * Context: PID 1, with CAP_SYS_PTRACE.
 */
void agent_wake(const struct plan *plan, int listener, int watch);

/**
 * agent_enter() - put this process under the filter for good, and have the
 * agent serve it from now on
 * Context: the process that will be the command, as the last thing before exec.
 * @filter: of what is refused
 * @led: LED_BY_AGENT where it leads; set to -errno where it can't and the plan
 *	can do without
 * @agent: from agent_start(), or where the agent waits a socket to who takes
 *	the listener, in a message of one byte; taken over; -1 for none
 * Return: 0 or -errno, @failure filled.
 */
int agent_enter(const struct plan *plan, const struct sock_fprog *filter,
		int *led, int agent, struct failure *failure);

#endif
