/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a sandbox: start it, talk to it, end it. */
#include "core/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "core/descendants.h"
#include "core/inherited.h"
#include "core/launch.h"
#include "core/setup.h"
#include "core/system.h"

/* How often one looks for what the janitor finds out; milliseconds. */
#define IDENTITY_MS 1

/* First line of a file, or -1. */
static int read_number(const char *path)
{
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[16] = "";

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	return atoi(text);
}

/* Adds the cure to a failure that namespaces are the likely cause of. */
static void advise(struct failure *failure)
{
	const char *cure = NULL;
	size_t used = strlen(failure->text);

	if (failure->error != EPERM && failure->error != EACCES &&
	    failure->error != ENOSPC && failure->error != EUSERS &&
	    failure->error != ENOSYS)
		return;
	if (getenv("SANDBOX_RUNTIME"))
		cure = "this is inside of a sandbox already "
		       "(SANDBOX_RUNTIME is set): of srt-lua, its policy can "
		       "allow another one, with allowNestedUserNamespaces = "
		       "true";
	else if (read_number("/proc/sys/kernel/"
			     "apparmor_restrict_unprivileged_userns") == 1)
		cure = "AppArmor restricts user namespaces here "
		       "(kernel.apparmor_restrict_unprivileged_userns=1): "
		       "load srt-lua's profile, srt-lua doctor says how";
	else if (read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		cure = "set the sysctl kernel.unprivileged_userns_clone to 1";
	else if (read_number("/proc/sys/user/max_user_namespaces") == 0)
		cure = "raise the sysctl user.max_user_namespaces";
	else if (failure->error == ENOSYS)
		cure = "Linux 5.15 or newer is needed, and in a container no "
		       "seccomp profile that refuses it (Docker's does): "
		       "srt-lua doctor tells which it is";
	else
		cure = "in a container, a seccomp or LSM profile may refuse "
		       "namespaces or /proc may be masked: for Docker try "
		       "--security-opt seccomp=unconfined "
		       "--security-opt apparmor=unconfined "
		       "--security-opt systempaths=unconfined";
	snprintf(failure->text + used, sizeof(failure->text) - used, "; %s",
		 cure);
}

static bool was_removed(struct sandbox *sandbox, const struct message *message)
{
	sandbox->forgotten = message->kind == MESSAGE_FORGOTTEN;
	return sandbox->forgotten || message->kind == MESSAGE_REMOVED;
}

/* The janitor's last words, if it failed; blocks until it has spoken or ended.
 */
static int janitor_failure(struct sandbox *sandbox, struct failure *failure)
{
	struct message message;
	bool said = sys_receive(sandbox->janitor, &message, sizeof(message),
				NULL, NULL) == sizeof(message);

	sandbox->removed = said && was_removed(sandbox, &message);
	if (!said || message.kind != MESSAGE_FAILED)
		return failure_set(failure, 0,
				   "the sandbox was killed from outside");
	*failure = message.failure;
	failure->text[sizeof(failure->text) - 1] = '\0';
	return failure->error ? -failure->error : -EINVAL;
}

/*
 * Waits for PID 1, or with bubblewrap for a janitor that ends: bubblewrap's
 * first process may outlive that, with PID 1's socket. Return: does PID 1 say
 * something, or has it ended?
 */
static bool await_init(const struct sandbox *sandbox)
{
	bool ours = plan_in_namespaces(&sandbox->shared->plan);
	struct pollfd fds[] = { { .fd = sandbox->control, .events = POLLIN },
				{ .fd = ours ? -1 : sandbox->janitor } };

	while (poll(fds, ARRAY_SIZE(fds), -1) <= 0)
		;
	return fds[0].revents;
}

/* Of up to SYS_MAX_FDS points; those that are not there are -1. */
static int take_some(struct sandbox *sandbox, size_t points,
		     struct failure *failure)
{
	int *out = sandbox->listeners + sandbox->listener_count;
	int fds[SYS_MAX_FDS];
	size_t count = SYS_MAX_FDS, next = 0;
	struct message message;
	ssize_t size = await_init(sandbox)
			       ? sys_receive(sandbox->control, &message,
					     sizeof(message), fds, &count)
			       : 0;

	if (size == sizeof(message) && message.kind == MESSAGE_LISTENERS) {
		for (size_t i = 0; i < points; i++) {
			bool there = message.value & 1 << i && next < count;

			out[i] = there ? fds[next++] : -1;
		}
		sandbox->listener_count += points;
		return 0;
	}
	if (size == sizeof(message) && message.kind == MESSAGE_FAILED) {
		*failure = message.failure;
		return failure->error ? -failure->error : -EINVAL;
	}
	return janitor_failure(sandbox, failure);
}

static int take_listeners(struct sandbox *sandbox, struct failure *failure)
{
	size_t left = sandbox->shared->plan.listen_count, count;
	int error;

	do {
		count = left > SYS_MAX_FDS ? SYS_MAX_FDS : left;
		error = take_some(sandbox, count, failure);
		left -= count;
	} while (!error && left);
	return error;
}

/* Whoever is gone has said why: sandbox_await() reads it. */
static int order(struct sandbox *sandbox, enum message_kind kind)
{
	struct message message = { .kind = kind, .alone = sandbox->alone };
	int error =
		sys_send(sandbox->janitor, &message, sizeof(message), NULL, 0);

	/* Reset: it went away without reading what we had sent before. */
	return error == -EPIPE || error == -ECONNRESET ? 0 : error;
}

int sandbox_prepare(struct shared *shared, struct sandbox *out,
		    struct failure *failure)
{
	int error = shared->plan.bare ? identity_bare(&shared->plan.id) : 0;

	*out = (struct sandbox)SANDBOX_NONE;
	out->shared = shared;
	if (error)
		return failure_set(failure, -error, IDENTITY_UNREAD);
	shared->identified = shared->plan.bare;
	error = launch_janitor(out, failure);
	if (error)
		sandbox_end(out);
	else
		inherited_note(shared);
	return error;
}

void sandbox_prepare_bwrap(struct shared *shared, struct sandbox *out)
{
	*out = (struct sandbox)SANDBOX_NONE;
	out->shared = shared;
	inherited_note(shared);
	identity_alone(&shared->plan.id);
	shared->identified = true;
}

int sandbox_identity(struct sandbox *sandbox, struct failure *failure)
{
	struct pollfd janitor = { .fd = sandbox->janitor, .events = POLLIN };
	const struct shared *shared = sandbox->shared;

	while (shared && !shared->identified)
		if (poll(&janitor, 1, IDENTITY_MS) > 0 && !shared->identified)
			return janitor_failure(sandbox, failure);
	return 0;
}

/*
 * By us, since PID 1 and the janitor have enough to do, and share a processor:
 * what the disk takes for it would be the run's to wait for.
 */
static int make_temp(struct shared *shared, struct failure *failure)
{
	const char *path = shared->plan.temp_dir;

	int error;

	/* Before it is there, since we may end at any time. */
	shared->temp = path != NULL;
	if (!path || !mkdir(path, 0700))
		return 0;
	error = errno;
	/* What is there is not ours. */
	shared->temp = false;
	return failure_set(failure, error,
			   "cannot make the temporary directory %s", path);
}

/* In namespaces of ours PID 1 can't see the state file, so it is handed on. */
static int complete(struct sandbox *sandbox, enum message_kind kind,
		    struct failure *failure)
{
	const struct plan *plan = &sandbox->shared->plan;
	const struct message message = { .kind = kind };
	owned_fd int state = -1;
	int error = plan_in_namespaces(plan) ? setup_hold(plan, &state, failure)
					     : 0;

	if (error)
		return error;
	error = sys_send(sandbox->control, &message, sizeof(message), &state,
			 state >= 0);
	/* Whoever is gone has said why: sandbox_await() reads it. */
	if (!error || error == -EPIPE || error == -ECONNRESET)
		return 0;
	return failure_set(failure, -error,
			   "cannot hand the state file to PID 1%s",
			   error == -ETOOMANYREFS
				   ? ", since more descriptors of this user "
				     "are on their way than one process may "
				     "have open (ulimit -n)"
				   : "");
}

int sandbox_start(struct sandbox *sandbox, struct failure *failure)
{
	struct shared *shared = sandbox->shared;
	int error = 0;

	/*
	 * As a janitor is, in whose place we may have to be; PID 1 in
	 * namespaces of ours is our child anyway. Not before: what a secret's
	 * command has left, an agent of the user's, is not ours.
	 */
	if (!plan_in_namespaces(&shared->plan))
		(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	if (shared->plan.bwrap.program)
		error = launch_janitor(sandbox, failure);
	if (!error && !shared->built)
		error = make_temp(shared, failure);
	if (!error && shared->built)
		sandbox_order(sandbox, MESSAGE_GO);
	else if (!error)
		error = complete(sandbox, MESSAGE_GO, failure);
	/* Else PID 1 tells it. */
	if (!error && !plan_in_namespaces(&shared->plan))
		error = order(sandbox, MESSAGE_GO);
	if (error)
		advise(failure);
	return error;
}

void sandbox_redirect(struct sandbox *sandbox)
{
	sandbox->shared->redirected = true;
	sandbox_order(sandbox, MESSAGE_REDIRECT);
}

void sandbox_network(struct sandbox *sandbox)
{
	sandbox->shared->network = true;
	sandbox_order(sandbox, MESSAGE_NETWORK);
}

void sandbox_build(struct sandbox *sandbox)
{
	sandbox->shared->built = true;
	sandbox_order(sandbox, MESSAGE_BUILD);
}

int sandbox_make(struct sandbox *sandbox, struct failure *failure)
{
	int error = make_temp(sandbox->shared, failure);

	return error ? error : complete(sandbox, MESSAGE_MADE, failure);
}

void sandbox_release(struct sandbox *sandbox)
{
	sandbox_order(sandbox, MESSAGE_RELEASE);
}

int sandbox_await(struct sandbox *sandbox, struct failure *failure)
{
	int error = take_listeners(sandbox, failure);

	if (!error && fcntl(sandbox->control, F_SETFL, O_NONBLOCK))
		error = failure_set(failure, errno, "cannot start");
	reach_open(&sandbox->reach, sandbox->control);
	if (error)
		advise(failure);
	return error;
}

void sandbox_signal(struct sandbox *sandbox, int sig)
{
	struct message message = { .kind = MESSAGE_SIGNAL, .value = sig };

	(void)sys_send(sandbox->control, &message, sizeof(message), NULL, 0);
}

void sandbox_order(struct sandbox *sandbox, enum message_kind kind)
{
	struct message message = { .kind = kind };

	(void)sys_send(sandbox->control, &message, sizeof(message), NULL, 0);
}

void sandbox_freeze(struct sandbox *sandbox, uint32_t id)
{
	struct message message = { .kind = MESSAGE_FREEZE, .id = id };

	(void)sys_send(sandbox->control, &message, sizeof(message), NULL, 0);
}

void sandbox_lead(struct sandbox *sandbox,
		  void (*led)(void *context, int error), void *context)
{
	sandbox->led = led;
	sandbox->led_context = context;
	sandbox_order(sandbox, MESSAGE_LEAD);
}

static void tell_led(struct sandbox *sandbox, int error)
{
	void (*led)(void *context, int error) = sandbox->led;

	sandbox->led = NULL;
	if (led)
		led(sandbox->led_context, error);
}

/* Descriptors go to whoever waits for them. */
static void take_descriptors(struct sandbox *sandbox,
			     const struct message *message, int fds[2])
{
	if (message && message->kind == MESSAGE_SOCKET) {
		reach_answer(&sandbox->reach, message, steal_fd(&fds[0]));
	} else if (message && message->kind == MESSAGE_WATCH &&
		   sandbox->watched && fds[0] >= 0) {
		sandbox->watched(sandbox->watch_context, fds[0], fds[1]);
		return;
	} else if (message && message->kind == MESSAGE_STARTED &&
		   sandbox->command < 0) {
		sandbox->command = steal_fd(&fds[0]);
	}
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int sandbox_read(struct sandbox *sandbox, struct message *message)
{
	size_t count = 2;
	int fds[2] = { -1, -1 };
	ssize_t size = sys_receive(sandbox->control, message, sizeof(*message),
				   fds, &count);

	if (size == -EAGAIN)
		return 0;
	take_descriptors(sandbox, size == sizeof(*message) ? message : NULL,
			 fds);
	if (size == sizeof(*message) && message->kind == MESSAGE_LED)
		tell_led(sandbox, -message->value);
	if (size != sizeof(*message)) {
		if (size)
			return -EPIPE;
		*message = (struct message){ .kind = MESSAGE_FAILED };
		(void)janitor_failure(sandbox, &message->failure);
	}
	sandbox->alone = message->alone;
	message->failure.text[sizeof(message->failure.text) - 1] = '\0';
	if (message->kind == MESSAGE_FAILED)
		advise(&message->failure);
	return 1;
}

void sandbox_finish(struct sandbox *sandbox)
{
	if (sandbox->janitor >= 0 && !sandbox->finishing)
		(void)order(sandbox, MESSAGE_CLOSE);
	sandbox->finishing = true;
}

/* False: it was killed, or never there, and has done nothing of it. */
static bool await_janitor(struct sandbox *sandbox)
{
	struct message message;

	while (!sandbox->removed &&
	       sys_receive(sandbox->janitor, &message, sizeof(message), NULL,
			   NULL) == sizeof(message))
		sandbox->removed = was_removed(sandbox, &message);
	return sandbox->removed;
}

static void reap(pid_t child)
{
	if (child > 0)
		(void)sys_reap(child, NULL);
}

/*
 * Ends what a janitor that was killed has left. Others of our children, of a
 * shell that has executed us, are not ours to end.
 */
static void stand_in(const struct sandbox *sandbox, struct leaving *leaving)
{
	reap(leaving->janitor);
	if (sandbox->shared->plan.bwrap.program)
		(void)descendants_end();
	else if (leaving->init > 0)
		kill(leaving->init, SIGKILL);
	/* Returns when everything inside is dead. */
	reap(leaving->init);
	*leaving = (struct leaving){ 0 };
}

struct leaving sandbox_close(struct sandbox *sandbox)
{
	struct leaving leaving = { 0 };

	sandbox_finish(sandbox);
	if (sandbox->control >= 0)
		close(sandbox->control);
	if (sandbox->command >= 0)
		close(sandbox->command);
	if (sandbox->pid > 0) {
		bool removed = await_janitor(sandbox);

		leaving.janitor = sandbox->pid;
		if (plan_in_namespaces(&sandbox->shared->plan))
			leaving.init = sandbox->shared->init;
		if (!removed)
			stand_in(sandbox, &leaving);
	}
	if (sandbox->janitor >= 0)
		close(sandbox->janitor);
	for (size_t i = 0; i < sandbox->listener_count; i++)
		if (sandbox->listeners[i] >= 0)
			close(sandbox->listeners[i]);
	leaving.forgotten = sandbox->forgotten;
	*sandbox = (struct sandbox)SANDBOX_NONE;
	return leaving;
}

void sandbox_reap(const struct leaving *leaving)
{
	reap(leaving->init);
	reap(leaving->janitor);
}

void sandbox_end(struct sandbox *sandbox)
{
	const struct leaving leaving = sandbox_close(sandbox);

	sandbox_reap(&leaving);
}
