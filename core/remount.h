/* SPDX-License-Identifier: Apache-2.0 */
/* Puts back mounts that the kernel dropped when the host replaced a file. */
#ifndef SRT_REMOUNT_H
#define SRT_REMOUNT_H

#include "core/message.h"
#include "core/moved_names.h"
#include "core/plan.h"

/**
 * struct remount - what PID 1 watches
 *
 * A mount protects a name only while the name stays: when somebody outside
 * replaces or unlinks it, the kernel takes the mount away in every namespace.
 * @changes: descriptor to poll for POLLPRI: a mount came or went
 * @names: descriptor to poll for POLLIN: a name was moved away, or made where
 *	one of the plan's is missing; or -1
 * The rest is its own.
 */
struct remount {
	int changes;
	int names;
	bool watched; /* @names knows the folders */
	bool partly;  /* but for those that can't be read */
	bool missing; /* a name of the plan's is */
	struct moved_words words;
	long long look_at; /* ms, as of sys_now_ms() */
	const struct plan *plan;
	int masks;
	unsigned char *state; /* one a step */
	void (*tell)(void *context, const struct message *message);
	void *context;
};

/**
 * remount_open() - begin to watch
 *
 * Context: PID 1, in the new root, all mounts done.
 * @masks: the file system of masks in the new root, or -1; borrowed
 * @tell: called with MESSAGE_RESTORED and MESSAGE_UNPROTECTED
 * Return: 0 or -errno.
 */
int remount_open(struct remount *remount, const struct plan *plan, int masks,
		 void (*tell)(void *context, const struct message *message),
		 void *context);

/**
 * remount_links() - mount what the plan has over links
 *
 * What bubblewrap can't do: it follows them.
 * Context: PID 1, in the new root, all other mounts done.
 * Return: 0, or -errno with @failure filled.
 */
int remount_links(const struct plan *plan, int masks, struct failure *failure);

/**
 * remount_wait() - when to call remount_check() though nothing was told
 * Return: milliseconds; -1 for never.
 */
int remount_wait(const struct remount *remount);

/**
 * remount_check() - look what is lost, put it back, and see that it holds
 * @names: it is @names that became readable
 *
 * Context: PID 1 with CAP_SYS_ADMIN in its user namespace.
 */
void remount_check(struct remount *remount, bool names);

/**
 * remount_close() - watch no more; PID 1's last act but one
 *
 * What the kernel has to do then it does behind our back: it waits for all that
 * read marks of inotify, also of others; and @changes is what holds the mounts
 * last, with what was removed beneath them, whose blocks may be discarded one
 * after the other.
 */
void remount_close(struct remount *remount);

#endif
