/* SPDX-License-Identifier: Apache-2.0 */
/* The part of core/system.h that Linux does by calls of its own. */
#include "core/system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util.h"

#ifdef __APPLE__
/* sys/ptrace.h, which not every SDK has. */
#define PT_DENY_ATTACH 31
int ptrace(int request, pid_t pid, char *address, int data);
#endif

int sys_landlock_abi(void)
{
	return 0;
}

int sys_open_beneath(int dir, const char *path, int flags)
{
	return sys_open_steps(dir, path, flags);
}

int sys_open_plain(const char *path, int flags)
{
	owned_fd int root = open(*path == '/' ? "/" : ".",
				 O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? -errno : sys_open_steps(root, path, flags);
}

int sys_chmod_fd(int fd, mode_t mode)
{
	return fchmod(fd, mode) ? -errno : 0;
}

int sys_chmod_dir(int at, const char *name, mode_t mode)
{
	return fchmodat(at, name, mode, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

ssize_t sys_fd_path(int fd, char *path, size_t size)
{
#ifdef F_GETPATH
	char whole[PATH_MAX];
	size_t length;

	if (fcntl(fd, F_GETPATH, whole))
		return -errno;
	length = strnlen(whole, sizeof(whole));
	if (length > size)
		return -ENAMETOOLONG;
	memcpy(path, whole, length);
	return (ssize_t)length;
#else
	/* On Linux, where this is tried. */
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, size);
	return length < 0 ? -errno : length;
#endif
}

void sys_abandon(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int sys_hide(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none))
		return -errno;
#ifdef PT_DENY_ATTACH
	if (ptrace(PT_DENY_ATTACH, 0, NULL, 0))
		return -errno;
#endif
	return 0;
}
