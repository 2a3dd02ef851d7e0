/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that are notified: received, copied once, and answered. */
#ifndef SRT_NOTIFY_H
#define SRT_NOTIFY_H

#include <linux/filter.h>
#include <linux/limits.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How many threads' status files are kept open. */
#define NOTIFY_KEPT 32

/**
 * struct notify_kept - /proc/PID/status, opened before
 *
 * It goes on to tell of that thread, and of no later one with the same id.
 * @fd: owned, where @pid is not 0
 */
struct notify_kept {
	pid_t pid;
	int fd;
};

/**
 * struct notify - the receiving end of a filter with SECCOMP_RET_USER_NOTIF
 * @listener: owned
 * @proc: owned O_PATH descriptor of /proc, in the callers' PID namespace
 * @room: bytes that the kernel wants at @request
 * @request: owned
 * @kept: by the last bits of the id
 */
struct notify {
	int listener;
	int proc;
	struct notify_kept kept[NOTIFY_KEPT];
	size_t room;
	struct seccomp_notif *request;
};

/**
 * notify_install() - put the calling thread under a notifying filter for good
 *
 * Its calls then wait for an answer, from the first one on; only signals that
 * kill interrupt them (Linux 5.19; before that a call that a signal interrupts
 * may be made twice). A filter that refuses a call goes before one that
 * notifies it, and a second notifying filter is not to be had inside (EBUSY).
 * Context: no_new_privs must be set.
 * Return: the listener, owned by the caller, or -errno.
 */
int notify_install(const struct sock_fprog *program);

/**
 * notify_open() - get ready to receive
 * @listener: is taken over
 * Return: 0 or -errno; notify_close() is owed either way.
 */
int notify_open(struct notify *notify, int listener);

/** notify_close() - give up the listener; calls fail from now on (ENOSYS) */
void notify_close(struct notify *notify);

/**
 * notify_receive() - wait for a call
 *
 * Return: 0 with the call in @notify->request, -ENOENT or -EINTR where there is
 * none after all; another error ends the listener.
 */
int notify_receive(struct notify *notify);

/** notify_ended() - is nobody left who could be notified? */
bool notify_ended(const struct notify *notify);

/**
 * notify_valid() - is the call still waiting?
 *
 * What was read of the caller by its id before is then really its own: a
 * process that waits can't have given its id away.
 */
bool notify_valid(const struct notify *notify);

/** notify_answer() - let the call return @error, negative, or 0 */
void notify_answer(const struct notify *notify, int error);

/**
 * notify_answer_fd() - let the call return a descriptor
 *
 * Ours is closed before the caller goes on: a file that we have open for
 * writing could not be executed, or leased.
 * @fd: taken over
 * @cloexec: the caller's closes at exec
 */
void notify_answer_fd(const struct notify *notify, int fd, bool cloexec);

/**
 * notify_continue() - let the kernel carry the call out, as it stands by then
 *
 * For calls that are only watched: what they were asked for may have changed.
 */
void notify_continue(const struct notify *notify);

/**
 * notify_read() - copy of the caller's memory
 *
 * Reads all that is there, which may end at an unmapped page.
 * Return: bytes, or -errno: -EFAULT, -ESRCH for a caller that is gone, -EPERM
 * for one that can't be read.
 */
ssize_t notify_read(pid_t pid, uint64_t address, void *buffer, size_t size);

/**
 * notify_read_path() - copy of a path, as the kernel would take it
 * @path: filled with a NUL-terminated copy
 * Return: its length, or -errno, -ENAMETOOLONG for PATH_MAX and longer.
 */
ssize_t notify_read_path(pid_t pid, uint64_t address, char path[PATH_MAX]);

/**
 * notify_path_fd() - where a descriptor of the caller leads, as O_PATH
 * @flags: O_DIRECTORY or 0
 * Return: descriptor owned by the caller, or -errno, -EBADF where there is
 * none.
 */
int notify_path_fd(const struct notify *notify, pid_t pid, int fd, int flags);

/**
 * notify_take_fd() - a descriptor of the caller's as one of ours
 *
 * Both then lead to the same open file, whatever the caller does to its number.
 * @pid: the thread
 * @tgid: its process
 * @fd: its number there
 * Return: descriptor owned by the caller, or -errno, -EBADF where there is
 * none, -EPERM for a thread that can't be looked into.
 */
int notify_take_fd(pid_t pid, pid_t tgid, int fd);

/** notify_cwd() - working directory of a thread, as O_PATH, or -errno */
int notify_cwd(const struct notify *notify, pid_t pid);

/**
 * struct notify_caller - what of a thread decides about what it makes
 * @tgid: its process
 * @umask: its umask
 * @caps: its effective capabilities
 * @pending: a signal waits for it that it does not block or ignore
 */
struct notify_caller {
	pid_t tgid;
	mode_t umask;
	uint64_t caps;
	bool pending;
};

/** notify_status() - read /proc/PID/status. Return: 0 or -errno. */
int notify_status(struct notify *notify, pid_t pid,
		  struct notify_caller *caller);

#endif
