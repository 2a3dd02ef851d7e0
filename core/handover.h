/* SPDX-License-Identifier: Apache-2.0 */
/* What PID 1 makes inside and the host process works with. */
#ifndef SRT_HANDOVER_H
#define SRT_HANDOVER_H

#include "core/plan.h"
#include "core/util.h"

/*
 * Made before the command is there, sent when it is: who gets a message may get
 * its sender's processor as well, and the command need not wait for that.
 * Nothing is lost meanwhile: who connects is queued.
 */
struct handover {
	int *listeners; /* of the plan's points; -1 for one that is missing */
	int watch;	/* the host's end; -1 where nothing is observed */
	int view;	/* of mounts_view(), where the plan asks; else -1 */
};

#define HANDOVER_NONE                   \
	{                               \
		.watch = -1, .view = -1 \
	}

/**
 * handover_listen() - make the plan's listeners
 * @ports: NULL, or for each point a port of the kernel's choice is taken, and
 *	put here
 * Return: 0 or -errno, @failure filled.
 */
int handover_listen(struct handover *handover, const struct plan *plan,
		    uint16_t *ports, struct failure *failure);

/**
 * handover_watch() - make the socket between agent and host process
 * @watch: the agent's end, owned by the caller; left as it is where nothing is
 *	observed
 * Context: @handover->view is there where the plan asks.
 * Return: 0 or -errno, @failure filled.
 */
int handover_watch(struct handover *handover, const struct plan *plan,
		   int *watch, struct failure *failure);

/**
 * handover_send() - send all of it to the host process, and close it here
 * @control: socket to the host process
 * Return: 0 or -errno.
 */
int handover_send(struct handover *handover, const struct plan *plan,
		  int control);

#endif
