/* SPDX-License-Identifier: Apache-2.0 */
/* What a command gets back that the host process changes for itself. */
#include "core/caller.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/signals.h"
#include "core/util.h"

void caller_save(struct caller *caller)
{
	struct sigaction action;
	struct rlimit files = { 1024, 1024 };
	sigset_t ours;

	signals_ours(&ours);
	sigemptyset(&caller->mask);
	sigprocmask(SIG_SETMASK, NULL, &caller->mask);
	sigemptyset(&caller->ignored);
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&ours, sig) && !sigaction(sig, NULL, &action) &&
		    action.sa_handler == SIG_IGN)
			sigaddset(&caller->ignored, sig);
	caller->umask = umask(077);
	(void)umask(caller->umask & 077);
	(void)getrlimit(RLIMIT_NOFILE, &files);
	caller->files_soft = files.rlim_cur;
	caller->files_hard = files.rlim_max;
}

#ifdef __SANITIZE_ADDRESS__
/* The sanitizers' own are all among those of faults. */
static void check(int sig)
{
	struct sigaction action;

	if (sig != SIGSEGV && sig != SIGBUS && sig != SIGFPE && sig != SIGILL &&
	    !sigaction(sig, NULL, &action) && action.sa_handler != SIG_DFL &&
	    action.sa_handler != SIG_IGN)
		abort();
}
#else
static void check(int sig)
{
	(void)sig;
}
#endif

void caller_restore(const struct caller *caller)
{
	struct rlimit files = { caller->files_soft, caller->files_hard };
	struct sigaction action = { 0 };
	sigset_t ours;

	signals_ours(&ours);
	for (int sig = 1; sig < NSIG; sig++) {
		if (!sigismember(&ours, sig)) {
			check(sig);
			continue;
		}
		action.sa_handler =
			sigismember(&caller->ignored, sig) ? SIG_IGN : SIG_DFL;
		(void)sigaction(sig, &action, NULL);
	}
	(void)setrlimit(RLIMIT_NOFILE, &files);
	(void)umask(caller->umask);
}

void caller_let_go(const int *keep, size_t count)
{
	owned_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
	for (size_t i = 0; i < count; i++)
		close(keep[i]);
}
