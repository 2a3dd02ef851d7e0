/* SPDX-License-Identifier: Apache-2.0 */
/* The sandbox's own network namespace. */
#ifndef SRT_NETWORK_H
#define SRT_NETWORK_H

#include <stdint.h>

#include "core/plan.h"

/**
 * network_up() - bring up the loopback interface
 * Context: the child, CAP_NET_ADMIN in its own network namespace.
 * Return: 0 or -errno.
 */
int network_up(void);

/**
 * network_listen() - a TCP listener, or UDP socket, in this namespace
 * Context: PID 1, also for ports below 1024 (CAP_NET_BIND_SERVICE).
 * Return: descriptor owned by the caller, or -errno; -EADDRNOTAVAIL also where
 * there is no IPv6 at all.
 */
int network_listen(const struct listen_point *point);

/** network_port() - the port that a socket has; 0 for none */
uint16_t network_port(int fd);

/**
 * network_connect() - begin to connect to a server on loopback
 * @family: AF_INET for 127.0.0.1, AF_INET6 for ::1
 * @fd: set to the non-blocking socket, owned by the caller, or -1
 * Return: 0 when connected, -EINPROGRESS (its end shows as POLLOUT), or -errno
 * without a socket.
 */
int network_connect(int family, uint16_t port, int *fd);

#endif
