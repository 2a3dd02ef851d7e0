/* SPDX-License-Identifier: Apache-2.0 */
/* Makes what a run needs on the host, and removes it however the run ends. */
#include "core/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/remove_tree.h"
#include "core/system.h"

#define PLACEHOLDER_MODE 0555

/*
 * A placeholder is shared by parallel runs: each holds a shared lock, and only
 * the last one, which gets the exclusive lock, may remove it.
 * Return: the locked descriptor, or -errno.
 */
static int placeholder_make(const char *path)
{
	owned_fd int fd = -1;
	struct stat st, named;

	for (int tries = 0; tries < 100; tries++) {
		if (mkdir(path, PLACEHOLDER_MODE) && errno != EEXIST)
			return -errno;
		if (fd >= 0)
			close(fd);
		fd = open(path,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || flock(fd, LOCK_SH) || fstat(fd, &st))
			return -errno;
		/* Another run may have removed it in between. */
		if (!lstat(path, &named) && named.st_ino == st.st_ino &&
		    named.st_dev == st.st_dev)
			return steal_fd(&fd);
	}
	return -EAGAIN;
}

/* rmdir(2) can never remove what the user made meanwhile. */
static void placeholder_remove(const char *path, int fd)
{
	struct stat st, named;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
		return;
	if (!fstat(fd, &st) && !lstat(path, &named) &&
	    named.st_ino == st.st_ino && named.st_dev == st.st_dev &&
	    (named.st_mode & 07777) == PLACEHOLDER_MODE)
		(void)rmdir(path);
}

static int make_all(const struct plan *plan, int *locks,
		    struct failure *failure)
{
	umask(0);
	if (plan->temp_dir && mkdir(plan->temp_dir, 0700))
		return failure_set(failure, errno,
				   "cannot make the temporary directory %s",
				   plan->temp_dir);
	for (size_t i = 0; i < plan->placeholder_count; i++) {
		locks[i] = placeholder_make(plan->placeholders[i]);
		if (locks[i] < 0)
			return failure_set(failure, -locks[i],
					   "cannot hold the place of %s",
					   plan->placeholders[i]);
	}
	return 0;
}

static void remove_all(const struct plan *plan, const int *locks)
{
	/* PID 1 ends when its socket closes: a moment later than we do. */
	for (int tries = 0; plan->temp_dir && tries < 50; tries++) {
		int error = remove_tree(plan->temp_dir);

		if (!error || error == -ENOENT || error == -EPERM)
			break;
		usleep(20000);
	}
	for (size_t i = plan->placeholder_count; i-- > 0;)
		placeholder_remove(plan->placeholders[i], locks[i]);
}

static _Noreturn void janitor_main(const struct plan *plan, int pipe)
{
	struct failure failure = { 0 };
	owned_ptr int *locks =
		calloc(plan->placeholder_count + 1, sizeof(*locks));
	char byte;

	if (!locks)
		_exit(1);
	memset(locks, -1, sizeof(*locks) * plan->placeholder_count);
	prctl(PR_SET_NAME, "srt-lua-janitor");
	if (chdir("/") < 0 || make_all(plan, locks, &failure) == 0)
		failure.text[0] = '\0';
	(void)sys_send(pipe, &failure, sizeof(failure), NULL, 0);
	while (read(pipe, &byte, 1) < 0 && errno == EINTR)
		;
	remove_all(plan, locks);
	_exit(0);
}

int janitor_start(const struct plan *plan, struct janitor *out,
		  struct failure *failure)
{
	sigset_t all, before;
	int pair[2];

	*out = (struct janitor){ .pipe = -1 };
	if (!plan->temp_dir && !plan->placeholder_count)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure_set(failure, errno, "cannot make a socket");
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	out->pid = fork();
	if (out->pid == 0) {
		setsid();
		/* Not one descriptor of the caller's may stay open here. */
		if (dup2(pair[1], 0) < 0 ||
		    syscall(SYS_close_range, 1U, ~0U, 0U))
			_exit(1);
		janitor_main(plan, 0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(pair[1]);
	if (out->pid < 0) {
		close(pair[0]);
		return failure_set(failure, errno, "cannot fork the janitor");
	}
	out->pipe = pair[0];
	return 0;
}

int janitor_ready(struct janitor *janitor, struct failure *failure)
{
	struct failure reply;

	if (!janitor->pid)
		return 0;
	if (sys_receive(janitor->pipe, &reply, sizeof(reply), NULL, NULL) !=
	    sizeof(reply))
		return failure_set(failure, ECHILD, "the janitor died");
	if (!reply.text[0])
		return 0;
	*failure = reply;
	return reply.error ? -reply.error : -EINVAL;
}

void janitor_finish(struct janitor *janitor)
{
	if (!janitor->pid)
		return;
	close(janitor->pipe);
	while (waitpid(janitor->pid, NULL, 0) < 0 && errno == EINTR)
		;
	janitor->pid = 0;
}
