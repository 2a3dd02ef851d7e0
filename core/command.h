/* SPDX-License-Identifier: Apache-2.0 */
/* Confines a process for good and makes it the command. */
#ifndef SRT_COMMAND_H
#define SRT_COMMAND_H

#include <linux/filter.h>
#include <signal.h>
#include <sys/types.h>

#include "core/plan.h"
#include "core/util.h"

/**
 * struct caller - what the command gets back from before our own start
 * @mask: signal mask
 * @ignored: signals that were ignored (nohup), which stay so
 * @files_soft, @files_hard: RLIMIT_NOFILE
 */
struct caller {
	sigset_t mask;
	sigset_t ignored;
	unsigned long files_soft;
	unsigned long files_hard;
};

/** caller_save() - take note; called first thing in the host process */
void caller_save(struct caller *caller);

/**
 * command_start() - fork the command and confine it
 *
 * In the child, in this order: signals and limits as the caller had them,
 * capabilities, no_new_privs, Landlock, descriptors, seccomp, exec.
 * Context: PID 1 inside, in the new root, all signals blocked.
 * @ruleset: Landlock ruleset or -1
 * @report: filled with the read end of a pipe that says how it went: end of
 *	file when the command runs, else a struct command_report
 * Return: pid or -errno.
 */
pid_t command_start(const struct plan *plan, const struct caller *caller,
		    const struct sock_fprog *filter, int ruleset, int *report);

/** struct command_report - why the command does not run */
struct command_report {
	int not_run; /* errno of execve(2), or 0 */
	struct failure failure;
};

/**
 * caps_drop() - keep @keep of the capabilities, in every set, and no other
 * Return: 0 or -errno.
 */
int caps_drop(uint64_t keep);

#endif
