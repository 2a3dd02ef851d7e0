/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of reaching servers inside: asks PID 1 for sockets. */
#ifndef SRT_REACH_H
#define SRT_REACH_H

#include <stdbool.h>
#include <sys/queue.h>

#include "core/message.h"

/**
 * struct reach_ask - a socket that is wanted; part of what the asker owns
 * @port: of a server on loopback inside
 * @done: called once with a connected, non-blocking socket that the asker now
 *	owns, or -errno; perhaps from within reach_start()
 */
struct reach_ask {
	uint16_t port;
	void (*done)(struct reach_ask *ask, int fd);
	TAILQ_ENTRY(reach_ask) link; /* the rest is ours */
	uint32_t id;
	bool sent;
};

/**
 * struct reach - what is asked for
 * @control: borrowed, non-blocking
 * @unanswered: by PID 1, cancelled ones included
 */
struct reach {
	int control;
	TAILQ_HEAD(reach_list, reach_ask) asks;
	size_t unanswered;
	uint32_t last_id;
};

void reach_open(struct reach *reach, int control);

/** reach_start() - ask, at once or when fewer are on their way */
void reach_start(struct reach *reach, struct reach_ask *ask);

/** reach_cancel() - @ask is gone, and @done is not called */
void reach_cancel(struct reach *reach, struct reach_ask *ask);

/** reach_answer() - hand on a MESSAGE_SOCKET; takes over @fd (-1 for none) */
void reach_answer(struct reach *reach, const struct message *message, int fd);

#endif
