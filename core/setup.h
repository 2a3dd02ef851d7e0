/* SPDX-License-Identifier: Apache-2.0 */
/* The child between clone3(2) and PID 1's loop. */
#ifndef SRT_SETUP_H
#define SRT_SETUP_H

#include "core/command.h"
#include "core/janitor.h"
#include "core/message.h"
#include "core/mounts.h"

/* PID 1's name: who looks for srt-lua is to find the host process. */
#define SETUP_NAME "sandbox-init"

/**
 * setup_begin() - what every plan has: network, tree, /proc and /dev
 *
 * The host process loads the policy meanwhile.
 * @plan: of it, only the identity is read
 * @setup: socket that MESSAGE_MAPS comes from
 * @mounts: zeroed; what is done shows in it
 * Context: the child, in all its new namespaces.
 * Return: 0 or -errno, @failure filled.
 */
int setup_begin(const struct plan *plan, int setup, struct mounts *mounts,
		struct failure *failure);

/**
 * setup_run() - build the sandbox around the calling process, then be PID 1
 *
 * Makes its network namespace, brings that up, begins the new root, waits for
 * MESSAGE_MAPS to make /proc and /dev, bounds its capabilities, and waits for
 * MESSAGE_GO, or what comes before it; makes listeners and mounts, gets the
 * seccomp program, and goes on as init_run(). A step that fails is told to the
 * host by MESSAGE_FAILED and ends the process: nothing is skipped.
 * Context: the child, in NAMESPACES_CLONED, or in bubblewrap's; all signals
 * blocked.
 * @control: socket to the host process
 * @setup: socket to the janitor
 */
_Noreturn void setup_run(const struct shared *shared, int control, int setup);

/* Steps of it, for a set-up without namespaces (core/bare.h). */

/**
 * setup_first() - what the process needs from its beginning
 * Return: what there is of a confinement: nothing yet.
 */
struct confinement setup_first(const struct shared *shared);

/** setup_fail() - tell the host process what went wrong, and end */
_Noreturn void setup_fail(int control, int error,
			  const struct failure *failure);

/**
 * setup_close() - close what the host process has open and the command does not
 * get
 * @own: what stays open for us; some may be -1
 * @listeners: likewise, of the plan's points; NULL for none
 */
void setup_close(const struct plan *plan, const int *own, size_t count,
		 const int *listeners);

/**
 * setup_tell() - tell PID 1 or the janitor something that it waits for
 * @fd: goes with it; -1 for none
 * Return: 0 or -errno; 0 also where it is gone: then it has said why.
 */
int setup_tell(int to, enum message_kind kind, int fd);

/**
 * setup_look() - look for the host's next word before one waits for it
 *
 * It comes soon, as a rule, and to be woken by another processor takes longer
 * than that: up to a millisecond, of the host's time as well. Where there is
 * another processor, nobody else of a run needs ours meanwhile.
 * @control: socket to the host process
 */
void setup_look(int control, const struct processors *processors);

/**
 * setup_await() - wait for a message of the janitor's or the host's
 * @fd: the descriptor it carries, or -1; NULL where it carries none
 * Return: 0, or -EPROTO with @failure filled; ends the process where the other
 * side gave up.
 */
int setup_await(int from, enum message_kind kind, int *fd,
		struct failure *failure);

/**
 * setup_is_late() - does the tree take nothing that the janitor makes?
 *
 * Then it is told MESSAGE_GO only when the command begins, and does not answer.
 */
bool setup_is_late(const struct plan *plan);

/**
 * setup_hold() - hold the state file
 * @state: its descriptor; left as it is where there is none
 */
int setup_hold(const struct plan *plan, int *state, struct failure *failure);

/** setup_enter() - the working directory of the command */
int setup_enter(const struct plan *plan, struct failure *failure);

#endif
