/* SPDX-License-Identifier: Apache-2.0 */
/* open(2) with O_CREAT, without ever waiting in the agent itself. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/guard_calls.h"
#include "core/util.h"

#define MAX_RACES 100
#define MAX_WORKERS 128
#define KNOWN_FLAGS                                                        \
	(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND |    \
	 O_NONBLOCK | O_DSYNC | O_SYNC | O_ASYNC | O_DIRECT | O_NOFOLLOW | \
	 O_NOATIME | O_CLOEXEC | O_DIRECTORY)
#define TTY makedev(5, 0)

/* struct opening - what is to be opened, and how; @magic: by a magic link */
struct opening {
	struct guard *guard;
	const struct guard_place *place;
	int flags;
	mode_t mode;
	bool magic;
};

/*
 * Not by O_NOFOLLOW: that stays among the flags of the file, for all to see.
 * Other flags than the kernel knows it passes over in open(2).
 */
static int open_place(const struct opening *o, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)(flags & KNOWN_FLAGS),
		.mode = flags & O_CREAT ? o->mode & 07777 : 0,
		.resolve = o->magic ? 0 : RESOLVE_NO_SYMLINKS,
	};

	int fd = (int)syscall(SYS_openat2, o->place->dir, o->place->name, &how,
			      sizeof(how));

	/* In a sandbox like ours there is none. */
	if (fd < 0 && errno == ENOSYS)
		fd = openat(o->place->dir, o->place->name,
			    flags | (o->magic ? 0 : O_NOFOLLOW), o->mode);
	return fd;
}

static int answer(const struct opening *o, int fd)
{
	notify_answer_fd(&o->guard->notify, fd, o->flags & O_CLOEXEC);
	return GUARD_ANSWERED;
}

/* An open that waits is looked after: by a signal, or the end of the caller. */
static void wait_in_open(const struct opening *o, int flags)
{
	struct notify *notify = &o->guard->notify;
	int fd;

	do {
		fd = open_place(o, flags);
	} while (fd < 0 && errno == EINTR && guard_goes_on(o->guard));
	if (fd < 0)
		notify_answer(notify, -errno);
	else
		(void)answer(o, fd);
}

/* A process of its own waits, so that others are served meanwhile. */
static int open_apart(const struct opening *o, int flags)
{
	int error = guard_fork(o->guard, MAX_WORKERS);

	if (error < 0)
		return error == -EAGAIN ? -ENFILE : error;
	if (error > 0)
		return GUARD_ANSWERED;
	wait_in_open(o, flags & ~O_NONBLOCK);
	_exit(0);
}

/* The controlling terminal in /proc/PID/stat, 0 for none. */
static dev_t terminal_of(const struct guard *guard, pid_t pid)
{
	char name[32], text[1024];
	owned_fd int fd = -1;
	const char *at;
	ssize_t size;
	unsigned int number = 0;

	snprintf(name, sizeof(name), "%d/stat", (int)pid);
	fd = openat(guard->notify.proc, name, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	/* After the name: state, parent, group, session, terminal. */
	at = strrchr(text, ')');
	for (int i = 0; at && i < 5; i++)
		at = strchr(at + 1, ' ');
	if (at)
		number = (unsigned int)strtol(at, NULL, 10);
	return number ? makedev((number >> 8) & 0xfff,
				(number & 0xff) | ((number >> 12) & 0xfff00))
		      : 0;
}

/*
 * /dev/tty is the terminal of who opens it. We have the one that the command
 * began with; another one is found by a descriptor of the caller.
 */
static int open_terminal(const struct opening *o, int flags)
{
	const struct guard *guard = o->guard;
	dev_t terminal = terminal_of(guard, guard->view.thread);
	struct stat st;
	char name[48];
	int fd = -1;

	if (!terminal)
		return -ENXIO;
	if (terminal == terminal_of(guard, guard->view.self))
		return open_place(o, flags);
	for (int i = 0; i < 256 && fd < 0; i++) {
		snprintf(name, sizeof(name), "%d/fd/%d",
			 (int)guard->view.thread, i);
		if (!fstatat(guard->notify.proc, name, &st, 0) &&
		    S_ISCHR(st.st_mode) && st.st_rdev == terminal)
			fd = openat(guard->notify.proc, name,
				    flags & ~(O_NOFOLLOW | O_CREAT));
	}
	return fd < 0 ? -ENXIO : fd;
}

/* Can an open without O_NONBLOCK have to wait, where one with it does not? */
static bool may_wait(const struct opening *o, const struct stat *st, int error)
{
	if (o->flags & O_NONBLOCK)
		return false;
	if (S_ISFIFO(st->st_mode))
		return (o->flags & O_ACCMODE) == O_RDONLY ||
		       (error == ENXIO && (o->flags & O_ACCMODE) == O_WRONLY);
	/* A lease that the open breaks. */
	return error == EWOULDBLOCK;
}

/* What is there: @flags without O_EXCL, of what the caller wants. */
static int open_there(const struct opening *o, int flags, const struct stat *st)
{
	int fd;

	if (S_ISDIR(st->st_mode) && (flags & (O_ACCMODE | O_CREAT | O_TRUNC)))
		return -EISDIR;
	flags |= O_CLOEXEC | O_NOCTTY;
	if (!may_wait(o, st, 0)) {
		if (S_ISCHR(st->st_mode) && st->st_rdev == TTY)
			fd = open_terminal(o, flags | O_NONBLOCK);
		else
			fd = open_place(o, flags | O_NONBLOCK);
		/* Only we must not wait. */
		if (fd >= 0 && !(o->flags & O_NONBLOCK))
			(void)fcntl(fd, F_SETFL, o->flags);
		if (fd >= 0)
			return answer(o, fd);
		if (fd < -1)
			return fd;
		if (!may_wait(o, st, errno))
			return -errno;
	}
	return open_apart(o, flags & ~O_CREAT);
}

static int open_existing(const struct opening *o, const struct stat *st)
{
	int flags = o->flags;

	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if (S_ISDIR(st->st_mode) && (flags & O_CREAT))
		return -EISDIR;
	if (guard_denies(&o->guard->rules, o->place->real, false)) {
		if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC)) {
			watch_tell(o->guard, WATCH_NAME, WATCH_WRITE,
				   o->place->real);
			return -EROFS;
		}
		flags &= ~O_CREAT;
	}
	return open_there(o, flags, st);
}

/* A magic link leads to what is open already: nothing is made. */
static int open_magic(struct opening *o)
{
	const struct guard_view *view = &o->guard->view;
	int flags = o->flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW);
	bool own = guard_place_own(view, o->place);
	struct stat st;
	int result;

	if (guard_place_resolvers(view, o->place))
		return -EACCES;
	o->magic = true;
	if (own)
		guard_powers(o->guard, true);
	if (fstatat(o->place->dir, o->place->name, &st, 0))
		result = -errno;
	else if (S_ISDIR(st.st_mode) && (o->flags & O_CREAT))
		result = -EISDIR;
	else
		result = open_there(o, flags, &st);
	if (own)
		guard_powers(o->guard, false);
	return result;
}

static int create(const struct opening *o)
{
	int fd;

	if (!(o->flags & O_CREAT))
		return -ENOENT;
	if (guard_denies(&o->guard->rules, o->place->real, false))
		return guard_refuse(o->guard, o->place, false);
	fd = open_place(o, o->flags | O_EXCL | O_CLOEXEC);
	return fd < 0 ? -errno : answer(o, fd);
}

/* Not of the area; what is not there, and not made, is not denied either. */
static int pass(const struct opening *o, bool there)
{
	bool writes =
		(o->flags & O_ACCMODE) != O_RDONLY || (o->flags & O_TRUNC);

	if (!there && !(o->flags & O_CREAT))
		return guard_leave(o->guard);
	return guard_pass(o->guard,
			  !there   ? WATCH_CREATE
			  : writes ? WATCH_WRITE
				   : WATCH_READ,
			  o->place->real);
}

/* One look: -EEXIST and -ENOENT where the name came or went in between. */
static int open_once(const struct opening *o, struct stat *st, bool *link)
{
	bool there = !(o->flags & O_EXCL);

	*link = false;
	if (there &&
	    fstatat(o->place->dir, o->place->name, st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			return -errno;
		there = false;
	}
	*link = there && S_ISLNK(st->st_mode) && !(o->flags & O_NOFOLLOW);
	if (*link)
		return 0;
	if (!guard_may(o->guard, o->place) &&
	    !(there && guard_may_list(o->guard, o->place, o->flags, st)))
		return pass(o, there);
	/* As the caller's own layer knows it: without ioctl(2). */
	if (o->guard->area && there &&
	    (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)))
		return guard_leave(o->guard);
	return there ? open_existing(o, st) : create(o);
}

int guard_open(struct guard *guard, struct guard_place *place, int flags,
	       mode_t mode)
{
	struct opening o = { guard, place, flags, mode, false };
	int error, links = 0, races = 0;
	struct stat st;
	bool link;

	if (!(flags & O_CREAT))
		o.flags &= ~O_EXCL;
	do {
		if (guard_place_special(place) && (flags & O_CREAT))
			return fstatat(place->dir, ".", &st, 0) ? -errno
			       : flags & O_EXCL			? -EEXIST
								: -EISDIR;
		if (guard_place_slash(place)) {
			if (flags & O_CREAT)
				return -EISDIR;
			place->name[strcspn(place->name, "/")] = '\0';
			o.flags = (o.flags | O_DIRECTORY) & ~O_NOFOLLOW;
		}
		error = guard->area ? guard_place_up(place) : 0;
		if (error)
			return error;
		error = open_once(&o, &st, &link);
		if (link)
			error = ++links > GUARD_MAX_LINKS
					? -ELOOP
					: guard_place_follow(&guard->view,
							     place, &st);
		if (link && error == 1)
			return guard->area ? guard_reopen(guard, place, o.flags)
					   : open_magic(&o);
		/* The host makes names, too. */
		if (!link && error == -EEXIST && !(flags & O_EXCL) &&
		    ++races < MAX_RACES)
			link = true;
		else if (error)
			return error;
	} while (link);
	return error;
}
