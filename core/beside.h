/* SPDX-License-Identifier: Apache-2.0 */
/* A process that shares our memory. */
#ifndef SRT_BESIDE_H
#define SRT_BESIDE_H

#include <sys/types.h>

/**
 * beside_start() - start a process that shares our memory and goes on with us
 *
 * It has its own id, descriptors, working directory and signals, lives on when
 * we die, and costs neither copies of page tables at its start nor their
 * removal at its end, which is most of what a process takes where the machine
 * is virtual. What libc keeps for each thread (errno, what malloc(3) has at
 * hand) it has from a thread that is made for it and runs no more.
 * Context: once in a process. With sanitizers, which know of no such thing, it
 * is a fork(2).
 * @main: never returns, all signals are blocked; on a stack of 256 KiB
 * Return: 0, or -errno.
 */
int beside_start(void (*main)(void *context), void *context);

/**
 * beside_pid() - its id, waiting until it is there
 * Return: as fork(2), or -errno where it could not be made; 0 if it never was.
 */
pid_t beside_pid(void);

#endif
