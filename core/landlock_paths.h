/* SPDX-License-Identifier: Apache-2.0 */
/* The Landlock ruleset of a plan without namespaces: all that is allowed. */
#ifndef SRT_LANDLOCK_PATHS_H
#define SRT_LANDLOCK_PATHS_H

#include "core/plan.h"
#include "core/util.h"

/**
 * landlock_paths_build() - a ruleset that allows the plan's paths, no TCP, and
 * neither signals nor connections to who is outside
 *
 * As far as the kernel's ABI goes; what it lacks is known before, and told
 * (backends/landlock.lua). What the command's descriptors may write already
 * stays writable by name.
 * Context: before seccomp, with those descriptors open.
 * @out: ruleset owned by the caller
 * Return: 0 or -errno, @failure filled.
 */
int landlock_paths_build(const struct plan *plan, int *out,
			 struct failure *failure);

/**
 * landlock_area_enter() - let nothing be written outside of the plan's area
 *
 * For the agent that makes names, and all that it starts. Who is not under it
 * can't be looked into either.
 * Context: sets no_new_privs.
 * Return: 0 or -errno, @failure filled.
 */
int landlock_area_enter(const struct plan *plan, struct failure *failure);

#endif
