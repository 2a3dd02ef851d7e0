/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of a sandbox without namespaces: all that connects is its work. */
#include "core/bare_agent.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/bare_calls.h"
#include "core/command.h"
#include "core/system.h"

/* Or the other end would see them open for as long as somebody waits. */
static void close_sockets(struct guard *guard)
{
	struct bare_agent *agent =
		(void *)((char *)guard - offsetof(struct bare_agent, guard));

	for (size_t i = 0; i < ARRAY_SIZE(agent->sockets); i++)
		if (agent->sockets[i].inode && agent->sockets[i].fd >= 0)
			close(agent->sockets[i].fd);
}

/* What making names takes besides. */
static int open_area(struct bare_agent *agent)
{
	const struct plan *plan = agent->plan;
	struct guard *guard = &agent->guard;
	int error = guard_begin(guard, plan);

	guard->sockets = &plan->sockets;
	guard->part = close_sockets;
	guard->area = &agent->area;
	if (!error)
		error = area_open(&plan->area, &guard->rules, &agent->area);
	return error ? error
		     : watch_open(&guard->watch, &plan->watch, &plan->notified,
				  agent->watch);
}

/* Returns the listener, once the command's process has sent it. */
static int take_listener(struct bare_agent *agent, int socket)
{
	int listener = -1, error;
	size_t count = 1;
	char word;

	if (sys_receive(socket, &word, sizeof(word), &listener, &count) <= 0 ||
	    !count)
		return -1;
	error = notify_open(&agent->guard.notify, listener);
	if (!error && agent->plan->area.on)
		error = open_area(agent);
	(void)sys_send(socket, &error, sizeof(error), NULL, 0);
	return error ? -1 : listener;
}

/*
 * It runs no program; and by a filter more than theirs sessions know that who
 * connects to them is none of the host (lua/srt/peer.lua).
 */
static int confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = { ARRAY_SIZE(code), code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) ? -errno
								    : 0;
}

/* It holds no capability that the command has not, and nothing of its own. */
static int settle(const struct bare_agent *agent, int socket)
{
	const int keep[] = { socket, agent->watch };
	int error;

	sys_close_all_but(0, keep, agent->watch < 0 ? 1 : 2);
	prctl(PR_SET_NAME, AGENT_NAME);
	(void)setpgid(0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	error = confine();
	return error ? error : caps_set(agent->plan->id.caps);
}

_Noreturn void bare_agent_run(struct bare_agent *agent, int socket)
{
	int error = settle(agent, socket);
	struct pollfd fds[] = { { .events = POLLIN },
				{ .fd = socket, .events = POLLIN },
				{ .fd = -1, .events = POLLIN } };

	fds[0].fd = (int)syscall(SYS_pidfd_open, agent->init, 0);
	if (error || fds[0].fd < 0)
		_exit(1);
	for (;;) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
			if (errno != EINTR)
				_exit(1);
			continue;
		}
		/* The janitor sees to all that is left. */
		if (fds[0].revents)
			_exit(0);
		if (fds[1].revents) {
			fds[2].fd = take_listener(agent, socket);
			fds[1].fd = -1;
			close(socket);
		}
		if (fds[2].revents & POLLIN) {
			error = notify_receive(&agent->guard.notify);
			if (!error)
				bare_serve(agent);
		} else if (fds[2].revents) {
			fds[2].fd = -1; /* nobody is left to be notified */
		}
	}
}
