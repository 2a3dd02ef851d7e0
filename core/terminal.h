/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is on the user's terminal. */
#ifndef SRT_TERMINAL_H
#define SRT_TERMINAL_H

#include <sys/types.h>

/**
 * struct terminal - the controlling terminal, as found at the start
 * @fd: owned, -1 without a terminal
 * @ours: the caller's process group, if it had the terminal, else 0
 * @theirs: group inside that had it when the command stopped, else 0
 */
struct terminal {
	int fd;
	pid_t ours;
	pid_t theirs;
};

/** terminal_open() - take note of who has the terminal now */
void terminal_open(struct terminal *terminal);

/**
 * terminal_take_back() - when the command stopped or ended
 *
 * Only if the command took the terminal from our group, and we had it.
 * Context: SIGTTOU blocked.
 */
void terminal_take_back(struct terminal *terminal);

/** terminal_hand_over() - when the command goes on: to whom it was taken from
 */
void terminal_hand_over(struct terminal *terminal);

/** terminal_close() */
void terminal_close(struct terminal *terminal);

#endif
