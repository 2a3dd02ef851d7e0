/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does not stay stopped, for test_ask.py:
 *
 *	restless COUNT MS	COUNT timers continue it, each every MS
 *
 * It counts in the file "ran" how often it runs.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64 };

static void on_signal(int sig)
{
	(void)sig;
}

/* The signal may be dropped by a stop, and its timer is silent then. */
static void arm(const timer_t *timers, int count, long ms)
{
	for (int i = 0; i < count; i++) {
		/* One after the other, not all at once. */
		long ns = ms * 1000000 * (i + 1) / count;
		struct itimerspec at = { .it_value = { ns / 1000000000,
						       ns % 1000000000 } };

		if (timer_settime(timers[i], 0, &at, NULL))
			exit(1);
	}
}

int main(int argc, char **argv)
{
	int count = argc == 3 ? atoi(argv[1]) : 0;
	int ran = open("ran", O_WRONLY | O_CREAT | O_APPEND, 0600);
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = SIGCONT };
	struct sigaction action = { .sa_handler = on_signal };
	timer_t timers[MOST];

	if (count < 1 || count > MOST || ran < 0)
		return 1;
	sigaction(SIGCONT, &action, NULL);
	for (int i = 0; i < count; i++)
		if (timer_create(CLOCK_MONOTONIC, &event, &timers[i]))
			return 1;
	for (;;) {
		arm(timers, count, atol(argv[2]));
		pause();
		(void)!write(ran, "x", 1);
	}
}
