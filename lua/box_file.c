/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and reads what a policy may: pure system calls, no Lua. */
#include "lua/box_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/system.h"
#include "core/util.h"

/* FIFOs and devices must neither block nor become our terminal. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* An absolute path that holds no link. */
static int open_real(const char *path, int flags)
{
	owned_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : sys_open_beneath(root, path, flags);
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
	return read_regular(open_real(real, OPEN_FLAGS), max, data, size);
}

int box_file_read_beneath(int root, const char *path, size_t max, char **data,
			  size_t *size)
{
	/* "a//b" and "/a" are spelled by nobody who asks for a module. */
	if (*path == '/')
		return -EXDEV;
	return read_regular(sys_open_beneath(root, path, OPEN_FLAGS), max, data,
			    size);
}

int box_file_root(const char *path)
{
	return open_real(path, O_PATH | O_DIRECTORY);
}
