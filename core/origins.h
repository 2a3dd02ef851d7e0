/* SPDX-License-Identifier: Apache-2.0 */
/* Where connections were on their way to that the agent made to the proxy. */
#ifndef SRT_ORIGINS_H
#define SRT_ORIGINS_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * By the port that the caller's socket has on loopback, and by the family of
 * the proxy's listener. In memory that host process, PID 1 and agent share: the
 * agent writes before it connects and the host reads when it has accepted, so
 * nobody waits for anybody. What is read there is as good as what a client says
 * that asks for a CONNECT: the policy is asked about it, and it is dialled.
 */
struct origins;

/**
 * origins_new() - map them; pages come as they are touched
 * Return: owned by the caller until the process ends; NULL without memory.
 */
struct origins *origins_new(void);

/**
 * origins_shared() - the same, for a process that is no child as well
 * @fd: a file that it can map, owned by the caller; -1 on failure
 * origins_map() - what another process has, of such a file; else NULL
 * origins_free() - take a mapping away; may be NULL
 */
struct origins *origins_shared(int *fd);
struct origins *origins_map(int fd);
void origins_free(struct origins *origins);

/**
 * origins_put() - note where a socket is to go
 * @local: its name, with a port; an address of IPv6 that holds one of IPv4, and
 *	a socket that may have either, are what @to says
 * @to: of IPv4 or IPv6
 * Return: false for another family.
 */
bool origins_put(struct origins *origins, const struct sockaddr *local,
		 const struct sockaddr *to);

/**
 * origins_take() - what was noted of a client, once
 * @peer: its end, of the family that the listener is of
 * Return: false where nothing is.
 */
bool origins_take(struct origins *origins, const struct sockaddr *peer,
		  struct sockaddr_storage *to);

#endif
