/* SPDX-License-Identifier: Apache-2.0 */
/* The child between clone3(2) and PID 1's loop. */
#ifndef SRT_SETUP_H
#define SRT_SETUP_H

#include "core/janitor.h"
#include "core/mounts.h"

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
 * Brings the network up, begins the new root, waits for MESSAGE_MAPS to make
 * /proc and /dev, and for MESSAGE_GO; makes listeners, mounts, Landlock
 * ruleset and seccomp program, and goes on as init_run(). A step that fails is
 * told to the host by MESSAGE_FAILED and ends the process: nothing is skipped.
 * Context: the child, in all its new namespaces, all signals blocked.
 * @control: socket to the host process
 * @setup: socket to the janitor
 */
_Noreturn void setup_run(const struct shared *shared, int control, int setup);

#endif
