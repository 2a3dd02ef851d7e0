/* SPDX-License-Identifier: Apache-2.0 */
/* What agent inside and host process tell each other, a record a message. */
#ifndef SRT_WATCH_MESSAGE_H
#define SRT_WATCH_MESSAGE_H

#include <linux/limits.h>
#include <stddef.h>
#include <stdint.h>

enum watch_kind {
	WATCH_PATH, /* @action on @text, which is likely denied */
	WATCH_CALL, /* the call @text with @args was refused */
	WATCH_LOST, /* @args[0]: so many were too many to be told of so far */
	WATCH_ASK,  /* as WATCH_PATH, and the call @id waits for an answer */
	WATCH_NAME, /* @action on the real path @text: the agent refused it */
	WATCH_UNIX, /* and so was the Unix socket @text, "@NAME" if abstract:
		     * WATCH_READ where the path is why, else WATCH_CHANGE */
	WATCH_INET, /* a connection to ADDRESS:PORT, which leads nowhere */
};

/** enum watch_action - what a call does to a path; srt.observe names them */
enum watch_action {
	WATCH_READ,
	WATCH_WRITE,
	WATCH_CREATE,
	WATCH_DELETE,
	WATCH_CHANGE,
};

/**
 * struct watch_message - the record; sent up to the end of @text
 *
 * It is hearsay: a call's memory may have said something else before and after.
 * @args: of WATCH_PATH and WATCH_ASK about an open: the flags
 * @id: of the notification
 * @count: of WATCH_PATH and WATCH_CALL: so many attempts it stands for
 * @pid: the thread's, in the sandbox's PID namespace
 * @exe: the program, cut to what fits; "" where it can't be known
 * @text: absolute path as it was named, or the name of the call
 */
struct watch_message {
	uint32_t kind;
	uint32_t action;
	int32_t pid;
	uint32_t count;
	uint64_t args[3];
	uint64_t id;
	char exe[256];
	char text[2 * PATH_MAX];
};

#define WATCH_HEAD offsetof(struct watch_message, text)

/* Calls that wait at once; so many answers have room in the socket. */
#define WATCH_WAITING 128

/**
 * struct watch_answer - what the host process says to WATCH_ASK
 *
 * It carries the descriptor that the call is to return; without one the call
 * goes on as if nobody had been asked, which the kernel denies.
 */
struct watch_answer {
	uint64_t id;
};

#endif
