/* SPDX-License-Identifier: Apache-2.0 */
/* The command of a run, and the process between it and the host process. */
#ifndef SRT_DARWIN_SPAWN_H
#define SRT_DARWIN_SPAWN_H

#include <stddef.h>
#include <sys/types.h>

#include "core/caller.h"

/**
 * struct spawn - what is to be started; all borrowed
 * @argv: @argv[0] is a path
 * @keep: descriptors above 2 that the command has as well
 * @reader: of spawn_reader(), which ends with the host process; 0 for none
 */
struct spawn {
	char *const *argv;
	char *const *envp;
	const struct caller *caller;
	const int *keep;
	size_t keep_count;
	pid_t reader;
};

enum spawn_kind {
	SPAWN_NOT_RUN, /* @value: errno of execve(2) */
	SPAWN_STARTED, /* @value: its pid */
	SPAWN_STOPPED,
	SPAWN_ENDED, /* @value: wait status */
};

/** struct spawn_message - what is told over the socket */
struct spawn_message {
	enum spawn_kind kind;
	int value;
};

/**
 * spawn_start() - fork the process in between, which starts the command
 *
 * Both stay in the caller's process group and session, as the shell made them.
 * The process in between learns so which signals the command got by itself,
 * and hands on only the others: each int that is written to the socket is a
 * signal that the host process got. When the host process dies it kills the
 * command; what that has left behind it does not know.
 * @pid: the process in between, a child
 * Context: the handlers of the host process are not set yet.
 * Return: the socket, owned by the caller, non-blocking; or -errno. A struct
 * spawn_message is read at a time.
 */
int spawn_start(const struct spawn *spawn, pid_t *pid);

/**
 * spawn_reader() - start a program whose standard output is read
 *
 * In a process group of its own, so that it goes on when the user interrupts
 * the command. Its standard error is thrown away.
 * Return: where it writes to, owned by the caller; or -errno.
 */
int spawn_reader(char *const *argv, const struct caller *caller, pid_t *pid);

#endif
