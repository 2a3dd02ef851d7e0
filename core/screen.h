/* SPDX-License-Identifier: Apache-2.0 */
/* The user's terminal, to draw on and to take keys from. */
#ifndef SRT_SCREEN_H
#define SRT_SCREEN_H

#include <stddef.h>
#include <sys/types.h>

enum screen_event {
	SCREEN_TIME,   /* nothing came */
	SCREEN_KEYS,   /* something was typed */
	SCREEN_RESIZE, /* it has another size */
	SCREEN_END,    /* a signal asks to end, or the terminal is gone */
};

/**
 * screen_begin() - keys come one by one from descriptor 0, none is a signal
 *
 * Signals that end a program, and that of another size, are told by
 * screen_wait() from now on.
 * Context: one thread, and one screen at a time.
 * Return: 0, or -errno where descriptor 0 is no terminal.
 */
int screen_begin(void);

/** screen_end() - the terminal and the signals as they were */
void screen_end(void);

/** screen_size() - of the terminal at descriptor 1; 24 and 80 where unknown */
void screen_size(int *rows, int *columns);

/**
 * screen_wait() - for whatever comes first
 * @keys: room for @most bytes
 * @got: how many of them were typed
 */
enum screen_event screen_wait(int milliseconds, char *keys, size_t most,
			      size_t *got);

/**
 * notice_begin() - say @text on descriptor 2 when notice_end() takes longer
 *
 * Nothing may be forked, and nothing else may wait for SIGALRM meanwhile.
 * @text: one line without its end; cut where it is long
 */
void notice_begin(const char *text, int milliseconds);

/** notice_end() - take it away again; may be called without a notice */
void notice_end(void);

#endif
