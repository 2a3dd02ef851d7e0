/* SPDX-License-Identifier: Apache-2.0 */
/* Standard descriptors, opened anew by the sandbox's own mounts. */
#include "core/inherited.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define MEMORY_DEVICES 1 /* their major number */

/* What our /dev has of them, by minor number. */
static const char *const devices[] = {
	[3] = "/dev/null",   [5] = "/dev/zero",	   [7] = "/dev/full",
	[8] = "/dev/random", [9] = "/dev/urandom",
};

static const char *device_name(const struct stat *st)
{
	unsigned int number = minor(st->st_rdev);

	if (!S_ISCHR(st->st_mode) || major(st->st_rdev) != MEMORY_DEVICES ||
	    number >= ARRAY_SIZE(devices))
		return NULL;
	return devices[number];
}

/* A name that can't be told is "", which opens nothing. */
static const char *keep(struct shared *shared, const char *path)
{
	char *copy = path ? shared_alloc(shared, strlen(path) + 1) : NULL;

	return copy ? strcpy(copy, path) : path ? "" : NULL;
}

static const char *file_name(struct shared *shared, int fd)
{
	char link[32], path[PATH_MAX];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (size <= 0)
		return "";
	path[size] = '\0';
	return keep(shared, path);
}

void inherited_note(struct shared *shared)
{
	for (int fd = 0; fd < INHERITED_COUNT; fd++) {
		int flags = fcntl(fd, F_GETFL);
		struct stat st;

		shared->inherited[fd] = NULL;
		if (flags < 0 || (flags & O_PATH) || fstat(fd, &st))
			continue;
		if (!S_ISREG(st.st_mode))
			shared->inherited[fd] = keep(shared, device_name(&st));
		else if ((flags & O_ACCMODE) == O_RDONLY && st.st_nlink)
			shared->inherited[fd] = file_name(shared, fd);
	}
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	if (S_ISCHR(a->st_mode))
		return S_ISCHR(b->st_mode) && a->st_rdev == b->st_rdev;
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int reopen(int fd, const char *path)
{
	int kept = O_ACCMODE | O_APPEND | O_NONBLOCK;
	int flags = fcntl(fd, F_GETFL);
	owned_fd int fresh = -1;
	struct stat before, after;
	off_t at;

	if (flags < 0 || fstat(fd, &before))
		return -errno;
	fresh = open(path, (flags & kept) | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
	if (fresh < 0 || fstat(fresh, &after))
		return -errno;
	if (!same_file(&before, &after))
		return -ESTALE;
	at = lseek(fd, 0, SEEK_CUR);
	if (at > 0 && lseek(fresh, at, SEEK_SET) < 0)
		return -errno;
	return dup2(fresh, fd) < 0 ? -errno : 0;
}

int inherited_reopen(const struct shared *shared, struct failure *failure)
{
	for (int fd = 0; fd < INHERITED_COUNT; fd++) {
		const char *path = shared->inherited[fd];
		int error = path ? reopen(fd, path) : 0;

		if (error)
			return failure_set(
				failure, 0,
				"descriptor %d is %s, which is not "
				"to be had inside; use a pipe: "
				"cat FILE | srt-lua …",
				fd, *path ? path : "a file without a name");
	}
	return 0;
}
