/* SPDX-License-Identifier: Apache-2.0 */
/* What a command gets back that the host process changes for itself. */
#ifndef SRT_CALLER_H
#define SRT_CALLER_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct caller - what the command gets back from before our own start
 * @mask: signal mask
 * @ignored: of signals_ours() those that were ignored (nohup), which stay so
 * @umask: of new files
 * @files_soft, @files_hard: RLIMIT_NOFILE
 */
struct caller {
	sigset_t mask;
	sigset_t ignored;
	mode_t umask;
	unsigned long files_soft;
	unsigned long files_hard;
};

/**
 * caller_save() - take note; called first thing in the host process
 *
 * From then on files that we make are ours to read and write, whatever the
 * umask.
 */
void caller_save(struct caller *caller);

/**
 * caller_restore() - dispositions, limits and umask as they were; not the mask
 * of signals
 *
 * Only what is ours is touched of the dispositions: two calls for each of all
 * signals are a hundredth of a short run.
 * Context: the process that becomes the command.
 */
void caller_restore(const struct caller *caller);

/**
 * caller_let_go() - leave the command's descriptors to the command
 * @keep: descriptors above 2 that it has as well
 *
 * After the command was started: whoever reads what the command writes sees the
 * end when the command lets go. Standard error stays open for our messages.
 */
void caller_let_go(const int *keep, size_t count);

#endif
