/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of a sandbox. */
#include "core/launch.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

static int make_pair(int *ours, int *other, struct failure *failure)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure_set(failure, errno, "cannot make a socket");
	*ours = pair[0];
	*other = pair[1];
	return 0;
}

static int make_sockets(struct sandbox *sandbox, struct janitor_sockets *others,
			struct failure *failure)
{
	int error = make_pair(&sandbox->control, &others->control, failure);

	if (!error)
		error = make_pair(&sandbox->janitor, &others->host, failure);
	return error ? error
		     : make_pair(&others->child, &others->setup, failure);
}

static void close_others(const struct janitor_sockets *others)
{
	const int fds[] = { others->host, others->control, others->child,
			    others->setup };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* With all signals blocked in what comes of it. */
static int fork_janitor(struct sandbox *sandbox,
			const struct janitor_sockets *others,
			struct failure *failure)
{
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	sandbox->pid = fork();
	if (sandbox->pid == 0) {
		/* End of file must reach the others when the host dies. */
		close(sandbox->control);
		close(sandbox->janitor);
		janitor_main(sandbox->shared, others);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return sandbox->pid < 0 ? failure_set(failure, errno, "cannot fork")
				: 0;
}

int launch_janitor(struct sandbox *sandbox, struct failure *failure)
{
	struct janitor_sockets others = JANITOR_SOCKETS_NONE;
	struct processors *processors = &sandbox->shared->processors;
	int error = make_sockets(sandbox, &others, failure);

	if (!error && plan_in_namespaces(&sandbox->shared->plan))
		processors_choose(processors);
	if (!error)
		error = fork_janitor(sandbox, &others, failure);
	if (!error)
		processors_part(sandbox->pid, processors);
	close_others(&others);
	return error;
}
