/* SPDX-License-Identifier: Apache-2.0 */
/* How much was sent to where nothing leads, by the kernel's own count. */
#ifndef SRT_UNREACHED_H
#define SRT_UNREACHED_H

#include <stdint.h>

/**
 * struct unreached - where the kernel counts for a network namespace
 * @v4, @v6: files of its proc(5); -1 for what is not there
 */
struct unreached {
	int v4;
	int v6;
};

/**
 * unreached_open() - open them, so that reading is all that is left to do
 * Context: in the namespace.
 */
void unreached_open(struct unreached *unreached);

/**
 * unreached_count() - attempts to leave this network namespace that failed
 *
 * Connections and datagrams, by whatever call, for which there was no route,
 * or that the redirect's chain refused (counters OutNoRoutes and OutDiscards,
 * RFC 4293). The kernel does not say where to. Counting costs who sends
 * nothing, and an attempt is counted once.
 * Context: PID 1, when the command has ended.
 * Return: how many, since the namespace was made; 0 where /proc doesn't tell.
 */
uint32_t unreached_count(const struct unreached *unreached);

#endif
