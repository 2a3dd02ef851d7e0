/* SPDX-License-Identifier: Apache-2.0 */
/* Netlink requests, put together in memory and sent at once. */
#include "core/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

#include "core/util.h"

/* Zeroed room, padded as netlink wants it; NULL where there is none. */
static void *take(struct netlink *batch, size_t size)
{
	size_t whole = NLMSG_ALIGN(size);
	unsigned char *room = batch->bytes + batch->size;

	if (batch->failed || whole > sizeof(batch->bytes) - batch->size) {
		batch->failed = true;
		return NULL;
	}
	batch->size += whole;
	return memset(room, 0, whole);
}

/* Lengths are without the padding at the end, which is none here. */
static void close_message(struct netlink *batch)
{
	struct nlmsghdr *header = (void *)(batch->bytes + batch->at);

	header->nlmsg_len = (uint32_t)(batch->size - batch->at);
}

void netlink_begin(struct netlink *batch, uint16_t type, uint16_t flags,
		   const void *header, size_t size)
{
	size_t at = batch->size;
	struct nlmsghdr *message = take(batch, sizeof(*message));
	void *rest = take(batch, size);

	if (!message || !rest)
		return;
	message->nlmsg_type = type;
	message->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags);
	memcpy(rest, header, size);
	batch->answers += (flags & NLM_F_ACK) != 0;
	batch->at = at;
	close_message(batch);
}

void netlink_put(struct netlink *batch, uint16_t type, const void *data,
		 size_t size)
{
	struct nlattr *attribute = take(batch, NLA_HDRLEN + size);

	if (!attribute)
		return;
	attribute->nla_type = type;
	attribute->nla_len = (uint16_t)(NLA_HDRLEN + size);
	if (size)
		memcpy((char *)attribute + NLA_HDRLEN, data, size);
	close_message(batch);
}

void netlink_put_be32(struct netlink *batch, uint16_t type, uint32_t value)
{
	value = htonl(value);
	netlink_put(batch, type, &value, sizeof(value));
}

void netlink_put_text(struct netlink *batch, uint16_t type, const char *text)
{
	netlink_put(batch, type, text, strlen(text) + 1);
}

size_t netlink_nest(struct netlink *batch, uint16_t type)
{
	size_t nest = batch->size;

	netlink_put(batch, (uint16_t)(type | NLA_F_NESTED), NULL, 0);
	return nest;
}

void netlink_unnest(struct netlink *batch, size_t nest)
{
	struct nlattr *attribute = (void *)(batch->bytes + nest);

	if (!batch->failed)
		attribute->nla_len = (uint16_t)(batch->size - nest);
}

/* Counts the acknowledgements in a buffer; the first failure in @error. */
static size_t count_answers(const char *bytes, size_t size, int *error)
{
	const struct nlmsghdr *header = (const void *)bytes;
	size_t count = 0, step;

	while (size >= sizeof(*header) && header->nlmsg_len <= size &&
	       header->nlmsg_len >= NLMSG_HDRLEN + sizeof(int)) {
		const int *code = (const void *)(header + 1);

		if (header->nlmsg_type == NLMSG_ERROR) {
			count++;
			if (*code && !*error)
				*error = *code;
		}
		step = NLMSG_ALIGN(header->nlmsg_len);
		if (step >= size)
			break;
		header = (const void *)((const char *)header + step);
		size -= step;
	}
	return count;
}

int netlink_open(int protocol)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);

	return fd < 0 ? -errno : fd;
}

int netlink_talk(const struct netlink *batch, int fd)
{
	size_t answers = batch->answers;
	_Alignas(8) char bytes[8192];
	int error = 0;

	if (batch->failed)
		return -ENOBUFS;
	if (fd < 0)
		return fd;
	if (send(fd, batch->bytes, batch->size, 0) < 0)
		return -errno;
	/*
	 * The kernel answers before send(2) returns. A part of it that is not
	 * there answers for the whole batch at once: then no more comes.
	 */
	while (answers && !error) {
		ssize_t size = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		size_t seen;

		if (size < 0)
			return errno == EAGAIN ? -EPROTO : -errno;
		seen = count_answers(bytes, (size_t)size, &error);
		answers -= seen < answers ? seen : answers;
	}
	return error;
}
