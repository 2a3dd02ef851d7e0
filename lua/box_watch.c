/* SPDX-License-Identifier: Apache-2.0 */
/* The processor-time watchdog of the boxes: one timer for the process. */
#include "lua/box_watch.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "lua/box_state.h"
#include "lua/box_timer.h"

#define TICKS_PER_LIMIT 4
#define IDLE_TICKS 2

/* What the signal handler sees; there is one timer, so one of these. */
static struct {
	bool made;
	pthread_t owner;
	unsigned int ms;
	struct box *volatile run;
	volatile sig_atomic_t armed, ticks, idle;
} watch;

static void set_timer(unsigned int ms)
{
	box_timer_set((ms + TICKS_PER_LIMIT - 1) / TICKS_PER_LIMIT);
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
	int error;

	if (watch.made && pthread_equal(watch.owner, pthread_self()))
		return 0;
	if (!registered && pthread_atfork(NULL, NULL, after_fork))
		return -ENOMEM;
	registered = true;
	if (watch.made)
		box_timer_drop();
	watch.made = false;
	watch.armed = 0;
	watch.owner = pthread_self();
	error = box_timer_make(on_tick);
	if (error)
		return error;
	watch.made = true;
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
	box_timer_drop();
}
