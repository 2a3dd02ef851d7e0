/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox without namespaces: Landlock, seccomp and an agent hold it. */
#ifndef SRT_BARE_H
#define SRT_BARE_H

#include "core/janitor.h"

/**
 * bare_run() - in the place of setup_run(), where the plan is bare
 *
 * Waits for MESSAGE_GO, makes listeners on the host's loopback, ruleset and
 * filter, and parts: the child is as PID 1 is elsewhere (init_run()), this
 * process the agent (bare_agent_run()). It is the parent, since Yama lets
 * nobody but an ancestor look into a process, and it is under no Landlock
 * layer: what it does for the command, it decides first.
 * Context: child of the janitor, all signals blocked.
 * @control: socket to the host process
 * @setup: socket to the janitor
 */
_Noreturn void bare_run(const struct shared *shared, int control, int setup);

#endif
