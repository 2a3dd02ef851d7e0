/* SPDX-License-Identifier: Apache-2.0 */
/* Which socket of the sandbox's network namespace has these two ends? */
#include "core/socket_inode.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "core/util.h"

int socket_inode_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 about;
};

/* Port and address, in network byte order. */
static void put_end(const struct sockaddr *end, uint16_t *port, void *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)end;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)end;

	*port = v4->sin_port;
	if (end->sa_family == AF_INET)
		memcpy(address, &v4->sin_addr, sizeof(v4->sin_addr));
	else
		memcpy(address, &v6->sin6_addr, sizeof(v6->sin6_addr));
}

static struct question ask_about(int protocol, const struct sockaddr *local,
				 const struct sockaddr *remote)
{
	struct question question = {
		.head = { .nlmsg_len = sizeof(question),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.about = { .sdiag_family = (uint8_t)local->sa_family,
			   .sdiag_protocol = (uint8_t)protocol,
			   .idiag_states = ~0U,
			   .id.idiag_cookie = { INET_DIAG_NOCOOKIE,
						INET_DIAG_NOCOOKIE } },
	};
	struct inet_diag_sockid *id = &question.about.id;

	/* Of UDP the kernel wants to know who gets what @remote has sent. */
	if (protocol == IPPROTO_UDP) {
		const struct sockaddr *sender = remote;

		remote = local;
		local = sender;
	}
	put_end(local, &id->idiag_sport, id->idiag_src);
	put_end(remote, &id->idiag_dport, id->idiag_dst);
	return question;
}

/*
 * Where there is no such connection the kernel tells of who listens there: its
 * port is what was asked about, for UDP as the receiver's. A socket that was
 * closed, and still has something to send, has no inode.
 */
static int read_answer(const void *bytes, size_t size,
		       const struct inet_diag_req_v2 *about, uint64_t *inode)
{
	const struct nlmsghdr *head = bytes;
	struct inet_diag_msg message;
	struct nlmsgerr failure;
	uint16_t port;

	if (size < sizeof(*head) + sizeof(failure))
		return -EPROTO;
	if (head->nlmsg_type == NLMSG_ERROR) {
		memcpy(&failure, head + 1, sizeof(failure));
		return failure.error ? failure.error : -EPROTO;
	}
	if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    size < sizeof(*head) + sizeof(message))
		return -EPROTO;
	memcpy(&message, head + 1, sizeof(message));
	port = about->sdiag_protocol == IPPROTO_UDP ? message.id.idiag_sport
						    : message.id.idiag_dport;
	if (port != about->id.idiag_dport || !message.idiag_inode)
		return -ENOENT;
	*inode = message.idiag_inode;
	return 0;
}

int socket_inode_find(int diag, int protocol, const struct sockaddr *local,
		      const struct sockaddr *remote, uint64_t *inode)
{
	struct question question = ask_about(protocol, local, remote);
	_Alignas(8) unsigned char answer[4096];
	ssize_t size;

	if (send(diag, &question, sizeof(question), 0) < 0)
		return -errno;
	/* The kernel has answered when send(2) returns. */
	size = recv(diag, answer, sizeof(answer), MSG_DONTWAIT);
	return size < 0 ? -errno
			: read_answer(answer, (size_t)size, &question.about,
				      inode);
}
