/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent inside tells the host process, a record a message. */
#ifndef SRT_WATCH_MESSAGE_H
#define SRT_WATCH_MESSAGE_H

#include <linux/limits.h>
#include <stddef.h>
#include <stdint.h>

enum watch_kind {
	WATCH_PATH, /* @action on @text, which is likely denied */
	WATCH_CALL, /* the call @text with @args was refused */
	WATCH_LOST, /* @args[0]: so many were too many to be told of */
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
 * @pid: the thread's, in the sandbox's PID namespace
 * @exe: the program, cut to what fits; "" where it can't be known
 * @text: absolute path as it was named, or the name of the call
 */
struct watch_message {
	uint32_t kind;
	uint32_t action;
	int32_t pid;
	uint64_t args[3];
	char exe[256];
	char text[2 * PATH_MAX];
};

#define WATCH_HEAD offsetof(struct watch_message, text)

#endif
