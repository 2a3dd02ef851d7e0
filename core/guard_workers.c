/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that may have to wait: interrupted in time, or in a process apart. */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/guard.h"

#define LOOK_EVERY_MS 20
#define HURRY_MS 2
/* Alarms without a hurry between them, until they end. */
#define QUIET_ALARMS 5

static volatile sig_atomic_t hurries, seen, quiet, armed;

static void set_alarm(long ms)
{
	const struct itimerval often = {
		.it_interval.tv_usec = ms * 1000,
		.it_value.tv_usec = ms * 1000,
	};

	(void)setitimer(ITIMER_REAL, &often, NULL);
}

static void on_alarm(int sig)
{
	(void)sig;
	quiet = seen == hurries ? quiet + 1 : 0;
	seen = hurries;
	if (!armed || quiet < QUIET_ALARMS)
		return;
	armed = 0;
	set_alarm(0);
}

/*
 * Alarms go on over many calls, since each setting takes a while. They can't
 * end between the first line here and what waits: that would be no quiet time.
 */
void guard_hurry(void)
{
	hurries = (hurries + 1) & 0xffff;
	if (armed)
		return;
	quiet = 0;
	armed = 1;
	set_alarm(HURRY_MS);
}

/* Without SA_RESTART: a call that waits is to come back. */
void guard_heed_alarms(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	sigset_t alarm;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	(void)sigaction(SIGALRM, &action, NULL);
	(void)sigprocmask(SIG_UNBLOCK, &alarm, NULL);
}

pid_t guard_fork(struct guard *guard, unsigned int most)
{
	pid_t pid;

	if (guard->workers >= most)
		return -EAGAIN;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid > 0) {
		guard->workers++;
		return pid;
	}
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) ||
	    getppid() != guard->view.self)
		_exit(1);
	if (guard->part)
		guard->part(guard);
	armed = 0;
	guard_heed_alarms();
	set_alarm(LOOK_EVERY_MS);
	return 0;
}

bool guard_goes_on(struct guard *guard)
{
	struct notify_caller caller = { 0 };
	int error = errno;

	if (!notify_valid(&guard->notify))
		_exit(0);
	(void)notify_status(&guard->notify, guard->view.thread, &caller);
	errno = error;
	return !caller.pending;
}

void guard_reap(struct guard *guard)
{
	while (guard->workers && waitpid(-1, NULL, WNOHANG) > 0)
		guard->workers--;
}
