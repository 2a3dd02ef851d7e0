/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent may do for its callers, and for a moment of its own. */
#include <errno.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guard.h"

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
