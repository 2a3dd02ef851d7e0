/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A timer of the calling thread's processor time, by SIGNALS_TIMER:
 * timer_create(2), CLOCK_THREAD_CPUTIME_ID.
 */
#include "lua/box_timer.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "core/signals.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static timer_t the_timer;

int box_timer_make(void (*on_tick)(int signal_number))
{
	struct sigaction action = {
		.sa_handler = on_tick,
		.sa_flags = SA_RESTART,
	};
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = SIGNALS_TIMER,
		.sigev_notify_thread_id = gettid(),
	};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGNALS_TIMER);
	if (sigaction(SIGNALS_TIMER, &action, NULL) < 0 ||
	    pthread_sigmask(SIG_UNBLOCK, &set, NULL))
		return -EINVAL;
	return timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &the_timer) < 0
		       ? -errno
		       : 0;
}

void box_timer_set(unsigned int ms)
{
	struct itimerspec spec = {
		.it_value = { ms / 1000, (long)(ms % 1000) * 1000000 },
		.it_interval = { ms / 1000, (long)(ms % 1000) * 1000000 },
	};

	timer_settime(the_timer, 0, &spec, NULL);
}

void box_timer_drop(void)
{
	timer_delete(the_timer);
	signal(SIGNALS_TIMER, SIG_IGN);
}
