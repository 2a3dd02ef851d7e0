/* SPDX-License-Identifier: Apache-2.0 */
/* The host process while a command runs: signals, terminal, status. */
#include "core/darwin/run.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "core/signals.h"
#include "core/system.h"
#include "core/terminal.h"
#include "core/util.h"

struct run {
	uv_loop_t *loop;
	struct terminal terminal;
	uv_signal_t signals[SIGNALS_HANDED_ON];
	uv_poll_t poll;
	int socket;
	pid_t command;
	int open_handles;
	int error;
	bool over;
	struct spawn_message *end;
};

static void on_closed(uv_handle_t *handle)
{
	struct run *run = handle->data;

	if (--run->open_handles == 0)
		uv_stop(run->loop);
}

static void finish(struct run *run, int error)
{
	if (run->over)
		return;
	run->over = true;
	run->error = error;
	uv_close((uv_handle_t *)&run->poll, on_closed);
	for (size_t i = 0; signals_handed_on[i]; i++)
		uv_close((uv_handle_t *)&run->signals[i], on_closed);
}

/* Stops as the command did; returns when somebody continues us. */
static void stop_with_command(struct run *run)
{
	terminal_take_back(&run->terminal);
	kill(getpid(), SIGSTOP);
	terminal_hand_over(&run->terminal);
}

static void on_message(uv_poll_t *poll, int status, int events)
{
	struct run *run = poll->data;
	struct spawn_message message;
	ssize_t size;

	(void)status;
	(void)events;
	while (!run->over) {
		size = read(run->socket, &message, sizeof(message));
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (size != sizeof(message)) {
			/* Nobody watches over it any more. */
			if (run->command)
				(void)kill(run->command, SIGKILL);
			finish(run, -EPIPE);
		} else if (message.kind == SPAWN_STARTED) {
			run->command = message.value;
		} else if (message.kind == SPAWN_STOPPED) {
			stop_with_command(run);
		} else {
			*run->end = message;
			finish(run, 0);
		}
	}
}

static void on_signal(uv_signal_t *handle, int number)
{
	const struct run *run = handle->data;

	signals_came(number);
	(void)!write(run->socket, &number, sizeof(number));
}

static int begin(struct run *run)
{
	int error = uv_poll_init(run->loop, &run->poll, run->socket);

	if (error)
		return error;
	run->poll.data = run;
	run->open_handles++;
	for (size_t i = 0; signals_handed_on[i]; i++) {
		(void)uv_signal_init(run->loop, &run->signals[i]);
		run->signals[i].data = run;
		run->open_handles++;
		if (!error)
			error = uv_signal_start(&run->signals[i], on_signal,
						signals_handed_on[i]);
	}
	return error ? error
		     : uv_poll_start(&run->poll, UV_READABLE, on_message);
}

int run_wait(uv_loop_t *loop, int socket, struct spawn_message *end)
{
	struct run run = { .loop = loop, .socket = socket, .end = end };
	sigset_t set;
	int error;

	sys_raise_file_limit();
	terminal_open(&run.terminal);
	error = begin(&run);
	if (error && !run.open_handles)
		run.error = error;
	else if (error)
		finish(&run, error);
	signals_set(&set, signals_handed_on);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	while (run.open_handles)
		uv_run(loop, UV_RUN_DEFAULT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	terminal_take_back(&run.terminal);
	terminal_close(&run.terminal);
	return run.error;
}
