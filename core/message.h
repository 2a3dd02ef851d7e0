/* SPDX-License-Identifier: Apache-2.0 */
/* What host process, janitor and PID 1 tell each other, a record a message. */
#ifndef SRT_MESSAGE_H
#define SRT_MESSAGE_H

#include <stdint.h>

#include "core/util.h"

enum message_kind {
	/* host to janitor */
	MESSAGE_CLOSE, /* the host lives and does the rest; @alone */
	/* janitor to host, its last word: what was made is removed, as far as
	 * it may be */
	MESSAGE_REMOVED,
	MESSAGE_FORGOTTEN, /* the same, and the state file with it */
	/* janitor to PID 1 */
	MESSAGE_MAPS,  /* the maps of the user namespace are written */
	MESSAGE_MASKS, /* carries those of a root caller */
	/* host to PID 1: the plan is complete, and what MESSAGE_MADE says; or
	 * what MESSAGE_BUILD leaves open is. To the janitor, by PID 1 in
	 * namespaces of ours: for it, it is. Where the tree takes nothing of
	 * the janitor's it carries the state file, held, if it may; else the
	 * janitor answers by it: what the plan lists is there */
	MESSAGE_GO,
	MESSAGE_ALONE, /* PID 1 to janitor: nothing else lives inside */
	/* host to PID 1 */
	/* Parts of the plan that are complete before the rest is: struct shared
	 */
	MESSAGE_REDIRECT,
	MESSAGE_NETWORK,
	MESSAGE_BUILD,
	/* The state file and the temporary directory are there; carries the
	 * former, held */
	MESSAGE_MADE,
	MESSAGE_RELEASE, /* the command may begin */
	MESSAGE_SIGNAL,	 /* @value: signal for the command */
	MESSAGE_FREEZE,	 /* stop everything inside; again: does it hold? @id */
	MESSAGE_THAW,	 /* let it go on */
	MESSAGE_CONNECT, /* @value: port of a server inside; @id */
	MESSAGE_LEAD,	 /* have the plan's redirect begin */
	/* PID 1 to host; MESSAGE_FAILED from the janitor as well */
	/* Carries listeners, of SYS_MAX_FDS points of the plan; @value: bit by
	 * bit, which of them are there */
	MESSAGE_LISTENERS,
	/* Carries the socket that core/watch_message.h is for and, where it is
	 * asked about opens, the tree of mounts_view() */
	MESSAGE_WATCH,
	MESSAGE_SOCKET,	 /* to @id; carries it, or @value: errno of why not */
	MESSAGE_LED,	 /* @value: 0, or errno of why nothing is redirected */
	MESSAGE_FAILED,	 /* @failure: nothing was started; @alone */
	MESSAGE_NOT_RUN, /* @value: errno of execve(2); @alone */
	/* @value: pid of the command inside; carries a pidfd of it, if there is
	 * one */
	MESSAGE_STARTED,
	MESSAGE_STOPPED, /* @value: signal that stopped the command */
	/* To @id; @value: 0 where nothing runs, nor has since that was said
	 * first */
	MESSAGE_FROZEN,
	/* A name's protection was lost; @failure.text: the path */
	MESSAGE_RESTORED,    /* @value: microseconds it took to put it back */
	MESSAGE_UNPROTECTED, /* @value: errno; the name may be missing */
	/* @value: its wait status; @id: of unreached_count(); @alone */
	MESSAGE_ENDED,
};

struct message {
	uint32_t kind;
	int32_t value;
	uint32_t id;
	uint32_t alone; /* besides PID 1 nothing lives inside any more */
	struct failure failure;
};

#endif
