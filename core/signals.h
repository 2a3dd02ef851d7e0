/* SPDX-License-Identifier: Apache-2.0 */
/* Which signals the host process takes, and holds back until it looks. */
#ifndef SRT_SIGNALS_H
#define SRT_SIGNALS_H

#include <signal.h>

#define SIGNALS_HANDED_ON 9
#define SIGNALS_ENDING 3

/* Both end with 0. */
/** signals_handed_on - a command gets those that reach the host process */
extern const int signals_handed_on[SIGNALS_HANDED_ON + 1];
/** signals_ending - they end a host process without a command */
extern const int signals_ending[SIGNALS_ENDING + 1];

#ifdef SIGRTMIN
/** SIGNALS_TIMER - the watchdog of a box, which nobody else sends */
#define SIGNALS_TIMER (SIGRTMIN + 6)
#endif

/**
 * signals_ours() - all whose disposition the host process ever changes, or who
 * works for it until a command is there
 */
void signals_ours(sigset_t *set);

/** signals_set() - of a list */
void signals_set(sigset_t *set, const int *list);

/**
 * signals_hold() - block a list; a broken pipe is an error, no signal
 *
 * Before whatever may make them come, so that none is lost in between.
 */
void signals_hold(const int *list);

/** signals_hold_for_command() - those handed on, and what would stop us */
void signals_hold_for_command(void);

/** signals_came() - one of them reached this process while a command ran */
void signals_came(int number);

/** signals_ended() - the command was ended by this one */
void signals_ended(int number);

/**
 * signals_repeat() - die of SIGINT where both that reached this process and the
 * command was ended by it
 *
 * A shell that waits goes on with its script where a program only says 130: the
 * signal was for the program then, as an editor takes it. Other signals are
 * told by the exit status.
 * Context: the last act of main().
 */
void signals_repeat(void);

#endif
