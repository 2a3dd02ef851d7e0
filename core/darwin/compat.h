/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Linux's libc has and macOS's lacks. The build of macOS includes this in
 * front of each file, so that the files it shares with Linux stay as they are.
 */
#ifndef SRT_DARWIN_COMPAT_H
#define SRT_DARWIN_COMPAT_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0x10000000
#define SOCK_NONBLOCK 0x20000000
#endif
/* A descriptor to name a file by: here it has to be readable. */
#ifndef O_PATH
#define O_PATH O_EVTONLY
#endif
/* The host process ignores SIGPIPE. */
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
/* compat_recvmsg() closes at exec what it gets. */
#ifndef MSG_CMSG_CLOEXEC
#define MSG_CMSG_CLOEXEC 0
#endif
/* An end shows as POLLHUP, which poll(2) tells always. */
#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif
/* Hints. */
#ifndef MADV_NOHUGEPAGE
#define MADV_NOHUGEPAGE MADV_NORMAL
#endif

int compat_socket(int domain, int type, int protocol);
int compat_accept4(int fd, struct sockaddr *address, socklen_t *size,
		   int flags);
int compat_pipe2(int pair[2], int flags);
ssize_t compat_getrandom(void *bytes, size_t size, unsigned int flags);
void *compat_memrchr(const void *bytes, int byte, size_t size);
char *compat_strchrnul(const char *text, int byte);
void compat_explicit_bzero(void *bytes, size_t size);
/** compat_ppoll() - of one descriptor, and POLLIN */
int compat_ppoll(struct pollfd *fd, const struct timespec *time,
		 const sigset_t *mask);
/** compat_sigtimedwait() - take one of @set if it is pending; never waits */
int compat_sigtimedwait(const sigset_t *set);
/** compat_strerrorname_np() - "ENOENT" for ENOENT; valid until the next call */
const char *compat_strerrorname_np(int error);

#define socket(domain, type, protocol) compat_socket(domain, type, protocol)
#define accept4(fd, address, size, flags) \
	compat_accept4(fd, address, size, flags)
#define pipe2(pair, flags) compat_pipe2(pair, flags)
#define getrandom(bytes, size, flags) compat_getrandom(bytes, size, flags)
#define memrchr(bytes, byte, size) compat_memrchr(bytes, byte, size)
#define strchrnul(text, byte) compat_strchrnul(text, byte)
#define explicit_bzero(bytes, size) compat_explicit_bzero(bytes, size)
#define ppoll(fd, count, time, mask) compat_ppoll(fd, time, mask)
#define sigtimedwait(set, info, time) ((void)(time), compat_sigtimedwait(set))
#define strerrorname_np(error) compat_strerrorname_np(error)
#define quick_exit(status) _exit(status)

/* These have another form there; on Linux, where this is tried, they stay. */
#ifdef __APPLE__
#define st_mtim st_mtimespec
#define dirent64 dirent
#define RENAME_NOREPLACE 1

ssize_t compat_getdents64(int fd, void *bytes, size_t size);
void compat_qsort_r(void *base, size_t count, size_t size,
		    int (*compare)(const void *, const void *, void *),
		    void *context);
/** compat_fallocate() - blocks for a file of that size. Return: 0 or errno. */
int compat_fallocate(int fd, off_t size);
int compat_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned int flags);

#define getdents64(fd, bytes, size) compat_getdents64(fd, bytes, size)
#define qsort_r(base, count, size, compare, context) \
	compat_qsort_r(base, count, size, compare, context)
#define posix_fallocate(fd, offset, size) compat_fallocate(fd, size)
#define renameat2(from_dir, from, to_dir, to, flags) \
	compat_renameat2(from_dir, from, to_dir, to, flags)
#endif

#endif
