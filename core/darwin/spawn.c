/* SPDX-License-Identifier: Apache-2.0 */
/* The command of a run, and the process between it and the host process. */
#include "core/darwin/spawn.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/darwin/run.h"
#include "core/signals.h"
#include "core/system.h"
#include "core/util.h"

extern char **environ;

/*
 * A signal for the whole group reaches both processes, and the host process's
 * word of it comes later: as a rule this late at most.
 */
enum { GRACE_MS = 20 };

/* What the process in between got itself. */
static volatile sig_atomic_t got[NSIG];
static volatile sig_atomic_t child_changed;

static void on_signal(int number)
{
	got[number] = 1;
}

static void on_child(int number)
{
	(void)number;
	child_changed = 1;
}

/* The highest descriptor: asked before a fork, behind which there is no
 * allocating. The few that are made afterwards close at exec anyway. */
static int highest_descriptor(void)
{
	DIR *dir = opendir("/dev/fd");
	const struct dirent *entry;
	int most = STDERR_FILENO;

	while (dir && (entry = readdir(dir)))
		if (atoi(entry->d_name) > most)
			most = atoi(entry->d_name);
	if (dir)
		closedir(dir);
	return dir ? most : (int)sysconf(_SC_OPEN_MAX) - 1;
}

/* Nothing but what is named stays open beyond exec. */
static void close_at_exec(const struct spawn *spawn, int most)
{
	for (int fd = STDERR_FILENO + 1; fd <= most; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < spawn->keep_count; i++)
		(void)fcntl(spawn->keep[i], F_SETFD, 0);
}

/* Becomes the command, or writes errno to @report. */
__attribute__((noreturn)) static void become(const struct spawn *spawn,
					     int most, int report)
{
	int error;

	close_at_exec(spawn, most);
	caller_restore(spawn->caller);
	sigprocmask(SIG_SETMASK, &spawn->caller->mask, NULL);
	execve(spawn->argv[0], spawn->argv, spawn->envp);
	error = errno;
	(void)!write(report, &error, sizeof(error));
	_exit(127);
}

static void tell(int socket, enum spawn_kind kind, int value)
{
	const struct spawn_message message = { kind, value };

	(void)!write(socket, &message, sizeof(message));
}

/* Return: the command, or 0 where it does not run, which was told. */
static pid_t start_command(const struct spawn *spawn, int most, int socket)
{
	int report[2], error = 0;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC)) {
		tell(socket, SPAWN_NOT_RUN, errno);
		return 0;
	}
	pid = fork();
	if (pid == 0)
		become(spawn, most, report[1]);
	if (pid < 0)
		error = errno;
	close(report[1]);
	/* End of file: it is the command by now. */
	if (pid > 0 && read(report[0], &error, sizeof(error)) <= 0)
		error = 0;
	close(report[0]);
	if (!error)
		return pid;
	tell(socket, SPAWN_NOT_RUN, error);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return 0;
}

/* Hands on what the command did not get by itself. */
static void hand_on(pid_t command, int number, const sigset_t *open)
{
	const struct timespec grace = { .tv_nsec = GRACE_MS * 1000000L };
	/* One that has left the group got nothing that was for the group. */
	bool apart = getpgid(command) != getpgrp();

	if (number <= 0 || number >= NSIG)
		return;
	if (!apart && !got[number])
		(void)pselect(0, NULL, NULL, NULL, &grace, open);
	if (apart || !got[number])
		(void)kill(command, number);
	got[number] = 0;
}

/* Return: has the command ended? */
static bool look_at_command(pid_t command, int socket)
{
	int status;

	child_changed = 0;
	while (waitpid(command, &status, WNOHANG | WUNTRACED) == command) {
		if (!WIFSTOPPED(status)) {
			tell(socket, SPAWN_ENDED, status);
			return true;
		}
		tell(socket, SPAWN_STOPPED, 0);
	}
	return false;
}

static void watch_over(pid_t command, pid_t reader, int socket,
		       const sigset_t *open)
{
	bool ended = false;

	while (!ended) {
		fd_set in;
		int number;
		ssize_t size;

		FD_ZERO(&in);
		FD_SET(socket, &in);
		if (!child_changed &&
		    pselect(socket + 1, &in, NULL, NULL, NULL, open) <= 0)
			FD_ZERO(&in);
		if (child_changed)
			ended = look_at_command(command, socket);
		if (ended || !FD_ISSET(socket, &in))
			continue;
		size = recv(socket, &number, sizeof(number), MSG_DONTWAIT);
		if (size == sizeof(number))
			hand_on(command, number, open);
		else if (size == 0)
			break;
	}
	if (ended)
		return;
	(void)kill(command, SIGKILL);
	/* Until now its number was the host process's to free. */
	if (reader)
		(void)kill(reader, SIGKILL);
}

/* Signals are taken only while it waits, so that none comes in between. */
static void take_signals(sigset_t *open)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	*open = all;
	for (size_t i = 0; signals_handed_on[i]; i++) {
		(void)sigaction(signals_handed_on[i], &action, NULL);
		sigdelset(open, signals_handed_on[i]);
	}
	action.sa_handler = on_child;
	(void)sigaction(SIGCHLD, &action, NULL);
	sigdelset(open, SIGCHLD);
}

/*
 * Whoever reads what the command writes sees the end when the command ends.
 * Return: the socket, by a number that fits into an fd_set.
 */
static int let_go(int socket, int most)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), low;

	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	for (int fd = STDERR_FILENO + 1; fd <= most; fd++)
		if (fd != socket)
			close(fd);
	low = fcntl(socket, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (low < 0)
		return socket;
	close(socket);
	return low;
}

__attribute__((noreturn)) static void stand_in(const struct spawn *spawn,
					       int most, int socket)
{
	sigset_t open;
	pid_t command;

	take_signals(&open);
	command = start_command(spawn, most, socket);
	if (command) {
		tell(socket, SPAWN_STARTED, command);
		socket = let_go(socket, most);
		watch_over(command, spawn->reader, socket, &open);
	}
	_exit(0);
}

int spawn_start(const struct spawn *spawn, pid_t *pid)
{
	owned_fd int ours = -1, theirs = -1;
	int pair[2], most = highest_descriptor();

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	(void)fcntl(ours, F_SETFD, FD_CLOEXEC);
	(void)fcntl(theirs, F_SETFD, FD_CLOEXEC);
	(void)fcntl(ours, F_SETFL, O_NONBLOCK);
	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (*pid == 0) {
		/* End of file must reach it when the host process dies. */
		close(ours);
		stand_in(spawn, most, theirs);
	}
	return steal_fd(&ours);
}

int spawn_reader(char *const *argv, const struct caller *caller, pid_t *pid)
{
	const struct spawn spawn = { .argv = argv,
				     .envp = environ,
				     .caller = caller };
	owned_fd int from = -1, to = -1;
	int pair[2], null, most = highest_descriptor();

	if (pipe2(pair, O_CLOEXEC))
		return -errno;
	from = pair[0];
	to = pair[1];
	*pid = fork();
	if (*pid < 0)
		return -errno;
	if (*pid == 0) {
		(void)setpgid(0, 0);
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
		    dup2(null, STDERR_FILENO) < 0 ||
		    dup2(to, STDOUT_FILENO) < 0)
			_exit(127);
		become(&spawn, most, null);
	}
	return steal_fd(&from);
}
