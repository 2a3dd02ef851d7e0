/* SPDX-License-Identifier: Apache-2.0 */
/* A run's state file: what was made on the host, for whoever has to remove it.
 */
#include "core/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/util.h"

#define FLAGS (O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Does @path still name what is open as @fd? Who swept it has unlinked it. */
static bool is_named(int fd, const char *path)
{
	struct stat st, named;

	return !fstat(fd, &st) && !lstat(path, &named) &&
	       st.st_ino == named.st_ino && st.st_dev == named.st_dev;
}

int state_create(const char *path, const void *text, size_t size)
{
	owned_fd int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | FLAGS, 0600);

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_SH | LOCK_NB) || !is_named(fd, path))
		return -EAGAIN;
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)text + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			int error = errno;

			unlink(path);
			return -error;
		}
		done += (size_t)n;
	}
	return steal_fd(&fd);
}

int state_hold(const char *path, bool append)
{
	owned_fd int fd =
		open(path, (append ? O_WRONLY | O_APPEND : O_RDONLY) | FLAGS);

	if (fd < 0 || flock(fd, LOCK_SH | LOCK_NB))
		return -errno;
	return is_named(fd, path) ? steal_fd(&fd) : -ESTALE;
}

int state_claim(const char *path)
{
	owned_fd int fd = open(path, O_RDWR | FLAGS);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & 077) || st.st_nlink != 1)
		return -EPERM;
	if (flock(fd, LOCK_EX | LOCK_NB))
		return -errno;
	return is_named(fd, path) ? steal_fd(&fd) : -ESTALE;
}
