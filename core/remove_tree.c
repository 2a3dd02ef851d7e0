/* SPDX-License-Identifier: Apache-2.0 */
/* Removes a tree that hostile code has filled. */
#include "core/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/system.h"
#include "core/util.h"

/* Gives the owner all rights to a directory. */
static int unlock(int at, const char *name)
{
	int error = sys_chmod_dir(at, name, 0700);

	return error == -EPERM ? 0 : error;
}

static int open_dir(int at, const char *name)
{
	int error = unlock(at, name);
	int fd;

	if (error)
		return error;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Takes a non-empty directory up to @top under a fresh name. */
static int lift(int from, const char *name, int top, unsigned long *serial)
{
	char fresh[40];
	/* To move a directory one must be able to write to it. */
	int error = unlock(from, name);

	if (error)
		return error;
	do {
		snprintf(fresh, sizeof(fresh), "lifted%lu", (*serial)++);
		if (!renameat(from, name, top, fresh))
			return 0;
	} while (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR);
	return -errno;
}

static int remove_entry(int dir, const char *name, int top,
			unsigned long *serial)
{
	if (!unlinkat(dir, name, 0))
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (!unlinkat(dir, name, AT_REMOVEDIR))
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return -errno;
	return lift(dir, name, top, serial);
}

/* Empties @name of @top; what is nested deeper comes up to @top. */
static int empty(int top, const char *name, unsigned long *serial)
{
	int fd = open_dir(top, name);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int error = 0, one;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return fd < 0 ? fd : -ENOMEM;
	}
	while ((entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		one = remove_entry(fd, entry->d_name, top, serial);
		error = error ? error : one;
	}
	closedir(dir);
	return error;
}

/* One pass over the top; *again when something was lifted or left for later. */
static int pass(int top, unsigned long *serial, bool *again)
{
	int copy = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	int error = 0;

	*again = false;
	if (!dir)
		return -errno;
	while (!error && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		if (!unlinkat(top, name, 0) ||
		    !unlinkat(top, name, AT_REMOVEDIR))
			continue;
		error = empty(top, name, serial);
		*again = true;
	}
	closedir(dir);
	return error;
}

int remove_tree(const char *path)
{
	owned_fd int top = -1;
	unsigned long serial = 0;
	struct stat st;
	bool again = true;
	int error = 0;

	/* Most have nothing in it. */
	if (!lstat(path, &st) && st.st_uid == geteuid() && !rmdir(path))
		return 0;
	top = open_dir(AT_FDCWD, path);
	if (top < 0)
		return top;
	if (fstat(top, &st) || st.st_uid != geteuid())
		return -EPERM;
	while (!error && again)
		error = pass(top, &serial, &again);
	if (rmdir(path) && !error)
		error = -errno;
	return error;
}
