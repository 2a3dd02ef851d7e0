/* SPDX-License-Identifier: Apache-2.0 */
/* The part of core/system.h that every system has. */
#include "core/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/util.h"

extern char **environ;

static int open_at(int dir, const char *name, int flags)
{
	int fd = openat(dir, name, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
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
	return open_at(dir, name, flags | O_NOFOLLOW);
}

int sys_open_steps(int dir, const char *path, int flags)
{
	owned_ptr char *copy = strdup(path);
	char *rest = NULL, *name, *next;
	int at = dir, fd = -ENOENT;

	if (!copy)
		return -ENOMEM;
	name = strtok_r(copy, "/", &rest);
	if (!name)
		return open_at(dir, ".", flags);
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

static struct {
	char *text;
	size_t size;
} arguments;

void sys_note_arguments(int argc, char **argv)
{
	char *last = argc ? argv[argc - 1] : NULL;

	if (!last)
		return;
	arguments.text = argv[0];
	arguments.size = (size_t)(last - argv[0]) + strlen(last);
}

void sys_forget_arguments(const char *name)
{
	size_t size = strlen(name);

	if (!arguments.text)
		return;
	explicit_bzero(arguments.text, arguments.size);
	memcpy(arguments.text, name,
	       size < arguments.size ? size : arguments.size);
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

int sys_reap(pid_t pid, int *status)
{
	while (waitpid(pid, status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return 0;
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

void sys_raise_file_limit(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	if (!setrlimit(RLIMIT_NOFILE, &files))
		return;
	/* macOS names no limit, and takes no more than its OPEN_MAX. */
	files.rlim_cur = 10240;
	(void)setrlimit(RLIMIT_NOFILE, &files);
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
