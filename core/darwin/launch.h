/* SPDX-License-Identifier: Apache-2.0 */
/* The command of a run, and the process between it and the host process. */
#ifndef SRT_LAUNCH_H
#define SRT_LAUNCH_H

#include <stddef.h>
#include <sys/types.h>

#include "core/caller.h"

/**
 * struct launch - what is to be started; all borrowed
 * @argv: @argv[0] is a path
 * @keep: descriptors above 2 that the command has as well
 */
struct launch {
	char *const *argv;
	char *const *envp;
	const struct caller *caller;
	const int *keep;
	size_t keep_count;
};

enum launch_kind {
	LAUNCH_NOT_RUN, /* @value: errno of execve(2) */
	LAUNCH_STARTED, /* @value: its pid */
	LAUNCH_STOPPED,
	LAUNCH_ENDED, /* @value: wait status */
};

/** struct launch_message - what is told over the socket */
struct launch_message {
	enum launch_kind kind;
	int value;
};

/**
 * launch_start() - fork the process in between, which starts the command
 *
 * Both stay in the caller's process group and session, as the shell made them.
 * The process in between learns so which signals the command got by itself,
 * and hands on only the others: each int that is written to the socket is a
 * signal that the host process got. When the host process dies it kills the
 * command; what that has left behind it does not know.
 * @pid: the process in between, a child
 * Context: the handlers of the host process are not set yet.
 * Return: the socket, owned by the caller, non-blocking; or -errno. A struct
 * launch_message is read at a time.
 */
int launch_start(const struct launch *launch, pid_t *pid);

/**
 * launch_reader() - start a program whose standard output is read
 *
 * In a process group of its own, so that it goes on when the user interrupts
 * the command. Its standard error is thrown away.
 * Return: where it writes to, owned by the caller; or -errno.
 */
int launch_reader(char *const *argv, const struct caller *caller, pid_t *pid);

#endif
