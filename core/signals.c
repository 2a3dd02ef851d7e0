/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals the host process takes, and holds back until it looks. */
#include "core/signals.h"

#include <stdbool.h>
#include <stddef.h>

const int signals_handed_on[SIGNALS_HANDED_ON + 1] = {
	SIGINT,	 SIGTERM,  SIGHUP,  SIGQUIT, SIGUSR1,
	SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT, 0
};
const int signals_ending[SIGNALS_ENDING + 1] = { SIGINT, SIGTERM, SIGHUP, 0 };

static struct {
	bool came;
	bool ended;
} interrupt;

void signals_ours(sigset_t *set)
{
	signals_set(set, signals_handed_on);
	sigaddset(set, SIGALRM);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGPIPE);
	sigaddset(set, SIGXFSZ);
	sigaddset(set, SIGPROF); /* the watchdog where there is no other */
#ifdef SIGNALS_TIMER
	sigaddset(set, SIGNALS_TIMER);
#endif
}

void signals_set(sigset_t *set, const int *list)
{
	sigemptyset(set);
	for (size_t i = 0; list[i]; i++)
		sigaddset(set, list[i]);
}

void signals_hold(const int *list)
{
	sigset_t set;

	signals_set(&set, list);
	sigprocmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

void signals_hold_for_command(void)
{
	sigset_t set;

	signals_hold(signals_handed_on);
	/* We stop when the command did, not by ourselves; and tcsetpgrp(3) is
	 * called from the background, too. */
	sigemptyset(&set);
	sigaddset(&set, SIGTTIN);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* Ignored by some callers: then wait(2) would learn no status. */
	(void)signal(SIGCHLD, SIG_DFL);
}

void signals_came(int number)
{
	interrupt.came |= number == SIGINT;
}

void signals_ended(int number)
{
	interrupt.ended = number == SIGINT;
}

void signals_repeat(void)
{
	sigset_t set;

	if (!interrupt.came || !interrupt.ended)
		return;
	(void)signal(SIGINT, SIG_DFL);
	(void)raise(SIGINT);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
