/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent begins with, and may do for its callers or for a moment. */
#include <errno.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guard.h"

int guard_begin(struct guard *guard, const struct plan *plan)
{
	struct rlimit files;
	struct stat st;

	/* The caller's limit is for the command. */
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	guard_heed_alarms();
	if (stat("/proc", &st))
		return -errno;
	guard->keep = guard->caps = plan->id.caps;
	guard->umask = umask(022);
	(void)umask(guard->umask);
	guard->view = (struct guard_view){ .notify = &guard->notify,
					   .self = getpid(),
					   .proc = st.st_dev,
					   .powers = guard_powers,
					   .data = guard };
	return guard_rules_compile(&plan->guard, &guard->rules);
}

static int set_effective(const struct guard *guard, uint64_t caps)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	uint64_t permitted = guard->keep | guard->spare;
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)caps,
		  .permitted = (uint32_t)permitted },
		{ .effective = (uint32_t)(caps >> 32),
		  .permitted = (uint32_t)(permitted >> 32) },
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

void guard_raise(const struct guard *guard, int cap, bool on)
{
	uint64_t more = on ? UINT64_C(1) << cap & guard->spare : 0;

	/* With powers that it can't get rid of it may not go on. */
	if (set_effective(guard, guard->caps | more) && !on)
		_exit(1);
}

void guard_powers(void *data, bool on)
{
	guard_raise(data, CAP_SYS_PTRACE, on);
}

int guard_look(struct guard *guard,
	       int (*copy)(struct guard *guard, void *call,
			   struct notify_caller *caller),
	       void *call, struct notify_caller *caller)
{
	int error = copy(guard, call, caller);

	if (error != -EPERM && error != -EACCES)
		return error;
	guard_powers(guard, true);
	error = copy(guard, call, caller);
	guard_powers(guard, false);
	return error;
}

int guard_become(struct guard *guard, const struct notify_caller *caller)
{
	uint64_t caps = caller->caps & guard->keep;

	if (caps != guard->caps) {
		if (set_effective(guard, caps))
			return -EPERM;
		guard->caps = caps;
	}
	if (caller->umask != guard->umask)
		(void)umask(caller->umask);
	guard->umask = caller->umask;
	return 0;
}

int guard_take_on(struct guard *guard, const struct notify_caller *caller,
		  int error)
{
	if (!notify_valid(&guard->notify))
		return GUARD_ANSWERED;
	guard->view.process = caller->tgid;
	return error ? error : guard_become(guard, caller);
}
