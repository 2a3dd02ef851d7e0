/* SPDX-License-Identifier: Apache-2.0 */
/* A file that grows by whole lines, of several processes at once. */
#include "core/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/util.h"

#define FLAGS \
	(O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static bool may_be(const struct stat *st, bool own)
{
	if (own && (st->st_uid != geteuid() || (st->st_mode & 077)))
		return false;
	return S_ISCHR(st->st_mode) ||
	       (S_ISREG(st->st_mode) && st->st_nlink == 1);
}

int journal_open(const char *path, bool own)
{
	owned_fd int fd = open(path, FLAGS | O_CREAT, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	return may_be(&st, own) ? steal_fd(&fd) : -EPERM;
}

int journal_append(int fd, const char *text, size_t size)
{
	const struct timespec now = { 0 };
	sigset_t limit, before;
	ssize_t n;
	int error;

	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &limit, &before);
	do
		n = write(fd, text, size);
	while (n < 0 && errno == EINTR);
	error = n < 0 ? -errno : (size_t)n < size ? -ENOSPC : 0;
	/* It comes to the thread that wrote, so it is there by now. */
	if (error == -EFBIG)
		(void)sigtimedwait(&limit, NULL, &now);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return error;
}

int journal_turn(const char *path, int fd, off_t most)
{
	char old[PATH_MAX];
	struct stat st, named;
	int error = 0;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < most)
		return 0;
	if (snprintf(old, sizeof(old), "%s.1", path) >= (int)sizeof(old))
		return -ENAMETOOLONG;
	/* Who has the lock renames. Nobody waits for it: others may hold it. */
	if (flock(fd, LOCK_EX | LOCK_NB))
		return errno == EWOULDBLOCK ? 0 : -errno;
	if (!lstat(path, &named) && named.st_ino == st.st_ino &&
	    named.st_dev == st.st_dev && rename(path, old))
		error = -errno;
	flock(fd, LOCK_UN);
	return error ? error : 1;
}
