/* SPDX-License-Identifier: Apache-2.0 */
/* The first processes of a sandbox. */
#include "core/launch.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#include "core/beside.h"
#include "core/namespaces.h"
#include "core/setup.h"

static int make_pair(int *ours, int *other, struct failure *failure)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure_set(failure, errno, "cannot make a socket");
	*ours = pair[0];
	*other = pair[1];
	return 0;
}

static int make_sockets(struct sandbox *sandbox, struct failure *failure)
{
	struct janitor_sockets *others = &sandbox->others;
	int error = make_pair(&sandbox->control, &others->control, failure);

	if (!error)
		error = make_pair(&sandbox->janitor, &others->host, failure);
	return error ? error
		     : make_pair(&others->child, &others->setup, failure);
}

/* In a new process: end of file must reach the others when the host dies. */
static void part(const struct sandbox *sandbox)
{
	close(sandbox->control);
	close(sandbox->janitor);
}

static int clone_init(struct sandbox *sandbox, struct failure *failure)
{
	const struct janitor_sockets *others = &sandbox->others;
	pid_t pid = namespaces_clone(NAMESPACES_CLONED, &sandbox->others.init);

	if (pid == 0) {
		part(sandbox);
		close(others->host);
		close(others->child);
		setup_run(sandbox->shared, others->control, others->setup);
	}
	/* Its end is told by these, so nobody else may have them. */
	close(steal_fd(&sandbox->others.control));
	close(steal_fd(&sandbox->others.setup));
	if (pid < 0)
		return failure_set(failure, -pid, "cannot make namespaces");
	processors_part(pid, &sandbox->shared->processors);
	sandbox->init = pid;
	sandbox->shared->init = pid;
	return namespaces_map(&sandbox->shared->plan.id, pid, failure);
}

/* With all signals blocked in what it makes. */
static int blocked(struct sandbox *sandbox,
		   int (*make)(struct sandbox *sandbox,
			       struct failure *failure),
		   struct failure *failure)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	error = make(sandbox, failure);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

/* For the janitor beside us, whose memory this is. */
static struct {
	struct shared *shared;
	struct janitor_sockets sockets;
} its;

static void begin(void *unused)
{
	(void)unused;
	janitor_main(its.shared, &its.sockets);
}

int launch_namespaces(struct sandbox *sandbox, struct failure *failure)
{
	int error = make_sockets(sandbox, failure);

	if (error)
		return error;
	error = blocked(sandbox, clone_init, failure);
	failure->unavailable = error && namespaces_refused(error);
	if (!error)
		error = setup_tell(sandbox->others.child, MESSAGE_MAPS, -1);
	return error;
}

int launch_beside(struct sandbox *sandbox, struct failure *failure)
{
	int error;

	its.shared = sandbox->shared;
	its.sockets = sandbox->others;
	error = beside_start(begin, NULL);
	return error ? failure_set(failure, -error, "cannot make a process")
		     : 0;
}

static void close_others(struct sandbox *sandbox)
{
	struct janitor_sockets *others = &sandbox->others;
	const int fds[] = { others->host, others->control, others->child,
			    others->setup, others->init };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*others = (struct janitor_sockets)JANITOR_SOCKETS_NONE;
}

static int fork_janitor(struct sandbox *sandbox, struct failure *failure)
{
	sandbox->pid = fork();
	if (sandbox->pid == 0) {
		part(sandbox);
		janitor_main(sandbox->shared, &sandbox->others);
	}
	return sandbox->pid < 0 ? failure_set(failure, errno, "cannot fork")
				: 0;
}

int launch_janitor(struct sandbox *sandbox, struct failure *failure)
{
	int error = make_sockets(sandbox, failure);

	if (!error)
		error = blocked(sandbox, fork_janitor, failure);
	close_others(sandbox);
	return error;
}

int launch_end(struct sandbox *sandbox, struct failure *failure)
{
	if (sandbox->init)
		sandbox->pid = beside_pid();
	close_others(sandbox);
	return sandbox->pid < 0 ? failure_set(failure, -sandbox->pid,
					      "cannot make a process")
				: 0;
}
