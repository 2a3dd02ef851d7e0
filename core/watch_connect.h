/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a notified connect(2) would leave the sandbox. */
#ifndef SRT_WATCH_CONNECT_H
#define SRT_WATCH_CONNECT_H

struct guard;

/* Holds an IPv6 address in brackets, and a port. */
#define WATCH_INET_SIZE 64

/**
 * watch_leaves() - does the call in @guard->notify lead out of the sandbox?
 *
 * Where nothing leads there, it fails. A resolver on loopback counts as well:
 * nobody inside may serve port 53.
 * @text: of 1, ADDRESS:PORT
 * Return: 1, 0 for no, or -EPERM where the caller does not show itself.
 */
int watch_leaves(const struct guard *guard, char text[WATCH_INET_SIZE]);

#endif
