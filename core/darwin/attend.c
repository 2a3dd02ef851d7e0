/* SPDX-License-Identifier: Apache-2.0 */
/* The host process without a command: until a signal ends it. */
#include "core/attend.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "core/system.h"
#include "core/util.h"

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

static struct {
	uv_signal_t handles[ARRAY_SIZE(ending)];
	int came;
} attending;

/* Held back like any signal until attend_wait() looks. */
void attend_hold(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		sigaddset(&set, ending[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static void on_signal(uv_signal_t *handle, int number)
{
	attending.came = number;
	uv_stop(handle->loop);
}

int attend_wait(uv_loop_t *loop)
{
	sigset_t set;
	int error = 0;

	attending.came = 0;
	sigemptyset(&set);
	sys_raise_file_limit();
	for (size_t i = 0; !error && i < ARRAY_SIZE(ending); i++) {
		error = uv_signal_init(loop, &attending.handles[i]);
		if (!error)
			error = uv_signal_start(&attending.handles[i],
						on_signal, ending[i]);
		sigaddset(&set, ending[i]);
	}
	if (error)
		return error;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	uv_run(loop, UV_RUN_DEFAULT);
	/* A second one does not disturb what is done at the end. */
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		uv_close((uv_handle_t *)&attending.handles[i], NULL);
	uv_run(loop, UV_RUN_NOWAIT);
	return attending.came;
}
