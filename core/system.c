/* SPDX-License-Identifier: Apache-2.0 */
/* Thin wrappers over system calls that libc does not wrap. */
#include "core/system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
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

/*
 * A component that is a link opens as one with O_PATH: then it is refused, but
 * as the last one where openat2(2) would answer it, too.
 */
static int open_step(int dir, const char *name, int flags, bool last)
{
	owned_fd int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode) && (!last || !(flags & O_PATH)))
		return -ELOOP;
	if (flags & O_PATH)
		return steal_fd(&fd);
	return result(openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC));
}

static int open_by_steps(int dir, const char *path, int flags)
{
	owned_ptr char *copy = strdup(path);
	char *rest = NULL, *name, *next;
	int at = dir, fd = -ENOENT;

	if (!copy)
		return -ENOMEM;
	name = strtok_r(copy, "/", &rest);
	if (!name)
		return result(openat(dir, ".", flags | O_CLOEXEC));
	for (; name; name = next) {
		next = strtok_r(NULL, "/", &rest);
		if (!strcmp(name, ".."))
			fd = -EXDEV;
		else
			fd = open_step(at, name, next ? O_PATH : flags, !next);
		if (at != dir)
			close(at);
		if (fd < 0)
			return fd;
		at = fd;
	}
	return fd;
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

	return fd == -ENOSYS ? open_by_steps(dir, path, flags) : fd;
}

int sys_open_plain(const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};

	return result(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)));
}

int sys_write_file(const char *path, const char *text)
{
	owned_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
	size_t size = strlen(text);
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, text, size);
	if (written < 0)
		return -errno;
	return (size_t)written == size ? 0 : -EIO;
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

void sys_forget_environment(void)
{
	static const char hooks[] = "SRT_LUA_";
	char **kept = environ;

	for (char **variable = environ; variable && *variable; variable++) {
		if (strncmp(*variable, hooks, sizeof(hooks) - 1) == 0)
			*kept++ = *variable;
		else
			explicit_bzero(*variable, strlen(*variable));
	}
	if (kept)
		*kept = NULL;
}

long long sys_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

bool sys_missing(const char *feature)
{
	const char *list = getenv("SRT_LUA_FAKE_MISSING");
	size_t size = strlen(feature);

	while (list && *list) {
		size_t item = strcspn(list, ",");

		if (item == size && strncmp(list, feature, size) == 0)
			return true;
		list += item;
		list += *list == ',';
	}
	return false;
}

ssize_t sys_send_some(int socket, const void *data, size_t size, const int *fds,
		      size_t fd_count, int flags)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * SYS_MAX_FDS)];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec part = { (void *)(uintptr_t)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	ssize_t sent;

	if (fd_count > SYS_MAX_FDS)
		return -E2BIG;
	if (fd_count) {
		struct cmsghdr *header;

		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
	}
	do {
		sent = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

int sys_send(int socket, const void *data, size_t size, const int *fds,
	     size_t fd_count)
{
	ssize_t sent = sys_send_some(socket, data, size, fds, fd_count, 0);

	return sent < 0 ? (int)sent : 0;
}

ssize_t sys_receive(int socket, void *data, size_t size, int *fds,
		    size_t *fd_count)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int) * SYS_MAX_FDS)];
		struct cmsghdr align;
	} control;
	struct iovec part = { data, size };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	size_t room = fd_count ? *fd_count : 0, count = 0;
	struct cmsghdr *header;
	ssize_t received;

	/* A peer that closed with a record of ours unread resets once, in front
	 * of its last words: unix(7). */
	do {
		received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (received < 0 && (errno == EINTR || errno == ECONNRESET));
	if (received < 0)
		return -errno;
	for (header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header)) {
		const int *got = (const int *)(void *)CMSG_DATA(header);
		size_t n = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (header->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (count < room)
				fds[count++] = got[i];
			else
				close(got[i]);
		}
	}
	if (fd_count)
		*fd_count = count;
	return received;
}
