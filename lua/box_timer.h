/* SPDX-License-Identifier: Apache-2.0 */
/* A timer of the processor time that the calling thread takes. */
#ifndef SRT_LUA_BOX_TIMER_H
#define SRT_LUA_BOX_TIMER_H

/**
 * box_timer_make - make the one timer, not running, for this thread
 * @on_tick: a signal's handler, called in this thread
 * Return: 0 or -errno.
 */
int box_timer_make(void (*on_tick)(int signal_number));

/** box_timer_set - tick each @ms of processor time; 0: no more */
void box_timer_set(unsigned int ms);

/** box_timer_drop - no tick comes any more */
void box_timer_drop(void);

#endif
