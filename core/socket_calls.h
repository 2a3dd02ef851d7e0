/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out connect(2), and watches listen(2). */
#ifndef SRT_SOCKET_CALLS_H
#define SRT_SOCKET_CALLS_H

#include "core/guard.h"

/** socket_network() - cookie of a socket's network namespace; 0 for unknown */
uint64_t socket_network(int socket);

/** socket_serves() - is it one of these calls? */
bool socket_serves(int number);

/**
 * socket_serve() - carry out or refuse the call in @guard->notify, and answer
 * it
 *
 * connect(2): socket and address are taken once; from then on it is that socket
 * and, for a Unix socket's path, the one file that it led to. A file that is
 * seen through a read-only mount is asked of the rules by its real path: there
 * nobody inside can have put another one. Elsewhere only sockets that a process
 * of the sandbox listens on are reached. Sockets of other families, and
 * abstract names of the sandbox's own network namespace, are connected as they
 * are: the kernel keeps them inside.
 * TCP that would leave is led to the proxy where the kernel can't
 * (core/lead_calls.h).
 * listen(2): what a Unix socket is bound to is kept as the sandbox's own; the
 * call goes on.
 * Context: the agent, with the caller's mounts, root, ids and Landlock layers.
 */
void socket_serve(struct guard *guard);

/**
 * socket_connect() - carry out connect(2) of a Unix socket without namespaces
 *
 * As socket_serve() does it, but on a socket that the agent has itself. No
 * mount tells what nobody inside can have put there: the area does, which is
 * all that can be written.
 * @socket: borrowed; what the caller named by its number
 * Return: 0 or -errno, or GUARD_ANSWERED where a process of its own answers.
 */
int socket_connect(struct guard *guard, int socket);

#endif
