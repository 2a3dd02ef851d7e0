/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a sandbox: start it, talk to it, end it. */
#ifndef SRT_SANDBOX_H
#define SRT_SANDBOX_H

#include <sys/types.h>

#include "core/command.h"
#include "core/janitor.h"
#include "core/message.h"
#include "core/plan.h"

/**
 * struct sandbox - a sandbox as the host process sees it
 * @pid: PID 1 of the sandbox; @pidfd: owned
 * @control: owned socket, non-blocking once started
 * @listeners: owned until taken (set to -1)
 */
struct sandbox {
	pid_t pid;
	int pidfd;
	int control;
	int listeners[16];
	size_t listener_count;
	struct janitor janitor;
};

/**
 * sandbox_start() - clone the sandbox and have it build itself
 *
 * Returns as soon as the listeners are there; mounts go on in parallel, and
 * their failure comes as MESSAGE_FAILED.
 * @plan, @caller: borrowed for the call
 * Return: 0, or -errno with @failure filled and everything undone.
 */
int sandbox_start(const struct plan *plan, const struct caller *caller,
		  struct sandbox *out, struct failure *failure);

/** sandbox_signal() - tell PID 1 of a signal that the host process got */
void sandbox_signal(struct sandbox *sandbox, int sig);

/**
 * sandbox_read() - next message from PID 1
 * Return: 1 with @message filled, 0 for none now, -EPIPE when PID 1 is gone.
 */
int sandbox_read(struct sandbox *sandbox, struct message *message);

/**
 * sandbox_close() - end everything inside, wait until it is gone, and remove
 * what was made on the host
 */
void sandbox_close(struct sandbox *sandbox);

#endif
