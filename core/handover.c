/* SPDX-License-Identifier: Apache-2.0 */
/* What PID 1 makes inside and the host process works with. */
#include "core/handover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/message.h"
#include "core/network.h"
#include "core/socket_inode.h"
#include "core/system.h"

/* Without IPv6; or who has a socket can't be told, and reports do without. */
static bool may_be_missing(const struct listen_point *point, int error)
{
	return point->owners ||
	       (error == -EADDRNOTAVAIL && strchr(point->address, ':'));
}

static int make_listener(const struct listen_point *point, uint16_t *port)
{
	struct listen_point any = *point;
	int fd;

	if (point->owners)
		return socket_inode_open();
	if (!port)
		return network_listen(point);
	any.port = 0;
	fd = network_listen(&any);
	*port = fd < 0 ? 0 : network_port(fd);
	return fd;
}

int handover_listen(struct handover *handover, const struct plan *plan,
		    uint16_t *ports, struct failure *failure)
{
	handover->listeners = malloc((plan->listen_count + 1) * sizeof(int));
	if (!handover->listeners)
		return failure_set(failure, ENOMEM, "no memory");
	for (size_t i = 0; i < plan->listen_count; i++) {
		const struct listen_point *point = &plan->listen[i];
		int fd = make_listener(point, ports ? &ports[i] : NULL);

		if (fd < 0 && !may_be_missing(point, fd))
			return failure_set(failure, -fd,
					   "cannot listen on %s port %u inside",
					   point->address, point->port);
		handover->listeners[i] = fd < 0 ? -1 : fd;
	}
	return 0;
}

int handover_watch(struct handover *handover, const struct plan *plan,
		   int *watch, struct failure *failure)
{
	int pair[2];

	if (!plan->watch.on)
		return 0;
	if (plan->watch.asks && handover->view < 0)
		return failure_set(failure, -handover->view,
				   "filesystem.decideOpen can't be held here");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		       0, pair))
		return failure_set(failure, errno, "cannot make a socket");
	*watch = pair[0];
	handover->watch = pair[1];
	return 0;
}

/* One message's worth of listeners. */
static int send_some(int *listeners, size_t count, int control)
{
	struct message message = { .kind = MESSAGE_LISTENERS };
	int fds[SYS_MAX_FDS] = { 0 }, error;
	size_t there = 0;

	for (size_t i = 0; i < count; i++) {
		if (listeners[i] < 0)
			continue;
		message.value |= 1 << i;
		fds[there++] = listeners[i];
	}
	error = sys_send(control, &message, sizeof(message), fds, there);
	while (there)
		close(fds[--there]);
	return error;
}

static int send_watch(struct handover *handover, int control)
{
	struct message message = { .kind = MESSAGE_WATCH };
	const int fds[] = { handover->watch, handover->view };
	size_t count = handover->view < 0 ? 1 : 2;
	int error = sys_send(control, &message, sizeof(message), fds, count);

	while (count)
		close(fds[--count]);
	return error;
}

int handover_send(struct handover *handover, const struct plan *plan,
		  int control)
{
	size_t done = 0, count;
	int error;

	/* One message also where there are none: the host waits for it. */
	do {
		count = plan->listen_count - done;
		if (count > SYS_MAX_FDS)
			count = SYS_MAX_FDS;
		error = send_some(handover->listeners + done, count, control);
		done += count;
	} while (!error && done < plan->listen_count);
	free(handover->listeners);
	if (!error && handover->watch >= 0)
		error = send_watch(handover, control);
	*handover = (struct handover)HANDOVER_NONE;
	return error;
}
