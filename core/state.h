/* SPDX-License-Identifier: Apache-2.0 */
/* A run's state file: what was made on the host, for whoever has to remove it.
 */
#ifndef SRT_STATE_H
#define SRT_STATE_H

#include <stdbool.h>
#include <stddef.h>

/**
 * state_create() - make a state file and hold it
 * @path: absolute
 * Return: a descriptor owned by the caller, locked (shared), or -errno; -EAGAIN
 * where somebody swept it at once.
 */
int state_create(const char *path, const void *text, size_t size);

/**
 * state_hold() - hold a state file, so that nobody sweeps it
 * @append: open it for writing at its end as well
 *
 * Each process of a run that something inside could outlive holds it by a lock
 * of its own; the kernel lets go when the process is gone, however it ends.
 * Return: a descriptor owned by the caller, or -errno.
 */
int state_hold(const char *path, bool append);

/**
 * state_claim() - take over a state file that nobody holds any more
 * Return: a descriptor owned by the caller, locked (exclusive), open for
 * reading; -EWOULDBLOCK while a process of the run lives, -EPERM where the file
 * is not the caller's alone.
 */
int state_claim(const char *path);

#endif
