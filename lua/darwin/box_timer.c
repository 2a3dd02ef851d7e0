/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer of processor time where threads have none of their own: that of the
 * process, by setitimer(2). A tick that reaches another thread is passed on.
 * What other threads take (they look names up) counts as well, which is little.
 */
#include "lua/box_timer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static struct {
	pthread_t owner;
	void (*on_tick)(int signal_number);
} timer;

static void on_signal(int signal_number)
{
	if (pthread_equal(pthread_self(), timer.owner))
		timer.on_tick(signal_number);
	else
		(void)pthread_kill(timer.owner, signal_number);
}

int box_timer_make(void (*on_tick)(int signal_number))
{
	struct sigaction action = {
		.sa_handler = on_signal,
		.sa_flags = SA_RESTART,
	};
	sigset_t set;

	timer.owner = pthread_self();
	timer.on_tick = on_tick;
	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	if (sigaction(SIGPROF, &action, NULL) < 0 ||
	    pthread_sigmask(SIG_UNBLOCK, &set, NULL))
		return -EINVAL;
	return 0;
}

void box_timer_set(unsigned int ms)
{
	struct itimerval value = {
		.it_value = { ms / 1000, (int)(ms % 1000) * 1000 },
		.it_interval = { ms / 1000, (int)(ms % 1000) * 1000 },
	};

	(void)setitimer(ITIMER_PROF, &value, NULL);
}

void box_timer_drop(void)
{
	box_timer_set(0);
	signal(SIGPROF, SIG_IGN);
}
