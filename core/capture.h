/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program of the user's on the host and takes what it prints. */
#ifndef SRT_CAPTURE_H
#define SRT_CAPTURE_H

#include <stddef.h>

#include "core/util.h"

/**
 * capture_run() - run a program to its end, which it must reach in time
 *
 * It has the caller's environment, working directory and standard error, no
 * input, and default signals.
 * @argv: NULL-terminated; looked up on PATH
 * @out: its standard output; @size: room in, bytes out
 * Context: the host process, before the command is started.
 * Return: 0; or -errno with @failure filled, in which nothing stands of what
 * it printed: it could not be run, took longer (-ETIMEDOUT), printed more
 * (-E2BIG), or ended with another status than 0 (-ECANCELED).
 */
int capture_run(char *const *argv, int timeout_ms, char *out, size_t *size,
		struct failure *failure);

/**
 * capture_all() - as above, whatever its status, and with what it tells on
 * standard error
 * @status: as shells have it
 */
int capture_all(char *const *argv, int timeout_ms, char *out, size_t *size,
		int *status, struct failure *failure);

#endif
