/* SPDX-License-Identifier: Apache-2.0 */
/* The host process while a command runs: signals, terminal, status. */
#include "core/supervise.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

#include "core/setup.h"
#include "core/signals.h"
#include "core/system.h"
#include "core/terminal.h"
#include "core/util.h"

struct supervisor {
	uv_loop_t *loop;
	struct sandbox *sandbox;
	struct terminal terminal;
	struct questions *questions;
	struct outcome *outcome;
	int signals;
	int open_handles;
	uv_poll_t control_poll;
	uv_poll_t signal_poll;
	uv_poll_t end_poll;
};

static void on_closed(uv_handle_t *handle)
{
	struct supervisor *s = handle->data;

	if (--s->open_handles == 0)
		uv_stop(s->loop);
}

/* Those that came: all, also where nobody is there any more to get them. */
static bool next_signal(const struct supervisor *s,
			struct signalfd_siginfo *info)
{
	if (read(s->signals, info, sizeof(*info)) != sizeof(*info))
		return false;
	signals_came((int)info->ssi_signo);
	return true;
}

static void finish(struct supervisor *s)
{
	struct signalfd_siginfo info;

	if (uv_is_closing((uv_handle_t *)&s->control_poll))
		return;
	sandbox_finish(s->sandbox);
	/* The command got it as well, and its end may be heard of first. */
	while (next_signal(s, &info))
		;
	uv_close((uv_handle_t *)&s->control_poll, on_closed);
	uv_close((uv_handle_t *)&s->signal_poll, on_closed);
	if (s->end_poll.data)
		uv_close((uv_handle_t *)&s->end_poll, on_closed);
}

/* Stops as the command did; returns when somebody continues us. */
static void stop_with_command(struct supervisor *s)
{
	terminal_take_back(&s->terminal);
	kill(getpid(), SIGSTOP);
	terminal_hand_over(&s->terminal);
}

static void take_notice(struct outcome *outcome, const struct message *message)
{
	struct notice *notice = outcome->notices;
	struct notice *end = notice + outcome->notice_count;

	while (notice < end && strcmp(notice->path, message->failure.text))
		notice++;
	if (notice == outcome->notices + OUTCOME_NOTICES) {
		outcome->more_notices = true;
		return;
	}
	if (notice == end) {
		outcome->notice_count++;
		snprintf(notice->path, sizeof(notice->path), "%s",
			 message->failure.text);
	}
	if (message->kind == MESSAGE_UNPROTECTED) {
		notice->missing = message->value;
		notice->was_missing = true;
		return;
	}
	notice->missing = 0;
	notice->times++;
	if (message->value > notice->longest)
		notice->longest = message->value;
}

static int watch(struct supervisor *s, uv_poll_t *poll, int fd,
		 uv_poll_cb callback)
{
	int error = uv_poll_init(s->loop, poll, fd);

	if (error)
		return error;
	poll->data = s;
	s->open_handles++;
	return uv_poll_start(poll, UV_READABLE, callback);
}

/*
 * PID 1 hears of it as we do, and tells the status in a moment: to be woken for
 * that would take longer.
 */
static void on_end(uv_poll_t *poll, int status, int events)
{
	const struct supervisor *s = poll->data;

	(void)status;
	(void)events;
	uv_poll_stop(poll);
	setup_look(s->sandbox->control, &s->sandbox->shared->processors);
}

static void on_message(struct supervisor *s, const struct message *message)
{
	switch (message->kind) {
	case MESSAGE_STARTED:
		/* Nothing depends on it. */
		if (s->sandbox->command >= 0)
			(void)watch(s, &s->end_poll, s->sandbox->command,
				    on_end);
		return;
	case MESSAGE_STOPPED:
		stop_with_command(s);
		return;
	case MESSAGE_FROZEN:
		questions_frozen(s->questions, message->id, !message->value);
		return;
	case MESSAGE_RESTORED:
	case MESSAGE_UNPROTECTED:
		take_notice(s->outcome, message);
		return;
	case MESSAGE_FAILED:
		s->outcome->kind = OUTCOME_FAILED;
		break;
	case MESSAGE_NOT_RUN:
		s->outcome->kind = OUTCOME_NOT_RUN;
		break;
	case MESSAGE_ENDED:
		s->outcome->kind = OUTCOME_ENDED;
		s->outcome->unreached = message->id;
		break;
	default:
		return;
	}
	s->outcome->value = message->value;
	s->outcome->failure = message->failure;
	finish(s);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
	struct supervisor *s = poll->data;
	struct message message;
	int more = 0;

	(void)status;
	(void)events;
	while (!uv_is_closing((uv_handle_t *)poll) &&
	       (more = sandbox_read(s->sandbox, &message)) > 0)
		on_message(s, &message);
	if (more < 0)
		finish(s);
}

static void on_signal(uv_poll_t *poll, int status, int events)
{
	struct supervisor *s = poll->data;
	struct signalfd_siginfo info;

	(void)status;
	(void)events;
	while (next_signal(s, &info)) {
		if (info.ssi_signo != SIGWINCH && info.ssi_signo != SIGCONT)
			questions_interrupt(s->questions);
		sandbox_signal(s->sandbox, (int)info.ssi_signo);
	}
}

int supervise_run(uv_loop_t *loop, struct sandbox *sandbox,
		  struct questions *questions, struct outcome *out)
{
	struct supervisor s = { .loop = loop,
				.sandbox = sandbox,
				.questions = questions,
				.outcome = out };
	sigset_t set;
	int error;

	*out = (struct outcome){ .kind = OUTCOME_FAILED };
	failure_set(&out->failure, 0, "the sandbox was killed from outside");
	signals_set(&set, signals_handed_on);
	s.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s.signals < 0)
		return -errno;
	sys_raise_file_limit();
	terminal_open(&s.terminal);
	error = watch(&s, &s.control_poll, sandbox->control, on_control);
	if (!error)
		error = watch(&s, &s.signal_poll, s.signals, on_signal);
	if (!error)
		error = questions_open(questions, loop, sandbox, &s.terminal);
	if (!error && sandbox->shared->plan.waits)
		sandbox_release(sandbox);
	if (!error)
		uv_run(loop, UV_RUN_DEFAULT);
	questions_close(questions);
	while (questions->handles)
		uv_run(loop, UV_RUN_NOWAIT);
	terminal_take_back(&s.terminal);
	terminal_close(&s.terminal);
	close(s.signals);
	return error;
}
