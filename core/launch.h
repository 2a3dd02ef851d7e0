/* SPDX-License-Identifier: Apache-2.0 */
/* The first processes of a sandbox. */
#ifndef SRT_LAUNCH_H
#define SRT_LAUNCH_H

#include "core/sandbox.h"

/**
 * launch_namespaces() - make PID 1 in all its namespaces
 * Return: 0 or -errno, @failure filled; what @sandbox has then is its own.
 */
int launch_namespaces(struct sandbox *sandbox, struct failure *failure);

/**
 * launch_beside() - make the janitor for it, beside us
 *
 * Before it there is nothing to be removed, and no need of one.
 */
int launch_beside(struct sandbox *sandbox, struct failure *failure);

/**
 * launch_janitor() - fork a janitor that starts the rest
 * Context: a plan without namespaces of ours.
 */
int launch_janitor(struct sandbox *sandbox, struct failure *failure);

/**
 * launch_end() - wait until they are there, and close what is only theirs
 * Return: 0 or -errno, @failure filled.
 */
int launch_end(struct sandbox *sandbox, struct failure *failure);

#endif
