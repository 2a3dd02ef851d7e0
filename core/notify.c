/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that are notified: received, copied once, and answered. */
#include "core/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/system.h"
#include "core/util.h"

/* Linux 6.6: caller and listener take turns on one processor. */
#define SRT_NOTIF_SET_FLAGS SECCOMP_IOW(4, uint64_t)
#define SRT_NOTIF_SYNC_WAKE_UP 1ULL
/* Linux 6.9: a pidfd of a thread, which can have descriptors of its own. */
#define SRT_PIDFD_THREAD O_EXCL
/* Most paths are shorter; each page and cache line more takes time. */
#define PATH_PIECE 256

static int install(const struct sock_fprog *program, unsigned long flags)
{
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
			    program);
}

int notify_install(const struct sock_fprog *program)
{
	int fd;

	if (sys_missing("seccomp") || sys_missing("seccomp_notify"))
		return -ENOSYS;
	fd = install(program, SECCOMP_FILTER_FLAG_NEW_LISTENER |
				      SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (fd < 0 && errno == EINVAL)
		fd = install(program, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	return fd < 0 ? -errno : fd;
}

int notify_open(struct notify *notify, int listener)
{
	struct seccomp_notif_sizes sizes;

	*notify = (struct notify){ .listener = listener, .proc = -1 };
	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0UL, &sizes))
		return -errno;
	notify->room = sizeof(*notify->request);
	if (sizes.seccomp_notif > notify->room)
		notify->room = sizes.seccomp_notif;
	notify->request = malloc(notify->room);
	if (!notify->request)
		return -ENOMEM;
	notify->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (notify->proc < 0)
		return -errno;
	/* Only faster: an older kernel goes without. */
	(void)ioctl(listener, SRT_NOTIF_SET_FLAGS, SRT_NOTIF_SYNC_WAKE_UP);
	return 0;
}

void notify_close(struct notify *notify)
{
	close(notify->listener);
	if (notify->proc >= 0)
		close(notify->proc);
	for (size_t i = 0; i < NOTIFY_KEPT; i++)
		if (notify->kept[i].pid)
			close(notify->kept[i].fd);
	free(notify->request);
}

int notify_receive(struct notify *notify)
{
	/* The kernel refuses a struct that is not zeroed. */
	memset(notify->request, 0, notify->room);
	return ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_RECV,
		     notify->request)
		       ? -errno
		       : 0;
}

/* The agent's own alarms interrupt these, too: a lost answer is a hung call. */
static int tell(const struct notify *notify, unsigned long request, void *data)
{
	int result;

	do {
		result = ioctl(notify->listener, request, data);
	} while (result < 0 && errno == EINTR);
	return result;
}

bool notify_ended(const struct notify *notify)
{
	struct pollfd state = { .fd = notify->listener };

	return poll(&state, 1, 0) == 1 && (state.revents & POLLHUP);
}

bool notify_valid(const struct notify *notify)
{
	return tell(notify, SECCOMP_IOCTL_NOTIF_ID_VALID,
		    &notify->request->id) == 0;
}

static void answer(const struct notify *notify, int value, int error)
{
	struct seccomp_notif_resp response = { .id = notify->request->id,
					       .val = value,
					       .error = error };

	/* ENOENT: the caller was killed. */
	(void)tell(notify, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

void notify_answer(const struct notify *notify, int error)
{
	answer(notify, 0, error);
}

void notify_answer_fd(const struct notify *notify, int fd, bool cloexec)
{
	struct seccomp_notif_addfd add = {
		.id = notify->request->id,
		.srcfd = (unsigned int)fd,
		.newfd_flags = cloexec ? O_CLOEXEC : 0,
	};
	int number = tell(notify, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	int error = number < 0 ? -errno : 0;

	close(fd);
	answer(notify, error ? 0 : number, error);
}

void notify_continue(const struct notify *notify)
{
	struct seccomp_notif_resp response = {
		.id = notify->request->id,
		.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	(void)tell(notify, SECCOMP_IOCTL_NOTIF_SEND, &response);
}

ssize_t notify_read(pid_t pid, uint64_t address, void *buffer, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t first = page - (size_t)(address % page);
	struct iovec local = { buffer, size };
	struct iovec remote[2];
	ssize_t got;

	/* What is read ends at a whole element, so none goes over a page. */
	if (first > size)
		first = size;
	remote[0] = (struct iovec){ (void *)(uintptr_t)address, first };
	remote[1] = (struct iovec){ (void *)(uintptr_t)(address + first),
				    size - first };
	got = process_vm_readv(pid, &local, 1, remote, 1 + (first < size), 0);
	return got < 0 ? -errno : got ? got : -EFAULT;
}

ssize_t notify_read_path(pid_t pid, uint64_t address, char path[PATH_MAX])
{
	ssize_t got = notify_read(pid, address, path, PATH_PIECE), more = 0;
	const char *end;

	if (got == PATH_PIECE && !memchr(path, '\0', PATH_PIECE))
		more = notify_read(pid, address + PATH_PIECE, path + PATH_PIECE,
				   PATH_MAX - PATH_PIECE);
	if (got < 0 || more < 0)
		return got < 0 ? got : more;
	got += more;
	end = memchr(path, '\0', (size_t)got);
	if (!end)
		return got == PATH_MAX ? -ENAMETOOLONG : -EFAULT;
	return end - path;
}

int notify_path_fd(const struct notify *notify, pid_t pid, int fd, int flags)
{
	char name[48];
	int copy;

	snprintf(name, sizeof(name), "%d/fd/%d", (int)pid, fd);
	copy = openat(notify->proc, name, O_PATH | O_CLOEXEC | flags);
	if (copy < 0)
		return errno == ENOENT ? -EBADF : -errno;
	return copy;
}

int notify_take_fd(pid_t pid, pid_t tgid, int fd)
{
	owned_fd int process =
		(int)syscall(SYS_pidfd_open, pid, SRT_PIDFD_THREAD);
	int copy;

	if (process < 0 && errno == EINVAL)
		process = (int)syscall(SYS_pidfd_open, tgid, 0);
	if (process < 0)
		return -errno;
	copy = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
	return copy < 0 ? -errno : copy;
}

int notify_cwd(const struct notify *notify, pid_t pid)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "%d/cwd", (int)pid);
	fd = openat(notify->proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The number after @name at the beginning of a line. */
static uint64_t field(const char *text, const char *name, int base)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static int open_status(struct notify *notify, struct notify_kept *kept,
		       pid_t pid)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "%d/status", (int)pid);
	fd = openat(notify->proc, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (kept->pid)
		close(kept->fd);
	*kept = (struct notify_kept){ pid, fd };
	return 0;
}

int notify_status(struct notify *notify, pid_t pid,
		  struct notify_caller *caller)
{
	/* The name, which the caller chooses, comes first and has no newline.
	 */
	char text[16384];
	struct notify_kept *kept = &notify->kept[pid % NOTIFY_KEPT];
	ssize_t size = -1;
	uint64_t held_back;
	int error;

	if (kept->pid == pid)
		size = pread(kept->fd, text, sizeof(text) - 1, 0);
	if (size <= 0) {
		error = open_status(notify, kept, pid);
		if (error)
			return error;
		size = pread(kept->fd, text, sizeof(text) - 1, 0);
	}
	if (size <= 0)
		return size ? -errno : -ESRCH;
	text[size] = '\0';
	if (!strstr(text, "\nUmask:") || !strstr(text, "\nCapEff:"))
		return -ENOSYS;
	caller->tgid = (pid_t)field(text, "\nTgid:", 10);
	caller->umask = (mode_t)field(text, "\nUmask:", 8) & 0777;
	caller->caps = field(text, "\nCapEff:", 16);
	held_back = field(text, "\nSigBlk:", 16) | field(text, "\nSigIgn:", 16);
	caller->pending =
		(field(text, "\nSigPnd:", 16) | field(text, "\nShdPnd:", 16)) &
		~held_back;
	return 0;
}
