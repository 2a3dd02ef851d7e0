/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets that processes of the sandbox listen on, by what they are. */
#include "core/own_sockets.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/un.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/util.h"

#define PRUNE_FIRST_AT 64

/* Who has no name any more can't be connected to by one. */
static bool is_gone(const struct own_socket *socket)
{
	struct stat st;

	return fstat(socket->fd, &st) || !st.st_nlink;
}

static void prune(struct own_sockets *own)
{
	size_t kept = 0;

	for (size_t i = 0; i < own->count; i++) {
		if (is_gone(&own->list[i]))
			close(own->list[i].fd);
		else
			own->list[kept++] = own->list[i];
	}
	own->count = kept;
	own->prune_at = 2 * kept > PRUNE_FIRST_AT ? 2 * kept : PRUNE_FIRST_AT;
	if (own->prune_at > OWN_SOCKETS_MAX)
		own->prune_at = OWN_SOCKETS_MAX;
}

static void forget_oldest(struct own_sockets *own)
{
	if (!own->count)
		return;
	close(own->list[0].fd);
	own->count--;
	memmove(own->list, own->list + 1, own->count * sizeof(*own->list));
}

static int make_room(struct own_sockets *own)
{
	if (own->count >= own->prune_at)
		prune(own);
	if (own->count >= OWN_SOCKETS_MAX)
		forget_oldest(own);
	return list_room(&own->list, own->count, &own->room, sizeof(*own->list))
		       ? 0
		       : -ENOMEM;
}

static int open_file(int socket)
{
	/* Opened by the kernel for us, close-on-exec. */
	int fd = ioctl(socket, SIOCUNIXFILE);

	return fd < 0 ? -errno : fd;
}

int own_sockets_add(struct own_sockets *own, int socket)
{
	owned_fd int fd = -1;
	int error = make_room(own);
	struct stat st;

	if (error)
		return error;
	fd = open_file(socket);
	if (fd == -EMFILE || fd == -ENFILE) {
		prune(own);
		forget_oldest(own);
		fd = open_file(socket);
	}
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (own_sockets_has(own, &st))
		return 0;
	own->list[own->count++] = (struct own_socket){
		.fd = steal_fd(&fd),
		.device = st.st_dev,
		.inode = st.st_ino,
	};
	return 0;
}

bool own_sockets_has(const struct own_sockets *own, const struct stat *file)
{
	for (size_t i = 0; i < own->count; i++)
		if (own->list[i].inode == file->st_ino &&
		    own->list[i].device == file->st_dev)
			return true;
	return false;
}
