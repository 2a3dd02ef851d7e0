/* SPDX-License-Identifier: Apache-2.0 */
/* A process in new namespaces, and whose ids it has there. */
#include "core/namespaces.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "core/system.h"

pid_t namespaces_clone(uint64_t flags, int *pidfd)
{
	struct clone_args args = {
		.flags = flags | (pidfd ? CLONE_PIDFD : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		/* A sibling has the caller's: clone(2). */
		.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD,
	};
	long pid;

	if (sys_missing("userns"))
		return -EPERM;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	return pid < 0 ? -errno : (pid_t)pid;
}

bool namespaces_refused(int error)
{
	return error != -EAGAIN && error != -EMFILE && error != -ENOMEM;
}

int namespaces_enter(struct failure *failure)
{
	int error = sys_missing("netns")	  ? -EPERM
		    : unshare(NAMESPACES_ENTERED) ? -errno
						  : 0;

	return error ? failure_set(failure, -error, "cannot make namespaces")
		     : 0;
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
	return error ? failure_set(failure, -error,
				   "cannot write the %s of "
				   "the user namespace",
				   name)
		     : 0;
}

int namespaces_map(const struct identity *id, pid_t pid,
		   struct failure *failure)
{
	char path[64];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/setgroups", (int)pid);
	error = sys_write_file(path, "deny");
	if (error)
		return failure_set(failure, -error, "cannot write %s", path);
	error = write_map(pid, "uid_map", id->uids, id->uid_count, failure);
	return error ? error
		     : write_map(pid, "gid_map", id->gids, id->gid_count,
				 failure);
}
