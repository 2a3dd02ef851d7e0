/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets that processes of the sandbox listen on, by what they are. */
#ifndef SRT_OWN_SOCKETS_H
#define SRT_OWN_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/**
 * struct own_socket - the file that a socket was bound to
 * @fd: owned O_PATH descriptor: while it is held nothing else can get the same
 *	device and inode, nor can another socket be bound to that file
 */
struct own_socket {
	int fd;
	dev_t device;
	ino_t inode;
};

/**
 * struct own_sockets - those that are known
 * @list: owned
 * @prune_at: when there are so many, who is gone is looked for
 */
struct own_sockets {
	struct own_socket *list;
	size_t count;
	size_t room;
	size_t prune_at;
};

/** How many are kept; the oldest of more are forgotten. */
#define OWN_SOCKETS_MAX 4096

/**
 * own_sockets_add() - keep what a socket is bound to
 *
 * The file is asked of the socket itself (SIOCUNIXFILE), so no name is looked
 * up that could lead elsewhere.
 * Context: CAP_NET_ADMIN is effective in the sandbox; the kernel then answers
 * for sockets of the sandbox's network namespace only.
 * @socket: borrowed
 * Return: 0; -ENOENT where it is bound to no file; or -errno.
 */
int own_sockets_add(struct own_sockets *own, int socket);

/** own_sockets_has() - is this the file of one of them? */
bool own_sockets_has(const struct own_sockets *own, const struct stat *file);

#endif
