/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is on the user's terminal. */
#ifndef SRT_TERMINAL_H
#define SRT_TERMINAL_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

/**
 * struct terminal - the controlling terminal, as found at the start
 * @fd: owned, -1 without a terminal
 * @ours: the caller's process group, if it had the terminal, else 0
 * @theirs: group inside that had it when the command stopped, else 0
 * @settings, @lender: of whoever had it before terminal_borrow()
 * @asking: the settings of terminal_borrow(), as the kernel took them
 */
struct terminal {
	int fd;
	pid_t ours;
	pid_t theirs;
	struct termios settings, asking;
	pid_t lender;
};

/** terminal_open() - take note of who has the terminal now */
void terminal_open(struct terminal *terminal);

/**
 * terminal_take_back() - when the command stopped or ended
 *
 * Only if the command took the terminal from our group, and we had it. What it
 * stopped by tcflow(3) goes on.
 * Context: SIGTTOU blocked.
 */
void terminal_take_back(struct terminal *terminal);

/** terminal_hand_over() - when the command goes on: to whom it was taken from
 */
void terminal_hand_over(struct terminal *terminal);

/**
 * terminal_askable() - is there a terminal, and is it ours or the command's?
 *
 * Not while the user's shell has it: then we are in the background.
 */
bool terminal_askable(const struct terminal *terminal);

/**
 * terminal_borrow() - take the terminal from the command, to ask something
 *
 * What was typed so far is dropped: it was for the command. Keys come one by
 * one, without echo, and none of them is a signal.
 * Context: SIGTTOU blocked, everything in the sandbox stopped.
 * Return: false, with nothing changed, where it can't be had.
 */
bool terminal_borrow(struct terminal *terminal);

/**
 * terminal_held() - is it still as terminal_borrow() has set it?
 *
 * Whoever has it open can have keys edited before we read them.
 */
bool terminal_held(const struct terminal *terminal);

/** terminal_return() - give it back as it was */
void terminal_return(struct terminal *terminal);

/** terminal_say() - write; false where the terminal does not take it */
bool terminal_say(const struct terminal *terminal, const char *text);

/** terminal_flush() - drop what was typed */
void terminal_flush(const struct terminal *terminal);

/** terminal_close() */
void terminal_close(struct terminal *terminal);

#endif
