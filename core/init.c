/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 of the sandbox: starts the command, reaps, forwards signals. */
#include "core/init.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/descendants.h"
#include "core/freeze.h"
#include "core/inside.h"
#include "core/message.h"
#include "core/redirect.h"
#include "core/remount.h"
#include "core/setup.h"
#include "core/system.h"
#include "core/unreached.h"

/*
 * kill(2) on a group reaches its members one after the other, so the host's
 * report and our own copy of a signal may come in either order.
 */
#define MATCH_MS 25
#define REMEMBER_MS 1000

struct init {
	struct command command;
	struct remount remount;
	struct freeze freeze;
	struct inside inside;
	const struct plan *plan;
	const struct redirect *redirect;
	int watch;
	int led; /* how that went; LED_NOT before */
	int control;
	int signals;
	int state; /* the state file, held until all else has ended; or -1 */
	int janitor;
	struct unreached unreached;
	bool counted;
	uint32_t count;		    /* of @unreached, then */
	long long own_at[NSIG];	    /* when we got it ourselves, 0 for never */
	long long forward_at[NSIG]; /* when to hand it on, 0 for not */
};

static void tell(struct init *init, enum message_kind kind, int value)
{
	struct message message = { .kind = kind, .value = value };

	(void)sys_send(init->control, &message, sizeof(message), NULL, 0);
}

/* The caller's: in a namespace of our own both are 0, for one not of it. */
static bool shares_group(const struct init *init)
{
	return getpgid(init->command.pid) == getpgrp();
}

/*
 * Ends all else. A PID namespace would end with us, but only with all that the
 * kernel has to take down of ours, and nobody need wait for that. Whoever is
 * killed forks no more, so once is enough.
 */
static void end_others(const struct init *init)
{
	if (init->plan->bare) {
		(void)descendants_end();
		return;
	}
	(void)kill(-1, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR)
		;
}

static _Noreturn void leave(const struct init *init, int status)
{
	end_others(init);
	_exit(status);
}

/* Once, when nothing is left that can do a thing. */
static void count(struct init *init)
{
	if (!init->counted && init->plan->watch.on && !init->plan->bare)
		init->count = unreached_count(&init->unreached);
	init->counted = true;
}

/* The last message: nothing of the run is left but us. */
static _Noreturn void leave_alone(struct init *init, struct message *message)
{
	end_others(init);
	/* Who ends the run has to have the file to itself. */
	if (init->state >= 0)
		close(init->state);
	count(init);
	message->id = init->count;
	message->alone = true;
	(void)sys_send(init->control, message, sizeof(*message), NULL, 0);
	/* It removes what was made while the host hears of the end. */
	if (init->janitor >= 0) {
		mounts_clear(init->plan);
		(void)setup_tell(init->janitor, MESSAGE_ALONE, -1);
	}
	remount_close(&init->remount);
	_exit(0);
}

static void freeze(struct init *init, uint32_t id)
{
	struct message message = { .kind = MESSAGE_FROZEN,
				   .value = !freeze_all(&init->freeze),
				   .id = id };

	(void)sys_send(init->control, &message, sizeof(message), NULL, 0);
}

static void host_reports(struct init *init, int sig)
{
	long long now = sys_now_ms();

	if (sig <= 0 || sig >= NSIG)
		return;
	if (!shares_group(init)) {
		kill(init->command.pid, sig);
	} else if (init->own_at[sig] && now - init->own_at[sig] < REMEMBER_MS) {
		init->own_at[sig] = 0;
	} else {
		init->forward_at[sig] = now + MATCH_MS;
	}
}

static void got_ourselves(struct init *init,
			  const struct signalfd_siginfo *info)
{
	int sig = (int)info->ssi_signo;

	/* A sender with a pid here is inside: that is between them and us. */
	if (sig == SIGCHLD || (info->ssi_pid != 0 && !init->plan->bare))
		return;
	if (init->command.missed & SIGNAL_BIT(sig))
		init->command.missed &= ~SIGNAL_BIT(sig);
	else if (init->forward_at[sig])
		init->forward_at[sig] = 0;
	else
		init->own_at[sig] = sys_now_ms();
}

static void read_signals(struct init *init)
{
	struct signalfd_siginfo info;

	while (read(init->signals, &info, sizeof(info)) == sizeof(info))
		got_ourselves(init, &info);
}

/* Hands on what is due; returns milliseconds to the next, or -1. */
static int forward_due(struct init *init)
{
	long long now = sys_now_ms(), next = -1;

	for (int sig = 1; sig < NSIG; sig++) {
		long long at = init->forward_at[sig];

		if (!at)
			continue;
		if (at <= now) {
			init->forward_at[sig] = 0;
			kill(init->command.pid, sig);
		} else if (next < 0 || at - now < next) {
			next = at - now;
		}
	}
	return (int)next;
}

static _Noreturn void command_ended(struct init *init, int status)
{
	struct message message = { .kind = MESSAGE_ENDED, .value = status };

	leave_alone(init, &message);
}

static void reap(struct init *init)
{
	/* Who is frozen has not stopped as far as anybody should know. */
	int options = WNOHANG | (init->freeze.frozen ? 0 : WUNTRACED);
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, options)) > 0) {
		if (pid != init->command.pid)
			continue;
		if (WIFSTOPPED(status)) {
			tell(init, MESSAGE_STOPPED, WSTOPSIG(status));
			continue;
		}
		command_ended(init, status);
	}
}

/* The report pipe: end of file when the command runs. */
static void read_report(struct init *init)
{
	struct command_report report;
	struct message message = { .kind = MESSAGE_STARTED,
				   .value = init->command.pid };
	owned_fd int pidfd = -1;
	ssize_t size;

	do {
		size = read(init->command.report, &report, sizeof(report));
	} while (size < 0 && errno == EINTR);
	close(init->command.report);
	init->command.report = -1;
	if (size == sizeof(report)) {
		message.kind =
			report.not_run ? MESSAGE_NOT_RUN : MESSAGE_FAILED;
		message.value = report.not_run;
		message.failure = report.failure;
	}
	if (message.kind != MESSAGE_STARTED)
		leave_alone(init, &message);
	pidfd = (int)syscall(SYS_pidfd_open, init->command.pid, 0U);
	if (pidfd < 0 ||
	    sys_send(init->control, &message, sizeof(message), &pidfd, 1))
		(void)sys_send(init->control, &message, sizeof(message), NULL,
			       0);
}

static void lead(struct init *init)
{
	if (init->led == LED_NOT)
		init->led = redirect_lead(init->redirect);
	tell(init, MESSAGE_LED, init->led < 0 ? -init->led : 0);
}

static void read_control(struct init *init)
{
	struct message message;
	ssize_t size = sys_receive(init->control, &message, sizeof(message),
				   NULL, NULL);

	if (size == 0 || (size < 0 && size != -EAGAIN))
		leave(init, 0);
	if (size != sizeof(message))
		return;
	if (message.kind == MESSAGE_SIGNAL) {
		host_reports(init, message.value);
	} else if (message.kind == MESSAGE_CONNECT) {
		inside_connect(&init->inside, &message);
	} else if (message.kind == MESSAGE_LEAD) {
		lead(init);
	} else if (message.kind == MESSAGE_FREEZE && !init->plan->bare) {
		freeze(init, message.id);
	} else if (message.kind == MESSAGE_THAW) {
		freeze_end(&init->freeze);
	}
}

static int open_signals(void)
{
	sigset_t all;
	struct signalfd_siginfo info;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	/* What came before the command is there was not for the command. */
	while (fd >= 0 && read(fd, &info, sizeof(info)) == sizeof(info))
		;
	return fd;
}

/*
 * What only the command needs: its terminal and pipes. Of the capabilities, in
 * the sandbox's own namespaces, stays what putting mounts back takes, and
 * redirecting where that is still to come, and what an agent will have. There
 * is nothing to be put back without namespaces.
 */
static int release(const struct init *init, const struct plan *plan)
{
	bool redirects = plan->redirect.port && init->led == LED_NOT;
	bool waits = init->command.listener >= 0;
	uint64_t more = UINT64_C(1) << CAP_SYS_ADMIN |
			(uint64_t)redirects << CAP_NET_ADMIN |
			(uint64_t)waits << CAP_SYS_PTRACE;
	int error = caps_set(plan->id.caps | (plan->bare ? 0 : more));

	if (!error && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		error = -errno;
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	for (size_t i = 0; i < plan->keep_count; i++)
		close(plan->keep_fds[i]);
	return error;
}

static void tell_remount(void *context, const struct message *message)
{
	const struct init *init = context;

	(void)sys_send(init->control, message, sizeof(*message), NULL, 0);
}

static int open_remount(struct init *init,
			const struct confinement *confinement)
{
	init->remount = (struct remount){ .changes = -1, .names = -1 };
	if (init->plan->bare)
		return 0;
	return remount_open(&init->remount, init->plan, confinement->masks,
			    tell_remount, init);
}

/* Once; without namespaces it was done before. */
static int hand_over(const struct init *init, struct handover *handover)
{
	return handover->listeners
		       ? handover_send(handover, init->plan, init->control)
		       : 0;
}

static int begin(struct init *init, const struct confinement *confinement)
{
	struct handover handover = confinement->handover;
	int error;

	init->signals = open_signals();
	if (init->signals < 0)
		return -errno;
	error = open_remount(init, confinement);
	if (!error && init->plan->waits)
		error = hand_over(init, &handover);
	init->command.changes = init->remount.changes;
	if (!error)
		error = command_start(confinement, init->control,
				      &init->command);
	if (!error)
		error = hand_over(init, &handover);
	init->led = error ? init->led : init->command.led;
	init->watch = confinement->watch;
	/* The agent has it. */
	if (init->watch >= 0 && init->command.listener < 0)
		close(init->watch);
	if (confinement->unused >= 0)
		close(confinement->unused);
	return error ? error : release(init, confinement->plan);
}

/* Somebody is notified, or nobody can be any more. */
static void wake_agent(struct init *init, short events)
{
	if (events & POLLIN)
		agent_wake(init->plan, init->command.listener, init->watch);
	else /* The last process is ending: that takes a while. */
		count(init);
	init->command.listener = -1;
}

static int timeout(struct init *init)
{
	int due = forward_due(init);
	int look = init->plan->bare ? -1 : remount_wait(&init->remount);

	return look < 0 || (due >= 0 && due < look) ? due : look;
}

static void watch_mounts(struct init *init, short changes, short names)
{
	if (!init->plan->bare &&
	    (changes || names || !remount_wait(&init->remount)))
		remount_check(&init->remount, names && !changes);
}

static _Noreturn void serve(struct init *init)
{
	struct pollfd fds[6 + INSIDE_MAX] = {
		{ .events = POLLIN }, { .events = POLLIN },
		{ .events = POLLIN }, { .events = POLLPRI },
		{ .events = POLLIN }, { .events = POLLIN }
	};

	for (;;) {
		nfds_t count = 6 + inside_watch(&init->inside, fds + 6);

		fds[0].fd = init->command.report;
		fds[1].fd = init->signals;
		fds[2].fd = init->control;
		fds[3].fd = init->remount.changes;
		fds[4].fd = init->remount.names;
		fds[5].fd = init->command.listener;
		if (poll(fds, count, timeout(init)) < 0) {
			/* Who hears nothing holds nothing: all ends here. */
			if (errno != EINTR && errno != ENOMEM)
				leave(init, 1);
			continue;
		}
		watch_mounts(init, fds[3].revents, fds[4].revents);
		if (fds[5].revents)
			wake_agent(init, fds[5].revents);
		if (fds[0].revents)
			read_report(init);
		if (fds[1].revents)
			read_signals(init);
		if (init->command.report < 0)
			reap(init);
		inside_progress(&init->inside, fds + 6);
		if (fds[2].revents)
			read_control(init);
	}
}

_Noreturn void init_run(const struct confinement *confinement, int control)
{
	struct init init = { .control = control,
			     .inside.control = control,
			     .plan = confinement->plan,
			     .redirect = &confinement->plan->redirect,
			     .state = confinement->state,
			     .janitor = confinement->janitor,
			     .unreached = confinement->unreached,
			     .led = confinement->led };
	struct message message = { .kind = MESSAGE_FAILED };
	int error = begin(&init, confinement);

	if (!error)
		serve(&init);
	failure_set(&message.failure, -error, "cannot start a process");
	(void)sys_send(control, &message, sizeof(message), NULL, 0);
	_exit(1);
}
