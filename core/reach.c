/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of reaching servers inside: asks PID 1 for sockets. */
#include "core/reach.h"

#include <errno.h>

#include "core/inside.h"
#include "core/system.h"

void reach_open(struct reach *reach, int control)
{
	*reach = (struct reach){ .control = control };
	TAILQ_INIT(&reach->asks);
}

static struct reach_ask *first_unsent(struct reach *reach)
{
	struct reach_ask *ask;

	TAILQ_FOREACH(ask, &reach->asks, link)
	if (!ask->sent)
		return ask;
	return NULL;
}

static int send_ask(struct reach *reach, struct reach_ask *ask)
{
	struct message message = { .kind = MESSAGE_CONNECT,
				   .value = ask->port,
				   .id = ++reach->last_id };
	int error =
		sys_send(reach->control, &message, sizeof(message), NULL, 0);

	if (error)
		return error;
	ask->id = message.id;
	ask->sent = true;
	reach->unanswered++;
	return 0;
}

/* PID 1 has bounded room, and so has the socket to it. */
static void send_more(struct reach *reach)
{
	while (reach->unanswered < INSIDE_MAX) {
		struct reach_ask *ask = first_unsent(reach);
		int error = ask ? send_ask(reach, ask) : 0;

		/* An answer will come, and with it the next turn. */
		if (!ask || (error == -EAGAIN && reach->unanswered))
			return;
		if (error) {
			TAILQ_REMOVE(&reach->asks, ask, link);
			ask->done(ask, error);
		}
	}
}

void reach_start(struct reach *reach, struct reach_ask *ask)
{
	ask->sent = false;
	TAILQ_INSERT_TAIL(&reach->asks, ask, link);
	send_more(reach);
}

void reach_cancel(struct reach *reach, struct reach_ask *ask)
{
	TAILQ_REMOVE(&reach->asks, ask, link);
}

void reach_answer(struct reach *reach, const struct message *message, int fd)
{
	struct reach_ask *ask;

	if (reach->unanswered)
		reach->unanswered--;
	TAILQ_FOREACH(ask, &reach->asks, link)
	if (ask->sent && ask->id == message->id)
		break;
	if (ask) {
		TAILQ_REMOVE(&reach->asks, ask, link);
		if (fd < 0)
			fd = message->value > 0 ? -message->value : -EIO;
		ask->done(ask, fd);
	} else if (fd >= 0) {
		close(fd); /* cancelled meanwhile */
	}
	send_more(reach);
}
