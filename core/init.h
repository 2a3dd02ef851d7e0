/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 of the sandbox: starts the command, reaps, forwards signals. */
#ifndef SRT_INIT_H
#define SRT_INIT_H

#include "core/command.h"
#include "core/plan.h"

/**
 * init_run() - be PID 1 until the command ends or the host process goes away
 *
 * When it returns to the kernel everything inside is killed. A signal that the
 * host reports is handed on only if the command did not get it itself: the
 * command stays in the caller's process group, as we do, so what reached us
 * reached it.
 * A mount that the kernel drops meanwhile is put back (core/remount.h).
 * Context: the child, set up, all signals blocked.
 * @control: socket to the host process
 */
_Noreturn void init_run(const struct confinement *confinement, int control);

#endif
