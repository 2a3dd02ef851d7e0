/* SPDX-License-Identifier: Apache-2.0 */
/* The host process without a command: until a signal ends it. */
#include "core/attend.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "core/system.h"
#include "core/util.h"

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

void attend_hold(void)
{
	sigset_t set;

	ending_signals(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static void on_ending(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	uv_stop(poll->loop);
	uv_close((uv_handle_t *)poll, NULL);
}

int attend_wait(uv_loop_t *loop)
{
	struct signalfd_siginfo info = { 0 };
	static uv_poll_t poll; /* closed by a later turn */
	owned_fd int signals = -1;
	sigset_t set;
	int error;

	ending_signals(&set);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		return -errno;
	sys_raise_file_limit();
	error = uv_poll_init(loop, &poll, signals);
	if (!error)
		error = uv_poll_start(&poll, UV_READABLE, on_ending);
	if (error)
		return error;
	uv_run(loop, UV_RUN_DEFAULT);
	if (read(signals, &info, sizeof(info)) != sizeof(info))
		error = -EIO;
	if (!uv_is_closing((uv_handle_t *)&poll)) {
		/* Somebody else has stopped the loop; the turn closes it. */
		uv_close((uv_handle_t *)&poll, NULL);
		uv_run(loop, UV_RUN_NOWAIT);
		error = 0;
	}
	return error ? error : (int)info.ssi_signo;
}
