/* SPDX-License-Identifier: Apache-2.0 */
/* The first process of a sandbox. */
#ifndef SRT_LAUNCH_H
#define SRT_LAUNCH_H

#include "core/sandbox.h"

/**
 * launch_janitor() - fork the janitor, which starts the rest
 * Return: 0 or -errno, @failure filled; what @sandbox has then is its own.
 */
int launch_janitor(struct sandbox *sandbox, struct failure *failure);

#endif
