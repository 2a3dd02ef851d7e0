/* SPDX-License-Identifier: Apache-2.0 */
/* The host process without a command: until a signal ends it. */
#include "core/attend.h"

#include <stddef.h>

#include "core/signals.h"
#include "core/system.h"
#include "core/util.h"

static struct {
	uv_signal_t handles[SIGNALS_ENDING]; /* closed by a later turn */
	int came;
} attending;

static void on_signal(uv_signal_t *handle, int number)
{
	attending.came = number;
	uv_stop(handle->loop);
}

static int begin(uv_loop_t *loop)
{
	int error = 0;

	for (size_t i = 0; !error && signals_ending[i]; i++) {
		error = uv_signal_init(loop, &attending.handles[i]);
		if (!error)
			error = uv_signal_start(&attending.handles[i],
						on_signal, signals_ending[i]);
	}
	return error;
}

int attend_wait(uv_loop_t *loop)
{
	sigset_t set;
	int error;

	attending.came = 0;
	sys_raise_file_limit();
	error = begin(loop);
	if (error)
		return error;
	signals_set(&set, signals_ending);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	/* A second one does not disturb what is done at the end; one that came
	 * as somebody else stopped the loop counts. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!attending.came)
		uv_run(loop, UV_RUN_NOWAIT);
	for (size_t i = 0; signals_ending[i]; i++)
		uv_close((uv_handle_t *)&attending.handles[i], NULL);
	uv_run(loop, UV_RUN_NOWAIT);
	return attending.came;
}
