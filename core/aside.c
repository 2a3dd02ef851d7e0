/* SPDX-License-Identifier: Apache-2.0 */
/* Puts things aside that a command left behind, and losing none of them. */
#include "core/aside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/system.h"
#include "core/util.h"

#define MOST_NUMBERS 10000

/* The folder of an entry, opened without following a link. */
static int open_folder(const char *path, int flags)
{
	const char *name = strrchr(path, '/');
	owned_ptr char *folder = NULL;
	owned_fd int root = -1;

	if (!name || !name[1])
		return -EINVAL;
	folder = strndup(path, (size_t)(name - path));
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!folder || root < 0)
		return folder ? -errno : -ENOMEM;
	if (!*folder)
		return steal_fd(&root);
	return sys_open_beneath(root, folder, flags | O_DIRECTORY);
}

/* With the folder open to writing for as long as it takes. */
static int in_open_folder(int dir, int (*act)(int dir, void *with), void *with)
{
	struct stat st;
	int error = act(dir, with);

	if (error != -EACCES || fstat(dir, &st) || st.st_uid != geteuid())
		return error;
	error = sys_chmod_fd(dir, (st.st_mode & 07777) | S_IRWXU);
	if (error)
		return error;
	error = act(dir, with);
	(void)sys_chmod_fd(dir, st.st_mode & 07777);
	return error;
}

struct move {
	const char *from;
	const char *suffix;
	char *name;
	size_t size;
};

/* Not every file system knows RENAME_NOREPLACE. */
static int rename_once(int dir, const char *from, const char *to)
{
	struct stat st;

	if (!renameat2(dir, from, dir, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (!fstatat(dir, to, &st, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(dir, from, dir, to) ? -errno : 0;
}

static int move(int dir, void *with)
{
	const struct move *m = with;
	int error = -EEXIST;

	for (int number = 1; error == -EEXIST && number < MOST_NUMBERS;
	     number++) {
		char tail[64] = "";
		int room;

		if (number > 1)
			snprintf(tail, sizeof(tail), ".%d", number);
		/* A long name is cut: there is no room for more. */
		room = NAME_MAX - (int)(strlen(m->suffix) + strlen(tail));
		snprintf(m->name, m->size, "%.*s%s%s", room, m->from, m->suffix,
			 tail);
		error = rename_once(dir, m->from, m->name);
	}
	return error;
}

int aside_move(const char *path, const char *suffix, char *name, size_t size)
{
	owned_fd int dir = open_folder(path, O_PATH);
	const char *last = strrchr(path, '/');
	struct move with = { last + 1, suffix, name, size };

	if (dir < 0)
		return dir;
	return in_open_folder(dir, move, &with);
}

/* @replaces: it is to be renamed to what must not be empty after a power cut */
struct content {
	const char *name;
	const void *text;
	size_t size;
	mode_t mode;
	bool replaces;
};

static int write_all(int fd, const struct content *c)
{
	errno = 0;
	if (write(fd, c->text, c->size) != (ssize_t)c->size)
		return errno ? -errno : -EIO;
	return 0;
}

static int put(int dir, void *with)
{
	const struct content *c = with;
	owned_fd int fd = openat(
		dir, c->name,
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int error;

	if (fd < 0)
		return -errno;
	error = write_all(fd, c);
	if (error)
		return error;
	return fchmod(fd, c->mode) || (c->replaces && fsync(fd)) ? -errno : 0;
}

int aside_write(const char *path, const void *text, size_t size, mode_t mode)
{
	owned_fd int dir = open_folder(path, O_PATH);
	const char *last = strrchr(path, '/');
	struct content with = { last + 1, text, size, mode, false };

	return dir < 0 ? dir : in_open_folder(dir, put, &with);
}

/*
 * Into the file itself, whose owner or group a new one could not have: shared
 * files stay shared. @begun: should that fail, what was beside it is needed.
 */
static int write_over(int dir, const struct content *c, const struct stat *st,
		      bool *begun)
{
	/* Read as well, for what posix_fallocate(3) does where a file system
	 * can't. */
	owned_fd int fd = openat(dir, c->name,
				 O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat now;
	int error;

	if (fd < 0)
		return errno == EACCES ? -EPERM : -errno;
	if (fstat(fd, &now) || now.st_dev != st->st_dev ||
	    now.st_ino != st->st_ino)
		return -ESTALE;
	/* A full disk shows while the file is as it was. */
	error = posix_fallocate(fd, 0, (off_t)c->size);
	if (error && error != EOPNOTSUPP && error != EINVAL)
		return ftruncate(fd, st->st_size) ? -errno : -error;
	*begun = true;
	error = write_all(fd, c);
	if (error)
		return error;
	return ftruncate(fd, (off_t)c->size) || fsync(fd) ? -errno : 0;
}

/* What is written beside, and then takes the file's place with its owner. */
static int replace(int dir, void *with)
{
	const struct content *c = with;
	char beside[NAME_MAX + 1];
	struct content new = { beside, c->text, c->size, 0, true };
	struct stat st;
	bool begun = false;
	int error;

	if (fstatat(dir, c->name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_nlink != 1)
		return -EMLINK;
	if ((size_t)snprintf(beside, sizeof(beside), ".%s.srt-lua", c->name) >=
	    sizeof(beside))
		return -ENAMETOOLONG;
	new.mode = st.st_mode & 07777;
	error = put(dir, &new);
	if (error == -EEXIST)
		return error;
	/* Of another owner, it would not be his any more. */
	if (!error &&
	    fchownat(dir, beside, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW))
		error = -errno;
	if (!error && !renameat(dir, beside, dir, c->name))
		return 0;
	if (!error)
		error = -errno;
	else if (error == -EPERM)
		error = write_over(dir, c, &st, &begun);
	if (!error || !begun)
		unlinkat(dir, beside, 0);
	return error;
}

int aside_replace(const char *path, const void *text, size_t size)
{
	owned_fd int dir = open_folder(path, O_PATH);
	const char *last = strrchr(path, '/');
	struct content with = { last + 1, text, size, 0, true };

	return dir < 0 ? dir : in_open_folder(dir, replace, &with);
}

int aside_open_up(const char *path, mode_t mode)
{
	owned_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned_fd int fd = -1;
	struct stat st;
	int error;

	if (root < 0)
		return -errno;
	fd = sys_open_beneath(root, path, O_PATH | O_DIRECTORY);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	error = sys_chmod_fd(fd, mode ? mode : (st.st_mode & 07777) | S_IRWXU);
	return error ? error : (int)(st.st_mode & 07777);
}
