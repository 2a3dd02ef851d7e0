/* SPDX-License-Identifier: Apache-2.0 */
/* The host process without a command: until a signal ends it. */
#ifndef SRT_ATTEND_H
#define SRT_ATTEND_H

#include <uv.h>

/**
 * attend_wait() - without a command: run the loop until one of signals_ending,
 * which signals_hold() holds
 * Return: which signal came, 0 where uv_stop() was called (then it may be
 * called again), or -errno.
 */
int attend_wait(uv_loop_t *loop);

#endif
