/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program of the user's on the host and takes what it prints. */
#include "core/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "core/system.h"

extern char **environ;

static int spawn(char *const *argv, int output, bool errors, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t blocked, all;
	int error;

	/* A Ctrl-Z is for the host process, which would wait for it else. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTSTP);
	sigfillset(&all);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
					 O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (errors)
		posix_spawn_file_actions_adddup2(&actions, output,
						 STDERR_FILENO);
	posix_spawnattr_setsigmask(&attr, &blocked);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	error = posix_spawnp(pid, argv[0], &actions, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

/* Until the other end is closed. Return: bytes or -errno. */
static ssize_t read_until(int fd, long long deadline, char *out, size_t room)
{
	size_t used = 0;
	char more;

	for (;;) {
		long long left = deadline - sys_now_ms();
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		bool full = used == room;
		ssize_t size;

		if (left <= 0 || poll(&ready, 1, (int)left) == 0)
			return -ETIMEDOUT;
		size = full ? read(fd, &more, 1)
			    : read(fd, out + used, room - used);
		if (size < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (size < 0)
			return -errno;
		if (size == 0)
			return (ssize_t)used;
		if (full)
			return -E2BIG;
		used += (size_t)size;
	}
}

/* It may have closed its output and go on. */
static int await(pid_t pid, long long deadline, int *status)
{
	const struct timespec pause = { .tv_nsec = 2000000 };

	for (;;) {
		pid_t ended = waitpid(pid, status, WNOHANG);

		if (ended == pid)
			return 0;
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (sys_now_ms() >= deadline)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

static int judge(int error, int timeout_ms, const char *name,
		 struct failure *failure)
{
	if (error == -ETIMEDOUT) {
		failure_set(failure, 0, "%s did not end within %d ms", name,
			    timeout_ms);
	} else if (error == -E2BIG) {
		failure_set(failure, 0, "%s prints too much", name);
	} else if (error) {
		failure_set(failure, -error, "cannot read what %s prints",
			    name);
	}
	return error;
}

static int run(char *const *argv, int timeout_ms, bool errors, char *out,
	       size_t *size, int *status, struct failure *failure)
{
	long long deadline = sys_now_ms() + timeout_ms;
	owned_fd int from = -1, to = -1;
	int pair[2], error;
	ssize_t bytes;
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC))
		return failure_set(failure, errno, "cannot make a pipe");
	from = pair[0];
	to = pair[1];
	error = spawn(argv, to, errors, &pid);
	if (error)
		return failure_set(failure, -error, "cannot run %s", argv[0]);
	close(steal_fd(&to));
	bytes = read_until(from, deadline, out, *size);
	error = bytes < 0 ? (int)bytes : await(pid, deadline, status);
	if (error) {
		kill(pid, SIGKILL);
		(void)sys_reap(pid, NULL);
	}
	*size = bytes < 0 ? 0 : (size_t)bytes;
	return judge(error, timeout_ms, argv[0], failure);
}

int capture_run(char *const *argv, int timeout_ms, char *out, size_t *size,
		struct failure *failure)
{
	int status = 0;
	int error = run(argv, timeout_ms, false, out, size, &status, failure);

	if (error || !status)
		return error;
	if (WIFSIGNALED(status))
		failure_set(failure, 0, "%s was ended by signal %d", argv[0],
			    WTERMSIG(status));
	else
		failure_set(failure, 0, "%s ended with status %d", argv[0],
			    WEXITSTATUS(status));
	return -ECANCELED;
}

int capture_all(char *const *argv, int timeout_ms, char *out, size_t *size,
		int *status, struct failure *failure)
{
	int error = run(argv, timeout_ms, true, out, size, status, failure);

	*status = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status)
				       : WEXITSTATUS(*status);
	return error;
}
