/* SPDX-License-Identifier: Apache-2.0 */
/* What of a sandbox this machine lets this caller build. */
#include "core/probe.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/landlock.h"
#include "core/message.h"
#include "core/namespaces.h"
#include "core/notify.h"
#include "core/seccomp.h"
#include "core/setup.h"
#include "core/system.h"

/* A child ends with an errno value for its status. */
static int await(pid_t pid)
{
	int status, error = sys_reap(pid, &status);

	if (error)
		return error;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

int probe_namespaces(uint64_t flags)
{
	pid_t pid = namespaces_clone(flags, NULL);

	if (pid == 0)
		_exit(0);
	return pid < 0 ? (int)pid : await(pid);
}

/* What the child tells, in memory that both see. */
struct building {
	struct plan plan;
	bool entered;
	struct mounts mounts;
	struct failure failure;
};

static const char *stage_of(const struct building *building)
{
	if (!building->entered)
		return "namespaces";
	if (!building->mounts.old_root)
		return "loopback";
	return building->mounts.new_root < 0 ? "tree" : "proc";
}

static int build_inside(struct building *building, int setup)
{
	int error = namespaces_enter(&building->failure);

	building->entered = !error;
	return error ? error
		     : setup_begin(&building->plan, setup, &building->mounts,
				   &building->failure);
}

static int build(struct building *building, const char **stage)
{
	const struct message maps = { .kind = MESSAGE_MAPS };
	owned_fd int outer = -1, inner = -1;
	int pair[2], error;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure_set(&building->failure, errno,
				   "cannot make a socket");
	outer = pair[0];
	inner = pair[1];
	*stage = "namespaces";
	pid = namespaces_clone(NAMESPACES_CLONED, NULL);
	if (pid == 0) {
		close(outer);
		_exit(-build_inside(building, inner));
	}
	if (pid < 0)
		return failure_set(&building->failure, -pid,
				   "cannot make namespaces");
	close(steal_fd(&inner));
	*stage = "maps";
	error = namespaces_map(&building->plan.id, pid, &building->failure);
	if (error) {
		kill(pid, SIGKILL);
		(void)await(pid);
		return error;
	}
	(void)sys_send(outer, &maps, sizeof(maps), NULL, 0);
	error = await(pid);
	*stage = stage_of(building);
	return error;
}

int probe_build(const char **stage, struct failure *failure)
{
	struct building *building =
		mmap(NULL, sizeof(*building), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int error;

	*stage = "maps";
	if (building == MAP_FAILED)
		return failure_set(failure, errno, "no memory");
	error = identity_read(&building->plan.id);
	if (error)
		failure_set(&building->failure, -error, IDENTITY_UNREAD);
	else
		error = build(building, stage);
	if (error && !building->failure.text[0])
		failure_set(&building->failure, -error, "cannot be built");
	*failure = building->failure;
	(void)munmap(building, sizeof(*building));
	return error;
}

static int filter_here(bool notify)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = { .len = 1, .filter = &allow };
	int listener;

	if (!notify)
		return seccomp_install(&program);
	listener = notify_install(&program);
	return listener < 0 ? listener : 0;
}

static int layer_here(void)
{
	static const struct plan plan = { .landlock = true };
	int ruleset, error = landlock_build(&plan, &ruleset, NULL);

	if (!error && ruleset < 0)
		error = -EOPNOTSUPP;
	return error ? error : landlock_enter(ruleset);
}

int probe_seccomp(bool notify)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			      ? errno
			      : -filter_here(notify));
	return pid < 0 ? -errno : await(pid);
}

int probe_landlock(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? errno
							     : -layer_here());
	return pid < 0 ? -errno : await(pid);
}
