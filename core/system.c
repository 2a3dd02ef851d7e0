/* SPDX-License-Identifier: Apache-2.0 */
/* Thin wrappers over Linux's system calls that libc does not wrap. */
#include "core/system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/util.h"

static int result(long value)
{
	return value < 0 ? -errno : (int)value;
}

int sys_open_tree(int dirfd, const char *path, unsigned int flags)
{
	return result(
		syscall(SYS_open_tree, dirfd, path, flags | OPEN_TREE_CLOEXEC));
}

int sys_move_mount(int from, int dirfd, const char *path)
{
	unsigned int flags = MOVE_MOUNT_F_EMPTY_PATH;

	if (!*path)
		flags |= MOVE_MOUNT_T_EMPTY_PATH;
	return result(syscall(SYS_move_mount, from, "", dirfd, path, flags));
}

int sys_mount_attr(int fd, bool recursive, uint64_t set, uint64_t clear)
{
	struct srt_mount_attr attr = { .attr_set = set, .attr_clr = clear };
	unsigned int flags = AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0);

	if (sys_missing("mount_setattr"))
		return -ENOSYS;
	return result(
		syscall(SYS_mount_setattr, fd, "", flags, &attr, sizeof(attr)));
}

int sys_fsopen(const char *type)
{
	return result(syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
}

int sys_fsconfig(int fs, const char *key, const char *value)
{
	unsigned int command = !key	? FSCONFIG_CMD_CREATE
			       : !value ? FSCONFIG_SET_FLAG
					: FSCONFIG_SET_STRING;

	return result(syscall(SYS_fsconfig, fs, command, key, value, 0));
}

int sys_fsmount(int fs, unsigned int attributes)
{
	return result(syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attributes));
}

int sys_pivot_root(const char *new_root, const char *put_old)
{
	return result(syscall(SYS_pivot_root, new_root, put_old));
}

int sys_landlock_abi(void)
{
	const char *fake = getenv("SRT_LUA_FAKE_LANDLOCK_ABI");
	int abi = result(
		syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, 1U));

	if (fake && atoi(fake) < abi)
		return atoi(fake);
	return abi < 0 ? 0 : abi;
}

int sys_open_beneath(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	int fd = sys_missing("openat2") ? -ENOSYS
					: result(syscall(SYS_openat2, dir, path,
							 &how, sizeof(how)));

	return fd == -ENOSYS ? sys_open_steps(dir, path, flags) : fd;
}

int sys_open_plain(const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return result(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

int sys_chmod_fd(int fd, mode_t mode)
{
	char link[32];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode) ? -errno : 0;
}

int sys_chmod_dir(int at, const char *name, mode_t mode)
{
	/* fchmodat(2) follows a link that was put there in between. */
	owned_fd int fd =
		openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : sys_chmod_fd(fd, mode);
}

ssize_t sys_fd_path(int fd, char *path, size_t size)
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, size);
	return length < 0 ? -errno : length;
}

int sys_hide(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

void sys_close_all_but(int from, const int *keep, size_t count)
{
	for (;;) {
		int next = -1;

		for (size_t i = 0; i < count; i++)
			if (keep[i] >= from && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next < 0)
			break;
		if (next > from)
			(void)syscall(SYS_close_range, (unsigned int)from,
				      (unsigned int)next - 1, 0U);
		from = next + 1;
	}
	(void)syscall(SYS_close_range, (unsigned int)from, ~0U, 0U);
}

/* At most SYS_MAX_FDS - 2, into a ring that nobody can reach. */
static void put_away(const int *fds, size_t count)
{
	int ring[SYS_MAX_FDS];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ring))
		return;
	memcpy(ring + 2, fds, count * sizeof(*fds));
	(void)sys_send(ring[0], "", 1, ring, count + 2);
	close(ring[0]);
	close(ring[1]);
}

void sys_abandon(const int *fds, size_t count)
{
	int some[SYS_MAX_FDS - 2];
	size_t left = count;

	while (left) {
		size_t size = 0;

		while (left && size < ARRAY_SIZE(some))
			if (fds[--left] >= 0)
				some[size++] = fds[left];
		if (size)
			put_away(some, size);
		for (size_t i = 0; i < size; i++)
			close(some[i]);
	}
}
