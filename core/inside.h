/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 connects to servers inside, for the host process. */
#ifndef SRT_INSIDE_H
#define SRT_INSIDE_H

#include <poll.h>
#include <stddef.h>

#include "core/message.h"

/* At once; the host process asks for no more. */
#define INSIDE_MAX 64

/**
 * struct inside - connections that are not made yet
 * @control: borrowed socket to the host process
 */
struct inside {
	int control;
	size_t count;
	struct {
		int fd;
		uint32_t id;
		uint16_t port;
		int family;
	} waiting[INSIDE_MAX];
};

/**
 * inside_connect() - do as a MESSAGE_CONNECT says
 *
 * To 127.0.0.1, and where nobody listens there to ::1. Never waits: the answer
 * is a MESSAGE_SOCKET, at once or from inside_progress().
 */
void inside_connect(struct inside *inside, const struct message *message);

/**
 * inside_watch() - what to poll(2) for
 * @fds: room for INSIDE_MAX
 * Return: how many were filled.
 */
nfds_t inside_watch(const struct inside *inside, struct pollfd *fds);

/** inside_progress() - go on; @fds as inside_watch() filled them, polled */
void inside_progress(struct inside *inside, const struct pollfd *fds);

#endif
