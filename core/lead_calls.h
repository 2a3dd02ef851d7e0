/* SPDX-License-Identifier: Apache-2.0 */
/* connect(2) led to the proxy by the agent, where nf_tables is missing. */
#ifndef SRT_LEAD_CALLS_H
#define SRT_LEAD_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/plan.h"

struct sockaddr;
struct sockaddr_storage;

/**
 * struct lead - where TCP that would leave is led to
 * @origins: borrowed, shared with the host; NULL where the agent leads nothing
 * @port: the proxy's, on 127.0.0.1 and ::1, in network byte order
 * @v4, @v6: the namespace's own addresses that are not loopback's
 */
struct lead {
	struct origins *origins;
	uint16_t port;
	uint8_t v4[4];
	uint8_t v6[16];
};

/** lead_open() - read what the plan says. Return: 0 or -errno. */
int lead_open(struct lead *lead, const struct redirect *redirect);

/**
 * lead_wants() - is this a connection that would leave?
 * @socket: of TCP, or it is none
 * @to, @size: the address, copied
 */
bool lead_wants(const struct lead *lead, int socket, const struct sockaddr *to,
		unsigned int size);

/**
 * lead_away() - have the proxy's address connected to instead
 *
 * The socket gets its port now, if it has none, for by that the host finds what
 * was noted. One that is connected already, or on its way, is left alone: what
 * connect(2) says of it doesn't depend on the address.
 * @to: of lead_wants(); replaced
 * @size: its size; set
 * Return: 0 or -errno.
 */
int lead_away(const struct lead *lead, int socket, struct sockaddr_storage *to,
	      unsigned int *size);

#endif
