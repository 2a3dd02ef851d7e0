/* SPDX-License-Identifier: Apache-2.0 */
/* Ends all that a process has started, where no PID namespace does. */
#include "core/descendants.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/util.h"

/* The ids end with a blank each; one that the buffer cuts waits for later. */
static int kill_children(void)
{
	char text[4096], *at = text, *end;
	owned_fd int fd = -1;
	ssize_t size;

	snprintf(text, sizeof(text), "/proc/self/task/%d/children",
		 (int)getpid());
	fd = open(text, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	size = read(fd, text, sizeof(text) - 1);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	for (;;) {
		long pid = strtol(at, &end, 10);

		if (end == at || *end != ' ')
			return 0;
		if (pid > 0)
			(void)kill((pid_t)pid, SIGKILL);
		at = end;
	}
}

int descendants_end(void)
{
	const struct timespec moment = { 0, 200 * 1000 };
	pid_t pid;
	int error;

	for (;;) {
		while ((pid = waitpid(-1, NULL, WNOHANG | __WALL)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return 0;
		error = kill_children();
		if (error)
			return error;
		/* They need a moment to die; who forks meanwhile as well. */
		(void)nanosleep(&moment, NULL);
	}
}
