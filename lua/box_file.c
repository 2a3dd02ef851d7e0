/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and reads what a policy may: pure system calls, no Lua. */
#include "lua/box_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* FIFOs and devices must neither block nor become our terminal. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int open_as(int dir, const char *path, unsigned long long flags,
		   unsigned long long resolve)
{
	struct open_how how = { .flags = flags, .resolve = resolve };
	long fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Up to @max bytes; -EFBIG where there is one more. */
static int read_all(int fd, size_t max, size_t guess, char **data, size_t *size)
{
	size_t room = guess < max ? guess + 1 : max + 1, used = 0;
	char *buffer = malloc(room), *grown;
	ssize_t n;

	while (buffer) {
		n = read(fd, buffer + used, room - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || (n > 0 && used + (size_t)n > max)) {
			free(buffer);
			return n < 0 ? -errno : -EFBIG;
		}
		used += (size_t)n;
		if (n == 0) {
			*data = buffer;
			*size = used;
			return 0;
		}
		if (used < room)
			continue;
		/* A file of /proc says 0, and any file may have grown. */
		room = room * 2 < max + 1 ? room * 2 : max + 1;
		grown = realloc(buffer, room);
		if (!grown)
			free(buffer);
		buffer = grown;
	}
	return -ENOMEM;
}

/* Closes @fd. */
static int read_regular(int fd, size_t max, char **data, size_t *size)
{
	struct stat st;
	int err;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (S_ISDIR(st.st_mode))
		err = -EISDIR;
	else if (!S_ISREG(st.st_mode))
		err = -EINVAL;
	else if (st.st_size > 0 && (size_t)st.st_size > max)
		err = -EFBIG;
	else
		err = read_all(fd, max, (size_t)st.st_size, data, size);
	close(fd);
	return err;
}

int box_file_read(const char *path, size_t max, char **data, size_t *size,
		  char *real)
{
	if (!realpath(path, real))
		return -errno;
	return read_regular(
		open_as(AT_FDCWD, real, OPEN_FLAGS, RESOLVE_NO_SYMLINKS), max,
		data, size);
}

int box_file_read_beneath(int root, const char *path, size_t max, char **data,
			  size_t *size)
{
	return read_regular(open_as(root, path, OPEN_FLAGS,
				    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
					    RESOLVE_NO_MAGICLINKS),
			    max, data, size);
}

int box_file_root(const char *path)
{
	return open_as(AT_FDCWD, path, O_PATH | O_DIRECTORY | O_CLOEXEC,
		       RESOLVE_NO_SYMLINKS);
}
