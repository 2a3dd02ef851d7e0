/* SPDX-License-Identifier: Apache-2.0 */
/* The last wall: a processor-time watchdog for C code that no hook stops. */
#ifndef SRT_LUA_BOX_WATCH_H
#define SRT_LUA_BOX_WATCH_H

struct box;

/**
 * box_watch_start - watch a run of @b
 * @ms: processor time of this thread. When it is over, the box's hook is set
 *	to throw at the next instruction; at about twice that the process
 *	writes one line to stderr and ends with status 125, because then C
 *	code hangs and no verdict could ever come.
 *
 * The timer keeps ticking (four ticks to a limit) while runs follow each
 * other, so that a call costs no system call; it is disarmed by an idle tick.
 */
void box_watch_start(struct box *b, unsigned int ms);

/** box_watch_interrupt - end the run there is; from a signal handler */
void box_watch_interrupt(void);

/** box_watch_stop - the run is over */
void box_watch_stop(void);

/**
 * box_watch_ready - make the timer, once for this thread
 *
 * Return: 0 or -errno; without a watchdog no policy may run.
 */
int box_watch_ready(void);

#endif
