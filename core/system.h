/* SPDX-License-Identifier: Apache-2.0 */
/* Thin wrappers over system calls that libc does not wrap. */
#ifndef SRT_SYSTEM_H
#define SRT_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Constants that Debian 12's headers lack. */
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
#define SRT_LANDLOCK_FS_IOCTL_DEV (1ULL << 15)
#define SRT_LANDLOCK_NET_BIND_TCP (1ULL << 0)
#define SRT_LANDLOCK_NET_CONNECT_TCP (1ULL << 1)
#define SRT_LANDLOCK_SCOPE_ABSTRACT (1ULL << 0)
#define SRT_LANDLOCK_SCOPE_SIGNAL (1ULL << 1)

/** struct srt_mount_attr - mount_setattr(2) */
struct srt_mount_attr {
	uint64_t attr_set;
	uint64_t attr_clr;
	uint64_t propagation;
	uint64_t userns_fd;
};

/* All return the call's result, or -errno. Descriptors are close-on-exec. */
int sys_open_tree(int dirfd, const char *path, unsigned int flags);
int sys_move_mount(int from, int dirfd, const char *path);
int sys_mount_attr(int fd, bool recursive, uint64_t set, uint64_t clear);
int sys_fsopen(const char *type);
int sys_fsconfig(int fs, const char *key, const char *value);
int sys_fsmount(int fs, unsigned int attributes);
int sys_pivot_root(const char *new_root, const char *put_old);
int sys_landlock_abi(void);

/**
 * sys_open_beneath() - open @path in the tree below @dir, following no link
 *
 * Through openat2(2), so that the result is the very object that the path
 * names. Where that call is refused (in a sandbox like ours, since its mode
 * can't be seen by a filter) component by component, with the same result.
 * @path: without ".." components; leading slashes are passed over
 * @flags: of open(2); O_CLOEXEC and O_NOFOLLOW are added
 * Return: descriptor owned by the caller, or -errno (-ELOOP for a link; but
 * with O_PATH a link in the last place is opened itself).
 */
int sys_open_beneath(int dir, const char *path, int flags);

/** sys_open_steps() - the same without openat2(2), component by component */
int sys_open_steps(int dir, const char *path, int flags);

/**
 * sys_open_plain() - open @path if no link is on the way, nor in its place
 *
 * By openat2(2) alone; where that is refused nothing can be opened so.
 * Return: descriptor owned by the caller, or -errno (-ELOOP for a link on the
 * way; but with O_PATH a link in the last place is opened itself).
 */
int sys_open_plain(const char *path, int flags);

/** sys_chmod_fd() - of what an O_PATH descriptor leads to. Return: 0 or -errno.
 */
int sys_chmod_fd(int fd, mode_t mode);

/** sys_chmod_dir() - of a directory, following no link. Return: 0 or -errno. */
int sys_chmod_dir(int at, const char *name, mode_t mode);

/** sys_fd_path() - where a descriptor leads. Return: bytes, or -errno. */
ssize_t sys_fd_path(int fd, char *path, size_t size);

/** sys_hide() - no core dump, and no looking into this process by others */
int sys_hide(void);

/** sys_write_file() - write @text to an existing file in one write */
int sys_write_file(const char *path, const char *text);

/** sys_close_all_but() - close every descriptor from @from up but @keep */
void sys_close_all_but(int from, const int *keep, size_t count);

/**
 * sys_note_arguments() - where sys_forget_arguments() finds them
 * Context: main(), which the kernel gives them in one piece.
 */
void sys_note_arguments(int argc, char **argv);

/**
 * sys_forget_arguments() - be called @name, and nothing else, by ps(1)
 *
 * A copy of the host process that keeps its arguments would be found with it:
 * a signal by pkill(1) would reach both, as one to the process group does.
 */
void sys_forget_arguments(const char *name);

/**
 * sys_reap() - wait until a child has ended
 * @status: of waitpid(2), or NULL
 * Return: 0 or -errno.
 */
int sys_reap(pid_t pid, int *status);

/**
 * sys_abandon() - close descriptors without waiting for what that takes
 *
 * They go into a ring of sockets that nobody can reach, which newer kernels
 * free in a thread of their own. Older ones do it at once, as if it were just
 * closed; so are they where that can't be made, and on macOS.
 * @fds: -1 is passed over
 */
void sys_abandon(const int *fds, size_t count);

/** sys_raise_file_limit() - each client of the proxy takes two descriptors */
void sys_raise_file_limit(void);

/** sys_now_ms() - milliseconds of a clock that only goes forward */
long long sys_now_ms(void);

/** sys_missing() - does the test hook SRT_LUA_FAKE_MISSING name @feature? */
bool sys_missing(const char *feature);

/**
 * sys_forget_environment() - overwrite the process's environment, but for the
 * test hooks in it: whoever reads its memory finds none of the caller's values
 */
void sys_forget_environment(void);

/**
 * sys_send() - one record over a SOCK_SEQPACKET socket, with descriptors
 * @fds: borrowed, @fd_count at most SYS_MAX_FDS
 * Return: 0 or -errno.
 */
#define SYS_MAX_FDS 16
int sys_send(int socket, const void *data, size_t size, const int *fds,
	     size_t fd_count);

/**
 * sys_send_some() - the same over a stream, which may take less
 * @flags: of send(2); MSG_NOSIGNAL is added
 * Return: bytes that were sent, or -errno.
 */
ssize_t sys_send_some(int socket, const void *data, size_t size, const int *fds,
		      size_t fd_count, int flags);

/**
 * sys_receive() - one record
 * @fds: filled with descriptors owned by the caller; @fd_count in and out
 * Return: bytes (0 at end of file) or -errno.
 */
ssize_t sys_receive(int socket, void *data, size_t size, int *fds,
		    size_t *fd_count);

#endif
