/* SPDX-License-Identifier: Apache-2.0 */
/* What Linux's libc has and macOS's lacks. */
#include "core/darwin/compat.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <uv.h>

/* The names below are the system's own from here on. */
#undef socket
#undef accept4

#define FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK)

/* Takes over @fd. Another thread's fork in between is not one of ours. */
static int with_flags(int fd, int flags)
{
	if (fd < 0)
		return -1;
	if ((flags & SOCK_CLOEXEC && fcntl(fd, F_SETFD, FD_CLOEXEC)) ||
	    (flags & SOCK_NONBLOCK && fcntl(fd, F_SETFL, O_NONBLOCK))) {
		close(fd);
		return -1;
	}
	return fd;
}

int compat_socket(int domain, int type, int protocol)
{
	return with_flags(socket(domain, type & ~FLAGS, protocol),
			  type & FLAGS);
}

int compat_accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	return with_flags(accept(fd, address, size), flags);
}

int compat_pipe2(int pair[2], int flags)
{
	if (pipe(pair))
		return -1;
	for (int i = 0; i < 2; i++)
		if (flags & O_CLOEXEC)
			(void)fcntl(pair[i], F_SETFD, FD_CLOEXEC);
	return 0;
}

ssize_t compat_getrandom(void *bytes, size_t size, unsigned int flags)
{
	unsigned char *at = bytes;

	(void)flags;
	for (size_t left = size; left;) {
		size_t part = left > 256 ? 256 : left;

		if (getentropy(at, part))
			return -1;
		at += part;
		left -= part;
	}
	return (ssize_t)size;
}

void *compat_memrchr(const void *bytes, int byte, size_t size)
{
	const unsigned char *at = bytes;

	while (size--)
		if (at[size] == (unsigned char)byte)
			return (void *)(uintptr_t)(at + size);
	return NULL;
}

char *compat_strchrnul(const char *text, int byte)
{
	while (*text && *text != (char)byte)
		text++;
	return (char *)(uintptr_t)text;
}

void compat_explicit_bzero(void *bytes, size_t size)
{
	memset(bytes, 0, size);
	/* Somebody reads it, as far as the compiler knows. */
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

int compat_ppoll(struct pollfd *fd, const struct timespec *time,
		 const sigset_t *mask)
{
	fd_set in;
	int ready;

	if (fd->fd < 0 || fd->fd >= FD_SETSIZE) {
		errno = EINVAL;
		return -1;
	}
	FD_ZERO(&in);
	FD_SET(fd->fd, &in);
	/* macOS has no ppoll(2), and its poll(2) knows no terminals. */
	ready = pselect(fd->fd + 1, &in, NULL, NULL, time, mask);
	fd->revents = ready > 0 ? POLLIN : 0;
	return ready;
}

int compat_sigtimedwait(const sigset_t *set)
{
	sigset_t pending;
	int got = 0;

	for (int sig = 1; !got && sig < NSIG; sig++)
		if (sigismember(set, sig) == 1 && !sigpending(&pending) &&
		    sigismember(&pending, sig) == 1)
			got = sig;
	return got && !sigwait(set, &got) ? got : -1;
}

const char *compat_strerrorname_np(int error)
{
	static char name[32];

	if (!error)
		return "0";
	return uv_err_name_r(-error, name, sizeof(name));
}

#ifdef __APPLE__
/* What readdir(3) calls there; it ends where nothing is left. */
ssize_t __getdirentries64(int fd, void *bytes, size_t size, off_t *base);

ssize_t compat_getdents64(int fd, void *bytes, size_t size)
{
	off_t base = 0;

	return __getdirentries64(fd, bytes, size, &base);
}

struct sorting {
	int (*compare)(const void *, const void *, void *);
	void *context;
};

static int compare_turned(void *context, const void *a, const void *b)
{
	const struct sorting *sorting = context;

	return sorting->compare(a, b, sorting->context);
}

#undef qsort_r
void compat_qsort_r(void *base, size_t count, size_t size,
		    int (*compare)(const void *, const void *, void *),
		    void *context)
{
	struct sorting sorting = { compare, context };

	qsort_r(base, count, size, &sorting, compare_turned);
}

int compat_fallocate(int fd, off_t size)
{
	struct stat st;
	fstore_t store = { .fst_flags = F_ALLOCATEALL,
			   .fst_posmode = F_PEOFPOSMODE };

	if (fstat(fd, &st))
		return errno;
	store.fst_length = size - st.st_size;
	if (store.fst_length <= 0)
		return 0;
	if (!fcntl(fd, F_PREALLOCATE, &store))
		return 0;
	return errno == ENOTSUP ? EOPNOTSUPP : errno;
}

int compat_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned int flags)
{
	return renameatx_np(from_dir, from, to_dir, to,
			    flags & RENAME_NOREPLACE ? RENAME_EXCL : 0);
}
#endif
