/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's own network namespace. */
#ifndef SRT_NETWORK_H
#define SRT_NETWORK_H

#include <stdint.h>

/**
 * network_up() - bring up the loopback interface
 * Context: the child, CAP_NET_ADMIN in its own network namespace.
 * Return: 0 or -errno.
 */
int network_up(void);

/**
 * network_listen() - a TCP listener on 127.0.0.1:@port of this namespace
 * Return: descriptor owned by the caller, or -errno.
 */
int network_listen(uint16_t port);

#endif
