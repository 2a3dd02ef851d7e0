/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 connects to servers inside, for the host process. */
#include "core/inside.h"

#include <errno.h>
#include <sys/socket.h>

#include "core/network.h"
#include "core/system.h"

/* Takes over @fd, or with -1 tells @error. */
static void answer(const struct inside *inside, uint32_t id, int fd, int error)
{
	struct message message = { .kind = MESSAGE_SOCKET,
				   .id = id,
				   .value = error };

	(void)sys_send(inside->control, &message, sizeof(message), &fd,
		       fd >= 0);
	if (fd >= 0)
		close(fd);
}

/* Begins with @family; what can't be is answered. */
static void begin(struct inside *inside, uint32_t id, uint16_t port, int family)
{
	int fd, error = network_connect(family, port, &fd);

	if (error && error != -EINPROGRESS && family == AF_INET) {
		/* Servers on "localhost" may have taken ::1 alone. */
		family = AF_INET6;
		error = network_connect(family, port, &fd);
	}
	if (error != -EINPROGRESS) {
		answer(inside, id, fd, -error);
		return;
	}
	inside->waiting[inside->count].fd = fd;
	inside->waiting[inside->count].id = id;
	inside->waiting[inside->count].port = port;
	inside->waiting[inside->count].family = family;
	inside->count++;
}

void inside_connect(struct inside *inside, const struct message *message)
{
	if (inside->count == INSIDE_MAX)
		answer(inside, message->id, -1, EMFILE);
	else
		begin(inside, message->id, (uint16_t)message->value, AF_INET);
}

nfds_t inside_watch(const struct inside *inside, struct pollfd *fds)
{
	for (size_t i = 0; i < inside->count; i++)
		fds[i] = (struct pollfd){ .fd = inside->waiting[i].fd,
					  .events = POLLOUT };
	return inside->count;
}

static int result_of(int fd)
{
	socklen_t size = sizeof(int);
	int error = 0;

	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) ? errno
								   : error;
}

void inside_progress(struct inside *inside, const struct pollfd *fds)
{
	/* From behind: the last one takes a free place, and new ones follow. */
	for (size_t i = inside->count; i-- > 0;) {
		int fd = inside->waiting[i].fd, family, error;
		uint16_t port = inside->waiting[i].port;
		uint32_t id = inside->waiting[i].id;

		if (!fds[i].revents)
			continue;
		error = result_of(fd);
		family = inside->waiting[i].family;
		inside->waiting[i] = inside->waiting[--inside->count];
		if (error)
			close(fd);
		if (error && family == AF_INET)
			begin(inside, id, port, AF_INET6);
		else
			answer(inside, id, error ? -1 : fd, error);
	}
}
