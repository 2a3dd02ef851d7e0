/* SPDX-License-Identifier: Apache-2.0 */
/* What the host process and PID 1 tell each other, one record a message. */
#ifndef SRT_MESSAGE_H
#define SRT_MESSAGE_H

#include <stdint.h>

#include "core/util.h"

enum message_kind {
	/* host to child */
	MESSAGE_GO,	 /* the maps are written; carries the mask mount */
	MESSAGE_FILTER,	 /* @text: none; the BPF program follows as a memfd */
	MESSAGE_SIGNAL,	 /* @value: signal for the command */
	/* child to host */
	MESSAGE_LISTENERS, /* carries the listeners */
	MESSAGE_FAILED,	   /* @failure: nothing was started */
	MESSAGE_NOT_RUN,   /* @value: errno of execve(2) */
	MESSAGE_STARTED,   /* @value: pid of the command inside */
	MESSAGE_STOPPED,   /* @value: signal that stopped the command */
	MESSAGE_ENDED,	   /* @value: its wait status */
};

struct message {
	uint32_t kind;
	int32_t value;
	struct failure failure;
};

#endif
