/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of the caller's own, joined to two descriptors. */
#ifndef SRT_CARRY_H
#define SRT_CARRY_H

#include <stddef.h>
#include <stdint.h>

/**
 * carry_dial() - connect to @host on @port, one address after the other
 *
 * Blocks, for resolving too. Process: a helper in the sandbox, no privilege.
 * Return: a socket owned by the caller, -errno, or -EAI_* - 1000 from
 * getaddrinfo(3).
 */
int carry_dial(const char *host, uint16_t port);

/** carry_send() - write all of @data; 0 or -errno. SIGPIPE is not raised. */
int carry_send(int socket, const void *data, size_t size);

/**
 * carry_both() - copy @in to @socket and @socket to @out until both ended
 *
 * Each end is passed on by itself (shutdown(2), close(2)), so half-closed
 * connections work. The descriptors' modes stay as they are: they may be
 * shared with others; hence a thread for each way. @out is closed.
 * Return: 0, or -errno of what failed first on the connection.
 */
int carry_both(int in, int out, int socket);

#endif
