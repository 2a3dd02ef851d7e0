/* SPDX-License-Identifier: Apache-2.0 */
/* An agent inside, which carries out notified calls for the command. */
#include "core/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "core/command.h"
#include "core/guard_calls.h"
#include "core/guard_filter.h"
#include "core/landlock.h"
#include "core/lead_calls.h"
#include "core/notify.h"
#include "core/seccomp.h"
#include "core/socket_calls.h"
#include "core/system.h"
#include "core/watch.h"

static uint64_t spare_caps(const struct plan *plan)
{
	uint64_t caps = UINT64_C(1) << CAP_SYS_PTRACE;

	/* It opens the files that sockets are bound to, and is for that only.
	 */
	if (plan->sockets.on)
		caps |= UINT64_C(1) << CAP_NET_ADMIN;
	return caps;
}

static const struct notified *calls_of(const struct plan *plan, bool leads)
{
	return leads ? &plan->redirect.notified : &plan->notified;
}

bool agent_is_told(const struct notified *notified)
{
	return notified->key || notified->count;
}

/* Makes the calling process an agent that holds nothing it does not need. */
static int settle(const struct plan *plan, bool leads, struct guard *guard,
		  int socket, int watch)
{
	const int keep[] = { socket, watch };
	int error;

	sys_close_all_but(0, keep, watch < 0 ? 1 : 2);
	prctl(PR_SET_NAME, AGENT_NAME);
	(void)setpgid(0, 0);
	*guard = (struct guard){
		.spare = spare_caps(plan),
		.makes = plan->guard.on,
		.sockets = &plan->sockets,
		.network = socket_network(socket),
	};
	/* Not to be looked into, whatever it was forked from. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return -errno;
	error = guard_begin(guard, plan);
	if (!error && leads)
		error = lead_open(&guard->lead, &plan->redirect);
	if (!error)
		error = watch_open(&guard->watch, &plan->watch,
				   calls_of(plan, leads), watch);
	if (!error)
		error = caps_set(guard->keep | guard->spare);
	if (!error)
		guard_powers(guard, false);
	return error;
}

static int take_listener(struct guard *guard, int socket)
{
	int listener = -1;
	size_t count = 1;
	char word;

	/* The command's process failed, and has said why. */
	if (sys_receive(socket, &word, sizeof(word), &listener, &count) !=
		    sizeof(word) ||
	    !count)
		_exit(1);
	return notify_open(&guard->notify, listener);
}

/* What is decided here is carried out here; what is only looked at goes on. */
static void finish(struct guard *guard)
{
	const struct seccomp_notif *request = guard->notify.request;
	int number = request->data.nr;

	if (guard->makes && guard_serves(guard, &request->data))
		guard_serve(guard);
	else if ((guard->sockets->on || guard->lead.origins) &&
		 socket_serves(number))
		socket_serve(guard);
	else if (watch_serves(&guard->watch, number))
		notify_continue(&guard->notify);
	else
		notify_answer(&guard->notify, -ENOSYS);
}

static void serve(struct guard *guard)
{
	const struct seccomp_notif *request = guard->notify.request;
	int error;

	guard_reap(guard);
	guard->view.thread = (pid_t)request->pid;
	error = watch_refuses(guard);
	if (error)
		notify_answer(&guard->notify, error);
	else if (!watch_serves(&guard->watch, request->data.nr) ||
		 !watch_look(guard))
		finish(guard);
}

static _Noreturn void go_on(struct guard *guard)
{
	for (;;) {
		int error;

		if (!watch_wait(guard, finish))
			continue;
		error = notify_receive(&guard->notify);
		if (!error)
			serve(guard);
		else if (error == -ENOENT && notify_ended(&guard->notify))
			_exit(0);
		else if (error != -ENOENT && error != -EINTR)
			_exit(1);
	}
}

static _Noreturn void agent_main(const struct plan *plan, bool leads,
				 int socket, int watch)
{
	static struct guard guard;
	int error = settle(plan, leads, &guard, socket, watch);

	if (!error)
		error = take_listener(&guard, socket);
	if (!error)
		error = guard_filter_enter(plan->sockets.on, plan->watch.on,
					   leads);
	if (sys_send(socket, &error, sizeof(error), NULL, 0) || error)
		_exit(1);
	close(socket);
	go_on(&guard);
}

bool agent_waits(const struct plan *plan, bool leads)
{
	return plan->watch.on && !plan->bare && !plan->watch.asks &&
	       !plan->guard.on && !plan->sockets.on && !leads;
}

void agent_wake(const struct plan *plan, int listener, int watch)
{
	static struct guard guard;
	pid_t pid = fork();

	if (pid == 0) {
		if (settle(plan, false, &guard, listener, watch) ||
		    notify_open(&guard.notify, listener) ||
		    guard_filter_enter(false, true, false))
			_exit(1);
		go_on(&guard);
	}
	close(listener);
	close(watch);
}

/* fork(2), but the child is a sibling. */
static pid_t fork_sibling(void)
{
	struct clone_args args = { .flags = CLONE_PARENT };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? -errno : (pid_t)pid;
}

/*
 * A Landlock layer of its own that forbids nothing but signals: now the agent
 * is outside, and still may look in.
 */
static int part_from_agent(const struct plan *plan)
{
	const struct landlock_attr attr = { .scoped =
						    SRT_LANDLOCK_SCOPE_SIGNAL };
	owned_fd int ruleset = -1;

	if (!plan->scope_signals)
		return 0;
	ruleset = landlock_create(&attr);
	return ruleset < 0 ? ruleset : landlock_enter(ruleset);
}

int agent_start(const struct plan *plan, bool leads, int watch, int *agent,
		struct failure *failure)
{
	int pair[2], error;
	pid_t pid;

	*agent = -1;
	if (!agent_is_told(calls_of(plan, leads)))
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure_set(failure, errno, "cannot make a socket");
	pid = fork_sibling();
	if (pid == 0) {
		close(pair[0]);
		agent_main(plan, leads, pair[1], watch);
	}
	close(pair[1]);
	*agent = pair[0];
	error = pid < 0 ? pid : part_from_agent(plan);
	if (error)
		return failure_set(failure, -error,
				   "cannot start the agent inside");
	return 0;
}

/* What the agent would have refused, by the filter itself. */
static int refuse_without(const struct notified *notified,
			  struct failure *failure)
{
	struct sock_fprog program = { 0 };
	int error = seccomp_refusals(notified, &program, failure);

	return error ? error : seccomp_install(&program);
}

static const char *who_needs_it(const struct plan *plan)
{
	return plan->bare	  ? "backend = \"landlock\""
	       : plan->guard.on	  ? "createGuard = \"supervisor\""
	       : plan->sockets.on ? "network.allowUnixSockets"
	       : plan->watch.needed
		       ? "observe"
		       : "network.transparent, without nf_tables in the "
			 "kernel,";
}

static int filter_only(const struct sock_fprog *filter, struct failure *failure)
{
	int error = seccomp_install(filter);

	return error ? failure_set(failure, -error,
				   "cannot install the seccomp filter")
		     : 0;
}

/* @program: filter and notified calls as one. Return: as notify_install() */
static int notify_joined(const struct plan *plan, const struct notified *calls,
			 const struct sock_fprog *filter,
			 const struct sock_fprog *notified)
{
	struct sock_fprog joined = { 0 }; /* kept until exec */
	int error = seccomp_joined(plan->filter, calls->key, &joined)
			    ? 0
			    : seccomp_join(filter, notified, &joined);

	return error ? error : notify_install(&joined);
}

/*
 * Filter and notified calls, as one program where that can be had: the kernel
 * takes long over each.
 */
static int notify(const struct plan *plan, const struct notified *calls,
		  const struct sock_fprog *filter, int *listener,
		  struct failure *failure)
{
	struct sock_fprog notified = { 0 };
	int error = seccomp_get(calls->key, calls->rules, calls->count,
				&notified, failure);

	if (error)
		return error;
	*listener = notify_joined(plan, calls, filter, &notified);
	if (*listener >= 0)
		return 0;
	error = filter_only(filter, failure);
	if (!error)
		*listener = notify_install(&notified);
	return error;
}

int agent_enter(const struct plan *plan, const struct sock_fprog *filter,
		int *led, int agent, struct failure *failure)
{
	bool leads = *led == LED_BY_AGENT;
	bool needed = plan->bare || plan->guard.on || plan->sockets.on ||
		      plan->watch.needed || (leads && plan->redirect.needed);
	const struct notified *notified = calls_of(plan, leads);
	owned_fd int socket = agent, listener = -1;
	int error, answer;

	if (agent < 0)
		return filter_only(filter, failure);
	error = notify(plan, notified, filter, &listener, failure);
	if (error)
		return error;
	/* An old kernel, or somebody outside notifies already. */
	if (listener < 0 && !needed) {
		*led = leads ? listener : *led;
		return refuse_without(notified, failure);
	}
	error = listener < 0 ? listener : sys_send(socket, "", 1, &listener, 1);
	if (!error && agent_waits(plan, leads))
		return 0;
	/* An agent that could not settle has said why already. */
	if ((!error || error == -EPIPE) &&
	    sys_receive(socket, &answer, sizeof(answer), NULL, NULL) ==
		    sizeof(answer))
		error = answer;
	else if (!error)
		error = -EPIPE;
	if (error)
		return failure_set(failure, -error, "%s can't be held here",
				   who_needs_it(plan));
	return 0;
}
