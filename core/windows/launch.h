/* SPDX-License-Identifier: Apache-2.0 */
/* Two hops: this user starts ourselves as the account, and that starts the
 * command with less than the account has.
 */
#ifndef SRT_WINDOWS_LAUNCH_H
#define SRT_WINDOWS_LAUNCH_H

#include "core/windows/options.h"
#include "core/windows/plan.h"
#include "core/windows/win32.h"

enum { EXIT_OURS = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/**
 * launch_broker() - the first hop: run a command by a plan, to its end
 * @status: its exit status; with a failure ours
 * Return: 0, or -EINVAL with @failure filled
 */
int launch_broker(const struct win_plan *plan, char **argv, DWORD *status,
		  struct failure *failure);

/**
 * launch_runner() - the second hop: check the fence and the CA, drop what the
 * command must not have, and run it to its end
 * Return: as above
 */
int launch_runner(const struct win_options *options, DWORD *status,
		  struct failure *failure);

#endif
