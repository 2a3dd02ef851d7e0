/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a notified call will likely be denied. */
#ifndef SRT_WATCH_CALLS_H
#define SRT_WATCH_CALLS_H

#include <stdbool.h>

#include "core/guard.h"
#include "core/watch_message.h"

/** watch_is_ours() - is a path in /proc or /dev, which are not looked at? */
bool watch_is_ours(const char *path);

/** watch_knows() - is it a call that is looked at by its paths? */
bool watch_knows(int number);

/** watch_closes() - was the open asked for with O_CLOEXEC? */
bool watch_closes(const struct seccomp_data *data);

/**
 * watch_find() - look at the paths of the call in @guard->notify
 *
 * Each path is tried as the caller would have it looked up, in one go from the
 * caller's own working directory or descriptor: for what may be written that is
 * one access(2), and nothing else. A path in /proc or /dev is nobody's
 * business; plain permissions may still make a suspect of what is not denied.
 * For learning a path is suspect whatever will be answered.
 * @from: 0 for the call's first path, and then where the next one begins
 * @message: its action and text are filled where one is suspect
 * Return: 1 where a path is suspect, 0, or -EPERM where the caller can't be
 * looked into.
 */
int watch_find(struct guard *guard, size_t *from,
	       struct watch_message *message);

#endif
