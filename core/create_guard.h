/* SPDX-License-Identifier: Apache-2.0 */
/* filesystem.createGuard: an agent that makes names for the sandbox. */
#ifndef SRT_CREATE_GUARD_H
#define SRT_CREATE_GUARD_H

#include "core/plan.h"
#include "core/util.h"

/**
 * create_guard_start() - fork the agent
 *
 * It has what the caller has, by inheritance: mounts, root, ids, Landlock
 * layers, session and terminal; of capabilities, those that the command may
 * have, and CAP_SYS_PTRACE, which it uses only to look into who called. It
 * becomes a child of PID 1, so that it is no child of the command.
 * What comes after it in the calling process can neither look into it nor,
 * where Landlock knows of signals, kill it; when it is gone all the same, the
 * calls that it makes fail (ENOSYS).
 * Context: the process that will be the command, with no_new_privs, under
 * Landlock, before it drops its capabilities and before seccomp.
 * @agent: socket to it, owned by the caller; -1 where the plan has no guard
 * Return: 0 or -errno, @failure filled.
 */
int create_guard_start(const struct plan *plan, int *agent,
		       struct failure *failure);

/**
 * create_guard_enter() - have the agent make this process's names from now on
 * Context: the process that will be the command, as the last thing before exec.
 * @agent: from create_guard_start(); taken over
 * Return: 0 or -errno, @failure filled.
 */
int create_guard_enter(const struct plan *plan, int agent,
		       struct failure *failure);

#endif
