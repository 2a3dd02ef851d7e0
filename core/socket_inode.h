/* SPDX-License-Identifier: Apache-2.0 */
/* Which socket of the sandbox's network namespace has these two ends? */
#ifndef SRT_SOCKET_INODE_H
#define SRT_SOCKET_INODE_H

#include <stdint.h>
#include <sys/socket.h>

/**
 * socket_inode_open() - what these questions are asked by
 *
 * It answers for the network namespace that it was made in, whoever asks.
 * Context: PID 1 inside, which hands it to the host process.
 * Return: owned by the caller, or -errno.
 */
int socket_inode_open(void);

/**
 * socket_inode_find() - the inode of a socket, as its descriptors show it
 *
 * One question and one answer (sock_diag(7)), however many sockets there are.
 * @diag: of socket_inode_open()
 * @protocol: IPPROTO_TCP, or IPPROTO_UDP: then the socket may be connected to
 *	@remote, or to nobody
 * @local, @remote: of that socket, of one family
 * @inode: never 0
 * Return: 0, or -errno, -ENOENT where nobody has it open any more.
 */
int socket_inode_find(int diag, int protocol, const struct sockaddr *local,
		      const struct sockaddr *remote, uint64_t *inode);

#endif
