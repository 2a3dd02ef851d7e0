/* SPDX-License-Identifier: Apache-2.0 */
/* Confines a process for good and makes it the command. */
#ifndef SRT_COMMAND_H
#define SRT_COMMAND_H

#include <linux/filter.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/caller.h"
#include "core/handover.h"
#include "core/plan.h"
#include "core/processors.h"
#include "core/unreached.h"
#include "core/util.h"

#define SIGNAL_BIT(sig) (UINT64_C(1) << ((sig)-1))

/**
 * struct command - the command as PID 1 sees it
 * @listener: of an agent that waits (core/agent.h), owned; or -1
 * @led: of the confinement; another -errno where the agent can't
 * @report: read end of a pipe that says how it went: end of file when the
 *	command runs, else a struct command_report
 * @missed: signals, by SIGNAL_BIT(), that are pending for PID 1 and that the
 *	command did not get, though it is in the same process group
 * @changes: of the mounts (core/remount.h), borrowed; those up to the command's
 *	start are taken from it; or -1. Set by the caller
 */
struct command {
	int changes;
	pid_t pid;
	int report;
	int listener;
	uint64_t missed;
	int led;
};

/**
 * struct confinement - what a command is put under, and PID 1 works with
 * @processors: those that the run began with
 * @ruleset: Landlock ruleset of a plan that is bare
 * @masks: where the masks are, or -1 (core/remount.h)
 * @unused: closed once the command is there, since that may take a while; or -1
 * @state: the state file, held until nothing else lives inside; or -1
 * @led: how redirect_lead() went, or would; LED_NOT before; LED_BY_AGENT where
 *	the agent leads instead
 * @early: the plan's @argv and @env come with MESSAGE_GO, and that is to come
 * @late: the janitor is still to be told MESSAGE_GO (setup_is_late())
 * @attached: the host's tree is, so mounts_detach() is owed
 * @janitor: socket to it, where it waits to hear that nothing else lives; or -1
 * @handover: what the host process gets once the command is there
 * @unreached: PID 1's
 * @watch: socket to the host process, for the agent that observes; or -1
 * @agent: socket to an agent that is there already and takes the listener, or
 *	-1; the command's process closes it
 */
struct confinement {
	const struct plan *plan;
	const struct caller *caller;
	const struct processors *processors;
	struct sock_fprog filter;
	int ruleset;
	int masks;
	int unused;
	int state;
	int led;
	bool early;
	bool late;
	bool attached;
	int janitor;
	struct handover handover;
	struct unreached unreached;
	int watch;
	int agent;
};

enum { LED_NOT = 1, LED_BY_AGENT = 2 };

/**
 * command_start() - make a process, confine it, and have it be the command
 *
 * In the child, in this order: signals and limits as the caller had them,
 * capabilities, no_new_privs, Landlock, descriptors, seccomp; then it waits for
 * PID 1 to have detached the host's tree meanwhile, and for the host's next
 * messages: where the plan is early MESSAGE_GO, and MESSAGE_RELEASE; exec. PID
 * 1 waits until that is done. Context: PID 1 inside, in the new root, all
 * signals blocked.
 * @control: borrowed socket to the host process
 * Return: 0 with @command filled, or -errno.
 */
int command_start(const struct confinement *confinement, int control,
		  struct command *command);

/** struct command_report - why the command does not run */
struct command_report {
	int not_run; /* errno of execve(2), or 0 */
	struct failure failure;
};

/**
 * caps_set() - keep @keep of the capabilities, and no other
 * Return: 0 or -errno.
 */
int caps_set(uint64_t keep);

/**
 * caps_bound() - of capabilities, exec(2) gives at most @keep from here on
 *
 * Early, in PID 1, whose children inherit it. Without a user namespace of our
 * own the bounding set is not ours to change; no_new_privs does it then.
 * Return: 0 or -errno.
 */
int caps_bound(uint64_t keep);

#endif
