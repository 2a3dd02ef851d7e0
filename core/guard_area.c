/* SPDX-License-Identifier: Apache-2.0 */
/* Where no mount holds what may not be touched: the area, and what it adds. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/guard_calls.h"
#include "core/util.h"
#include "core/watch_calls.h"

int guard_leave(struct guard *guard)
{
	notify_continue(&guard->notify);
	return GUARD_ANSWERED;
}

void guard_tell(struct guard *guard, enum watch_action action, const char *real)
{
	if (guard->watch.socket < 0 ||
	    (action == WATCH_READ && !guard->watch.table->reads) ||
	    real[0] != '/' || watch_is_ours(real))
		return;
	watch_tell(guard, WATCH_PATH, action, real);
}

int guard_pass(struct guard *guard, enum watch_action action, const char *real)
{
	guard_tell(guard, action, real);
	return guard_leave(guard);
}

bool guard_may(const struct guard *guard, const struct guard_place *place)
{
	return !guard->area || (!guard_place_special(place) &&
				area_has(guard->area, place->real));
}

bool guard_may_list(const struct guard *guard, const struct guard_place *place,
		    int flags, const struct stat *st)
{
	char real[sizeof(place->real)];
	size_t size = strlen(place->real);

	if (!guard->area || (flags & (O_ACCMODE | O_CREAT | O_TRUNC)) ||
	    !S_ISDIR(st->st_mode))
		return false;
	memcpy(real, place->real, size + 1);
	/* What "." is called; "/" has no other name. */
	if (guard_place_special(place))
		real[size > 2 ? size - 2 : 1] = '\0';
	return area_lists(guard->area, real);
}

/*
 * Of what was removed the kernel tells the name with " (deleted)", by which it
 * would not be denied: with another name left it could be what is outside. What
 * O_TMPFILE made is called by its number for as long as it is open.
 */
static bool is_named(int fd, const char *real)
{
	struct stat st, there;
	char made[48];
	size_t size;

	if (fstat(fd, &st))
		return false;
	if (!st.st_nlink)
		return true;
	if (!lstat(real, &there))
		return st.st_dev == there.st_dev && st.st_ino == there.st_ino;
	size = (size_t)snprintf(made, sizeof(made), "/#%ju (deleted)",
				(uintmax_t)st.st_ino);
	return strlen(real) > size && !strcmp(real + strlen(real) - size, made);
}

bool guard_may_file(const struct guard *guard, int fd)
{
	char real[PATH_MAX];

	return !guard->area ||
	       (guard_real_path(fd, real) >= 0 && is_named(fd, real) &&
		area_has(guard->area, real));
}

int guard_keep_out(struct guard *guard, int fd, const struct guard_place *place)
{
	char real[PATH_MAX];

	if (guard_real_path(fd, real) >= 0 && area_denies(guard->area, real))
		return guard_pass(guard, WATCH_CREATE, place->real);
	return -EXDEV;
}

bool guard_may_change(const struct guard *guard, int fd)
{
	char real[PATH_MAX];

	return guard_real_path(fd, real) >= 0 && is_named(fd, real) &&
	       area_changes(guard->area, real);
}

int guard_remove(struct guard *guard, const struct guard_place *place,
		 int flags)
{
	if (!guard_may(guard, place) || area_holds(guard->area, place->real))
		return guard_pass(guard, WATCH_DELETE, place->real);
	return unlinkat(place->dir, place->name, flags) ? -errno : 0;
}

/* What a descriptor leads to is not of the area. */
static int pass_file(struct guard *guard, int fd, int flags)
{
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
	char real[PATH_MAX];

	return fd < 0 || guard_real_path(fd, real) < 0
		       ? guard_leave(guard)
		       : guard_pass(guard, writes ? WATCH_WRITE : WATCH_READ,
				    real);
}

/*
 * A plain file of the area, again, by a descriptor that leads to it: -ENOTSUP
 * for what is none. It never waits: a lease is the kernel's affair.
 */
static int reopen(const struct guard *guard, int path, int flags)
{
	struct stat st;
	char name[32];
	int fd;

	if (fstat(path, &st) || !S_ISREG(st.st_mode) || !st.st_nlink ||
	    !guard_may_file(guard, path))
		return -ENOTSUP;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
	fd = open(name, flags | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 ? fd : errno == EWOULDBLOCK ? -ENOTSUP : -errno;
}

int guard_reopen(struct guard *guard, const struct guard_place *place,
		 int flags)
{
	owned_fd int path = guard_place_jump(&guard->view, place, 0);
	int fd = path < 0 ? -ENOTSUP
			  : reopen(guard, path,
				   flags & ~(O_CREAT | O_EXCL | O_NOFOLLOW));

	if (fd == -ENOTSUP)
		return pass_file(guard, path, flags);
	if (fd < 0)
		return fd;
	(void)fcntl(fd, F_SETFL, flags);
	notify_answer_fd(&guard->notify, fd, flags & O_CLOEXEC);
	return GUARD_ANSWERED;
}

int guard_unnamed(struct guard *guard, int base, struct guard_place *place,
		  int flags, mode_t mode)
{
	owned_fd int folder = guard_place_open(&guard->view, base, place,
					       !(flags & O_NOFOLLOW));
	char real[PATH_MAX];
	int fd;

	if (folder < 0)
		return folder;
	if (guard_real_path(folder, real) < 0)
		return guard_leave(guard);
	if (!area_lists(guard->area, real))
		return guard_pass(guard, WATCH_CHANGE, real);
	fd = openat(folder, ".", flags | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	notify_answer_fd(&guard->notify, fd, flags & O_CLOEXEC);
	return GUARD_ANSWERED;
}

int guard_truncate(struct guard *guard, int base, struct guard_place *place,
		   off_t size)
{
	owned_fd int path = guard_place_open(&guard->view, base, place, true);
	owned_fd int fd = -1;

	if (path < 0)
		return path;
	fd = reopen(guard, path, O_WRONLY);
	if (fd == -ENOTSUP)
		return pass_file(guard, path, O_WRONLY);
	return fd < 0 ? fd : ftruncate(fd, size) ? -errno : 0;
}
