/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's observation of what is denied: it tells, and never decides. */
#ifndef SRT_WATCH_H
#define SRT_WATCH_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/plan.h"
#include "core/watch_folders.h"
#include "core/watch_message.h"

struct guard;

/* What was told last, so that the same again and again costs little. */
#define WATCH_TOLD 1024

/**
 * struct watch - what the agent watches
 * @socket: to the host process, owned; -1 where nothing is observed
 * @refusals: program that says what is refused
 * @told: what was told, by its hash; when it is told again at the latest; how
 * often it was met, and how often since it was told
 * @tokens: records that may be sent now
 * @refilled: when @tokens last grew
 * @folders: not looked at again for a moment
 * @lost: attempts of which no record was sent
 * @lost_told: of these, what the host process knows of
 * @said: the call that is served has been told of
 * @waiting: calls that the host process was asked about
 */
struct watch {
	int socket;
	const struct watch_table *table;
	struct sock_fprog refusals;
	struct watch_told {
		uint64_t hash;
		long long until;
		uint32_t times, merged;
	} told[WATCH_TOLD];
	struct watch_folders folders;
	unsigned int tokens;
	long long refilled;
	uint64_t lost, lost_told;
	bool said;
	struct seccomp_notif waiting[WATCH_WAITING];
	size_t waiting_count;
};

/**
 * watch_open() - get ready
 * @socket: taken over
 * Context: the agent, before its own seccomp filter.
 * Return: 0 or -errno.
 */
int watch_open(struct watch *watch, const struct watch_table *table,
	       const struct notified *notified, int socket);

/**
 * watch_tell() - tell the host process what the agent itself refuses
 * @kind: WATCH_NAME or WATCH_UNIX
 * @action: of WATCH_NAME
 *
 * Not again where the call was told of before, as one that is likely denied.
 */
void watch_tell(struct guard *guard, enum watch_kind kind,
		enum watch_action action, const char *text);

/** watch_serves() - is it a call that is only observed, and then goes on? */
bool watch_serves(const struct watch *watch, int number);

/**
 * watch_refuses() - the errno that a call is refused with, negative, or 0
 *
 * By the program that would refuse it without an agent, on the registers that
 * the filter saw. What is refused is told.
 */
int watch_refuses(struct guard *guard);

/**
 * watch_look() - tell the host process if the call in @guard->notify will
 * likely be denied
 *
 * Looks with the caller's eyes: read-only mounts and covers show in what
 * access(2) answers. Where the host process reads too slowly, or too much is
 * told in a second, records are counted instead.
 * Return: true where the host process was asked: the call waits.
 */
bool watch_look(struct guard *guard);

/**
 * watch_wait() - until there is a call to receive, while some wait for answers
 *
 * Answers that come meanwhile are taken, and given.
 * @go_on: finishes a call in @guard->notify that gets no descriptor
 * Return: false where there is none yet.
 */
bool watch_wait(struct guard *guard, void (*go_on)(struct guard *guard));

#endif
