/* SPDX-License-Identifier: Apache-2.0 */
/* The processor-time watchdog of the boxes: one timer for the process. */
#include "lua/box_watch.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lua/box_state.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define WATCH_SIGNAL (SIGRTMIN + 6)
#define TICKS_PER_LIMIT 4
#define IDLE_TICKS 2

/* What the signal handler sees; there is one timer, so one of these. */
static struct {
	timer_t timer;
	bool made;
	pthread_t owner;
	unsigned int ms;
	struct box *volatile run;
	volatile sig_atomic_t armed, ticks, idle;
} watch;

/* 0 disarms. */
static void set_timer(unsigned int ms)
{
	unsigned int tick = (ms + TICKS_PER_LIMIT - 1) / TICKS_PER_LIMIT;
	struct itimerspec spec = {
		.it_value = { tick / 1000, (long)(tick % 1000) * 1000000 },
		.it_interval = { tick / 1000, (long)(tick % 1000) * 1000000 },
	};

	timer_settime(watch.timer, 0, &spec, NULL);
}

static void die(void)
{
	static const char text[] =
		"srt-lua: the policy hangs beyond its processor time in code "
		"that cannot be interrupted; the run is ended\n";

	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(125);
}

/* As Lua's own lua.c does from a handler. */
static void expire(struct box *b, int how)
{
	b->expired = how;
	lua_sethook(b->running, box_hook, LUA_MASKCOUNT, 1);
}

static void on_tick(int signal_number)
{
	int saved = errno;
	struct box *b = watch.run;

	(void)signal_number;
	if (!b) {
		if (++watch.idle >= IDLE_TICKS) {
			watch.armed = 0;
			set_timer(0);
		}
	} else {
		/*
		 * Overruns don't count: on a busy virtual machine time that
		 * the hypervisor took comes as many ticks at once.
		 */
		watch.ticks++;
		/* The hook has its chance before the process ends. */
		if (b->expired && watch.ticks > 2 * TICKS_PER_LIMIT)
			die();
		if (watch.ticks > TICKS_PER_LIMIT)
			expire(b, 1);
	}
	errno = saved;
}

/* A fork has no timers; its first box makes one of its own. */
static void after_fork(void)
{
	watch.made = false;
	watch.armed = 0;
	watch.run = NULL;
}

int box_watch_ready(void)
{
	static bool registered;
	struct sigaction action = {
		.sa_handler = on_tick,
		.sa_flags = SA_RESTART,
	};
	struct sigevent event = {
		.sigev_notify = SIGEV_THREAD_ID,
		.sigev_signo = WATCH_SIGNAL,
		.sigev_notify_thread_id = gettid(),
	};
	sigset_t set;

	if (watch.made && pthread_equal(watch.owner, pthread_self()))
		return 0;
	if (!registered && pthread_atfork(NULL, NULL, after_fork))
		return -ENOMEM;
	registered = true;
	sigemptyset(&set);
	sigaddset(&set, WATCH_SIGNAL);
	if (sigaction(WATCH_SIGNAL, &action, NULL) < 0 ||
	    pthread_sigmask(SIG_UNBLOCK, &set, NULL))
		return -EINVAL;
	if (watch.made)
		timer_delete(watch.timer);
	watch.made = false;
	watch.armed = 0;
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &watch.timer) < 0)
		return -errno;
	watch.made = true;
	watch.owner = pthread_self();
	return 0;
}

void box_watch_start(struct box *b, unsigned int ms)
{
	watch.ticks = 0;
	watch.idle = 0;
	/* Before @armed is read: from here on no tick disarms. */
	watch.run = b;
	if (watch.armed && watch.ms == ms)
		return;
	watch.ms = ms;
	watch.armed = 1;
	set_timer(ms);
}

void box_watch_interrupt(void)
{
	struct box *b = watch.run;

	if (!b)
		return;
	expire(b, BOX_INTERRUPTED);
}

void box_watch_stop(void)
{
	watch.run = NULL;
}

/* A shared module may be unloaded: no tick may reach what is gone. */
__attribute__((destructor)) static void unload(void)
{
	if (!watch.made)
		return;
	timer_delete(watch.timer);
	signal(WATCH_SIGNAL, SIG_IGN);
}
