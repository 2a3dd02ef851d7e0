/* SPDX-License-Identifier: Apache-2.0 */
/* Confines a process for good and makes it the command. */
#include "core/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "core/create_guard.h"
#include "core/landlock.h"
#include "core/seccomp.h"
#include "core/system.h"

extern char **environ;

void caller_save(struct caller *caller)
{
	struct sigaction action;
	struct rlimit files = { 1024, 1024 };

	sigemptyset(&caller->mask);
	sigprocmask(SIG_SETMASK, NULL, &caller->mask);
	sigemptyset(&caller->ignored);
	for (int sig = 1; sig < NSIG; sig++)
		if (!sigaction(sig, NULL, &action) &&
		    action.sa_handler == SIG_IGN)
			sigaddset(&caller->ignored, sig);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	caller->files_soft = files.rlim_cur;
	caller->files_hard = files.rlim_max;
}

int caps_drop(uint64_t keep)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	for (int cap = 0; cap < 64; cap++) {
		if (keep & (UINT64_C(1) << cap))
			continue;
		/* EINVAL: past the last capability of this kernel. */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0)) {
			if (errno == EINVAL)
				break;
			return -errno;
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	for (int half = 0; half < 2; half++) {
		data[half].permitted = (uint32_t)(keep >> (32 * half));
		data[half].effective = data[half].permitted;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static void restore_caller(const struct caller *caller)
{
	struct rlimit files = { caller->files_soft, caller->files_hard };
	struct sigaction action = { 0 };

	for (int sig = 1; sig < NSIG; sig++) {
		action.sa_handler =
			sigismember(&caller->ignored, sig) ? SIG_IGN : SIG_DFL;
		(void)sigaction(sig, &action, NULL);
	}
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

/* Everything above 2 closes at exec, but what the caller asked to keep. */
static int close_others(const struct plan *plan)
{
	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC))
		return -errno;
	for (size_t i = 0; i < plan->keep_count; i++)
		if (fcntl(plan->keep_fds[i], F_SETFD, 0))
			return -errno;
	return 0;
}

static int confine(const struct plan *plan, const struct sock_fprog *filter,
		   int ruleset, struct failure *failure)
{
	int error = close_others(plan);
	owned_fd int agent = -1;

	if (error)
		return failure_set(failure, -error, "cannot close descriptors");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failure_set(failure, errno, "cannot set no_new_privs");
	if (ruleset >= 0) {
		error = landlock_enter(ruleset);
		if (error)
			return failure_set(failure, -error,
					   "cannot enter Landlock");
	}
	error = create_guard_start(plan, &agent, failure);
	if (error)
		return error;
	error = caps_drop(plan->caps);
	if (error)
		return failure_set(failure, -error, "cannot drop capabilities");
	error = seccomp_install(filter);
	if (error)
		return failure_set(failure, -error,
				   "cannot install the seccomp filter");
	return create_guard_enter(plan, steal_fd(&agent), failure);
}

static _Noreturn void command_main(const struct plan *plan,
				   const struct caller *caller,
				   const struct sock_fprog *filter, int ruleset,
				   int report)
{
	struct command_report result = { 0 };

	restore_caller(caller);
	if (confine(plan, filter, ruleset, &result.failure) == 0) {
		environ = (char **)plan->env;
		sigprocmask(SIG_SETMASK, &caller->mask, NULL);
		execvp(plan->argv[0], (char *const *)plan->argv);
		result.not_run = errno;
	}
	(void)!write(report, &result, sizeof(result));
	_exit(125);
}

pid_t command_start(const struct plan *plan, const struct caller *caller,
		    const struct sock_fprog *filter, int ruleset, int *report)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0) {
		/* A kept descriptor may not be mistaken for ours. */
		command_main(plan, caller, filter, ruleset, ends[1]);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -errno;
	}
	*report = ends[0];
	return pid;
}
