/* SPDX-License-Identifier: Apache-2.0 */
/* Netlink requests, put together in memory and sent at once. */
#ifndef SRT_NETLINK_H
#define SRT_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct netlink - requests to one part of the kernel
 * @at: of the message that is open
 * @answers: how many of them asked for one (NLM_F_ACK)
 * @failed: there was no room; netlink_talk() refuses
 *
 * A library (libmnl, libnftnl) would be loaded at every start, which costs more
 * than all that is sent here; and what is sent never varies in its form.
 */
struct netlink {
	_Alignas(8) unsigned char bytes[4096];
	size_t size;
	size_t at;
	size_t answers;
	bool failed;
};

/**
 * netlink_begin() - a request; whatever follows belongs to it
 * @header, @size: of the family, fixed
 */
void netlink_begin(struct netlink *batch, uint16_t type, uint16_t flags,
		   const void *header, size_t size);

/** netlink_put() - an attribute */
void netlink_put(struct netlink *batch, uint16_t type, const void *data,
		 size_t size);

/** netlink_put_be32() - one that nf_tables reads in network byte order */
void netlink_put_be32(struct netlink *batch, uint16_t type, uint32_t value);

/** netlink_put_text() - a string with its NUL */
void netlink_put_text(struct netlink *batch, uint16_t type, const char *text);

/** netlink_nest() - attributes within one; @return for netlink_unnest() */
size_t netlink_nest(struct netlink *batch, uint16_t type);
void netlink_unnest(struct netlink *batch, size_t nest);

/**
 * netlink_open() - a socket for requests
 * @protocol: NETLINK_ROUTE, ...
 * Return: owned by the caller, or -errno.
 */
int netlink_open(int protocol);

/**
 * netlink_talk() - send all requests and read their acknowledgements
 * @fd: of netlink_open(), or its error
 * Context: CAP_NET_ADMIN in the network namespace.
 * Return: 0, or the first failure as -errno.
 */
int netlink_talk(const struct netlink *batch, int fd);

#endif
