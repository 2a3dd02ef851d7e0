/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a sandbox: start it, talk to it, end it. */
#include "core/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/mounts.h"
#include "core/seccomp.h"
#include "core/setup.h"
#include "core/system.h"

#define NAMESPACES                                                        \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |      \
	 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

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
	if (read_number("/proc/sys/kernel/"
			"apparmor_restrict_unprivileged_userns") == 1)
		cure = "AppArmor restricts user namespaces here "
		       "(kernel.apparmor_restrict_unprivileged_userns=1): "
		       "install the profile that tools/quickstart offers, or "
		       "set the sysctl to 0";
	else if (read_number("/proc/sys/kernel/unprivileged_userns_clone") == 0)
		cure = "set the sysctl kernel.unprivileged_userns_clone to 1";
	else if (read_number("/proc/sys/user/max_user_namespaces") == 0)
		cure = "raise the sysctl user.max_user_namespaces";
	else if (failure->error == ENOSYS)
		cure = "Linux 5.15 or newer is needed";
	else
		cure = "in a container, a seccomp or LSM profile may refuse "
		       "namespaces or /proc may be masked: for Docker try "
		       "--security-opt seccomp=unconfined "
		       "--security-opt apparmor=unconfined "
		       "--security-opt systempaths=unconfined";
	snprintf(failure->text + used, sizeof(failure->text) - used, "; %s",
		 cure);
}

static int write_map(pid_t pid, const char *name,
		     const struct id_extent *extents, size_t count,
		     struct failure *failure)
{
	char path[64], text[4096];
	size_t used = 0;
	int error;

	for (size_t i = 0; i < count && used < sizeof(text) - 48; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%u %u %u\n", extents[i].first,
					 extents[i].first, extents[i].count);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	error = sys_missing("map") ? -EPERM : sys_write_file(path, text);
	return error ? failure_set(failure, -error, "cannot write the %s of "
						    "the user namespace",
				   name) :
		       0;
}

static int write_maps(const struct plan *plan, pid_t pid,
		      struct failure *failure)
{
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
	error = sys_write_file(path, "deny");
	if (error)
		return failure_set(failure, -error, "cannot write %s", path);
	error = write_map(pid, "uid_map", plan->uids, plan->uid_count,
			  failure);
	return error ? error :
		       write_map(pid, "gid_map", plan->gids, plan->gid_count,
				 failure);
}

static int clone_child(const struct plan *plan, const struct caller *caller,
		       struct sandbox *sandbox, int child_end,
		       struct failure *failure)
{
	struct clone_args args = {
		.flags = NAMESPACES | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&sandbox->pidfd,
		.exit_signal = SIGCHLD,
	};
	sigset_t all, before;
	long pid;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	pid = sys_missing("userns") ?
		      (errno = EPERM, -1L) :
		      syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		setup_run(plan, caller, child_end);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return failure_set(failure, errno, "cannot make namespaces");
	sandbox->pid = (pid_t)pid;
	return 0;
}

/* Built while the child mounts. */
static int send_filter(const struct plan *plan, struct sandbox *sandbox,
		       struct failure *failure)
{
	struct message message = { .kind = MESSAGE_FILTER };
	struct sock_fprog program = { 0 };
	owned_fd int fd = memfd_create("seccomp", MFD_CLOEXEC);
	size_t size;
	int error;

	error = seccomp_build(plan->rules, plan->rule_count, 0, &program,
			      failure);
	if (error)
		return error;
	size = program.len * sizeof(*program.filter);
	if (fd < 0 || write(fd, program.filter, size) != (ssize_t)size)
		error = failure_set(failure, EIO,
				    "cannot hand over the seccomp filter");
	free(program.filter);
	if (!error)
		error = sys_send(sandbox->control, &message, sizeof(message),
				 &fd, 1);
	return error == -EPIPE ? 0 : error; /* its failure is on its way */
}

static int send_go(const struct plan *plan, struct sandbox *sandbox,
		   struct failure *failure)
{
	struct message message = { .kind = MESSAGE_GO };
	owned_fd int masks = -1;
	int error = plan->root_caller ? mounts_masks(plan, &masks, failure) : 0;

	if (!error)
		error = write_maps(plan, sandbox->pid, failure);
	if (!error)
		error = janitor_ready(&sandbox->janitor, failure);
	if (error)
		return error;
	return sys_send(sandbox->control, &message, sizeof(message), &masks,
			masks >= 0);
}

static int take_listeners(struct sandbox *sandbox, struct failure *failure)
{
	struct message message;
	ssize_t size;

	sandbox->listener_count = ARRAY_SIZE(sandbox->listeners);
	size = sys_receive(sandbox->control, &message, sizeof(message),
			   sandbox->listeners, &sandbox->listener_count);
	if (size == sizeof(message) && message.kind == MESSAGE_LISTENERS)
		return 0;
	sandbox->listener_count = 0;
	if (size == sizeof(message) && message.kind == MESSAGE_FAILED) {
		*failure = message.failure;
		return failure->error ? -failure->error : -EINVAL;
	}
	return failure_set(failure, ECHILD, "the sandbox died in its set-up");
}

static int start(const struct plan *plan, const struct caller *caller,
		 struct sandbox *sandbox, struct failure *failure)
{
	owned_fd int child_end = -1;
	int pair[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure_set(failure, errno, "cannot make a socket");
	sandbox->control = pair[0];
	child_end = pair[1];
	error = janitor_start(plan, &sandbox->janitor, failure);
	if (!error)
		error = clone_child(plan, caller, sandbox, child_end, failure);
	if (error)
		return error;
	close(steal_fd(&child_end));
	error = send_go(plan, sandbox, failure);
	if (!error)
		error = send_filter(plan, sandbox, failure);
	if (!error)
		error = take_listeners(sandbox, failure);
	if (!error && fcntl(sandbox->control, F_SETFL, O_NONBLOCK))
		error = -errno;
	return error;
}

int sandbox_start(const struct plan *plan, const struct caller *caller,
		  struct sandbox *out, struct failure *failure)
{
	int error;

	*out = (struct sandbox){ .pidfd = -1,
				 .control = -1,
				 .janitor.pipe = -1 };
	error = start(plan, caller, out, failure);
	if (!error)
		return 0;
	if (!failure->text[0])
		failure_set(failure, -error, "cannot start the sandbox");
	advise(failure);
	sandbox_close(out);
	return error;
}

void sandbox_signal(struct sandbox *sandbox, int sig)
{
	struct message message = { .kind = MESSAGE_SIGNAL, .value = sig };

	(void)sys_send(sandbox->control, &message, sizeof(message), NULL, 0);
}

int sandbox_read(struct sandbox *sandbox, struct message *message)
{
	ssize_t size = sys_receive(sandbox->control, message, sizeof(*message),
				   NULL, NULL);

	if (size == -EAGAIN)
		return 0;
	if (size != sizeof(*message))
		return -EPIPE;
	message->failure.text[sizeof(message->failure.text) - 1] = '\0';
	if (message->kind == MESSAGE_FAILED)
		advise(&message->failure);
	return 1;
}

void sandbox_close(struct sandbox *sandbox)
{
	if (sandbox->control >= 0)
		close(sandbox->control);
	if (sandbox->pid > 0) {
		(void)syscall(SYS_pidfd_send_signal, sandbox->pidfd, SIGKILL,
			      NULL, 0U);
		while (waitpid(sandbox->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (sandbox->pidfd >= 0)
		close(sandbox->pidfd);
	for (size_t i = 0; i < sandbox->listener_count; i++)
		if (sandbox->listeners[i] >= 0)
			close(sandbox->listeners[i]);
	janitor_finish(&sandbox->janitor);
	*sandbox = (struct sandbox){ .pidfd = -1, .control = -1 };
}
