/* SPDX-License-Identifier: Apache-2.0 */
/* A line for who waits longer than expected, which is taken away again. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/screen.h"

static const char erase[] = "\r\033[K";

static char line[160];
static size_t length;
static volatile sig_atomic_t shown;
static bool armed;
static struct sigaction before;

/* The work goes on meanwhile: only what is safe in a handler. */
static void show(int number)
{
	int error = errno;

	(void)number;
	if (write(2, line, length) > 0)
		shown = 1;
	errno = error;
}

void notice_begin(const char *text, int milliseconds)
{
	struct sigaction action = { .sa_handler = show,
				    .sa_flags = SA_RESTART };
	struct itimerval once = { .it_value = { .tv_sec = milliseconds / 1000,
						.tv_usec = milliseconds % 1000 *
							   1000L } };

	notice_end();
	(void)snprintf(line, sizeof(line), "%s", text);
	length = strlen(line);
	shown = 0;
	armed = !sigaction(SIGALRM, &action, &before) &&
		!setitimer(ITIMER_REAL, &once, NULL);
}

void notice_end(void)
{
	static const struct itimerval never;

	if (!armed)
		return;
	armed = false;
	(void)setitimer(ITIMER_REAL, &never, NULL);
	(void)sigaction(SIGALRM, &before, NULL);
	if (shown && write(2, erase, sizeof(erase) - 1) < 0)
		shown = 0;
}
