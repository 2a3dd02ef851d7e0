/* SPDX-License-Identifier: Apache-2.0 */
/* The host process while a command runs: signals, terminal, status. */
#ifndef SRT_DARWIN_RUN_H
#define SRT_DARWIN_RUN_H

#include <uv.h>

#include "core/darwin/spawn.h"

/**
 * run_wait() - run the loop until the command has ended
 *
 * Signals that signals_hold_for_command() holds go to the command. When it
 * stops, this process stops too, so that the user's shell sees the job stopped.
 * @loop: other handles on it (the proxy) are served meanwhile
 * @socket: of spawn_start()
 * @end: SPAWN_NOT_RUN or SPAWN_ENDED; untouched by a failure
 * Return: 0 or -errno, -EPIPE where the process in between was killed.
 */
int run_wait(uv_loop_t *loop, int socket, struct spawn_message *end);

#endif
