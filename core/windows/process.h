/* SPDX-License-Identifier: Apache-2.0 */
/* What both hops need to start a process and see it to its end. */
#ifndef SRT_WINDOWS_PROCESS_H
#define SRT_WINDOWS_PROCESS_H

#include "core/windows/variables.h"
#include "core/windows/win32.h"

/** process_start_info() - with our own three streams */
STARTUPINFOW process_start_info(void);

/**
 * process_block() - variables as CreateProcess wants them, sorted
 * Return: owned by the caller; NULL without memory
 */
wchar_t *process_block(struct variables *variables);

/**
 * process_run() - put a suspended process into a job that ends with us, let it
 * go, and wait
 * @started: its handles are closed
 * @status: its exit status
 * Return: 0, or -EINVAL with @failure filled and the process ended
 */
int process_run(PROCESS_INFORMATION *started, DWORD *status,
		struct failure *failure);

#endif
