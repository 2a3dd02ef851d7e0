/* SPDX-License-Identifier: Apache-2.0 */
/* What of a sandbox this machine lets this caller build. */
#ifndef SRT_PROBE_H
#define SRT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/util.h"

/* All try it in a process of their own, by what a run is built with. */

/**
 * probe_namespaces() - may the caller make these, all at once?
 * @flags: CLONE_NEW…
 * Return: 0 or -errno.
 */
int probe_namespaces(uint64_t flags);

/**
 * probe_build() - all that a run builds before it knows its plan
 * @stage: set to what failed: "namespaces", "maps", "loopback", "tree" or
 *	"proc" (which is /dev as well); static
 * Return: 0, or -errno with @failure filled.
 */
int probe_build(const char **stage, struct failure *failure);

/**
 * probe_seccomp() - can a filter be installed?
 * @notify: one that asks a listener
 * Return: 0 or -errno.
 */
int probe_seccomp(bool notify);

/** probe_landlock() - can the write layer be entered? Return: 0 or -errno. */
int probe_landlock(void);

#endif
