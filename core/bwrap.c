/* SPDX-License-Identifier: Apache-2.0 */
/* Starts and ends a plan's bubblewrap, outside. */
#include "core/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/descendants.h"
#include "core/message.h"
#include "core/mounts.h"
#include "core/seccomp.h"
#include "core/state.h"
#include "core/system.h"

extern char **environ;

/* What a child that becomes bubblewrap holds. */
struct child {
	const struct shared *shared;
	int control;
	int setup;
	int info;
	int standard[3]; /* the caller's */
};

/* Its standard error is bubblewrap's, which the janitor reads. */
static _Noreturn void give_up(const char *what, int error)
{
	dprintf(STDERR_FILENO, "cannot %s: %s", what, strerror(error));
	_exit(1);
}

/* A descriptor that bubblewrap and PID 1 inherit. */
static int hand_down(int fd, const char *what)
{
	if (fd < 0)
		give_up(what, -fd);
	if (fcntl(fd, F_SETFD, 0))
		give_up(what, errno);
	return fd;
}

/* Text or memory as a file, to be read from its beginning. */
static int memory_file(const void *bytes, size_t size)
{
	owned_fd int fd = memfd_create("srt-lua", MFD_CLOEXEC);

	if (fd < 0)
		return -errno;
	for (size_t done = 0; done < size;) {
		ssize_t n = write(fd, (const char *)bytes + done, size - done);

		if (n < 0)
			return -errno;
		done += (size_t)n;
	}
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : steal_fd(&fd);
}

static int arguments_file(const struct plan_bwrap *bwrap)
{
	owned_ptr char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < bwrap->count; i++)
		fprintf(out, "%s%c", bwrap->arguments[i], 0);
	return fclose(out) ? -ENOMEM : memory_file(text, size);
}

static int filter_file(const struct plan_bwrap *bwrap)
{
	struct sock_fprog program = { 0 };
	int error = seccomp_build(bwrap->rules, bwrap->rule_count, 0, &program,
				  NULL);

	return error ? error
		     : memory_file(program.filter,
				   program.len * sizeof(*program.filter));
}

/* Of the environment PID 1 reads the test hooks, and nobody the rest. */
static void execute(const struct child *child)
{
	const struct plan *plan = &child->shared->plan;
	char words[6][16], address[24], program[40];
	int exe = hand_down(open("/proc/self/exe", O_PATH | O_CLOEXEC),
			    "open this program");
	int fds[] = {
		hand_down(arguments_file(&plan->bwrap), "hand over arguments"),
		hand_down(filter_file(&plan->bwrap), "make the base filter"),
		hand_down(child->info, "hand over a pipe"),
		hand_down(memory_file(child->shared, child->shared->used),
			  "hand over the plan"),
		hand_down(child->control, "hand over a socket"),
		hand_down(child->setup, "hand over a socket"),
	};
	char state[16], standard[3][16];
	const char *const argv[] = {
		"bwrap",     "--args",	  words[0], "--seccomp",  words[1],
		"--info-fd", words[2],	  program,  BWRAP_INSIDE, words[3],
		address,     words[4],	  words[5], state,	  standard[0],
		standard[1], standard[2], NULL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		snprintf(words[i], sizeof(words[i]), "%d", fds[i]);
	snprintf(program, sizeof(program), "/proc/self/fd/%d", exe);
	snprintf(address, sizeof(address), "%p", (const void *)child->shared);
	/* PID 1 holds it by what it inherits: inside the name may be hidden. */
	snprintf(state, sizeof(state), "%d",
		 plan->state ? hand_down(state_hold(plan->state, false),
					 "hold the state file")
			     : -1);
	for (int i = 0; i < 3; i++)
		snprintf(standard[i], sizeof(standard[i]), "%d",
			 hand_down(child->standard[i], "keep a stream"));
	execve(plan->bwrap.program, (char *const *)argv, environ);
	give_up("execute it", errno);
}

/* Everything above 2 closes at exec, but what the caller asked to keep. */
static void close_others(const struct plan *plan)
{
	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC))
		give_up("close descriptors", errno);
	for (size_t i = 0; i < plan->keep_count; i++)
		hand_down(plan->keep_fds[i], "keep a descriptor");
}

static _Noreturn void become(struct child *child, int errors)
{
	/* Only the command keeps the caller's streams open. */
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct message message;

	/* The janitor gave up, and has said why. */
	if (sys_receive(child->setup, &message, sizeof(message), NULL, NULL) !=
	    sizeof(message))
		_exit(1);
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		child->standard[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (child->standard[fd] < 0 ||
		    dup2(fd == STDERR_FILENO ? errors : nothing, fd) < 0)
			_exit(1);
	}
	close_others(&child->shared->plan);
	/* It waits for its child by this signal. */
	signal(SIGCHLD, SIG_DFL);
	sys_forget_environment();
	execute(child);
	_exit(1);
}

pid_t bwrap_clone(const struct shared *shared,
		  const struct janitor_sockets *sockets, int *pidfd,
		  struct bwrap *out)
{
	struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
	};
	int info[2], errors[2];
	long pid;

	/* PID 1 becomes ours where bubblewrap ends before it. */
	if (pipe2(info, O_CLOEXEC) || pipe2(errors, O_CLOEXEC | O_NONBLOCK) ||
	    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return -errno;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		struct child child = { .shared = shared,
				       .control = sockets->control,
				       .setup = sockets->setup,
				       .info = info[1] };

		/* End of file must reach us when the janitor dies. */
		close(sockets->host);
		close(sockets->child);
		become(&child, errors[1]);
	}
	close(info[1]);
	close(errors[1]);
	out->info = info[0];
	out->errors = errors[0];
	return pid < 0 ? -errno : (pid_t)pid;
}

int bwrap_masks(const struct plan *plan, struct failure *failure)
{
	owned_fd int dir = -1;
	int error;

	if (!mkdir(plan->bwrap.masks, 0700))
		dir = open(plan->bwrap.masks,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	error = dir < 0 ? -errno : mounts_fill_first(dir, plan);
	if (!error)
		error = mounts_fill(dir, plan);
	return error ? failure_set(failure, -error,
				   "cannot make the covers of denied reads "
				   "in %s",
				   plan->bwrap.masks)
		     : 0;
}

/* False: there is nothing, and the process that might write is gone. */
static bool await_info(const struct bwrap *bwrap, int pidfd)
{
	struct pollfd fds[] = { { .fd = bwrap->info, .events = POLLIN },
				{ .fd = pidfd, .events = POLLIN } };

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0)
		if (errno != EINTR)
			return false;
	return fds[0].revents & POLLIN;
}

int bwrap_await(struct bwrap *bwrap, int pidfd, pid_t *init,
		struct failure *failure)
{
	static const char key[] = "\"child-pid\":";
	char text[512] = "";
	const char *at = NULL;
	size_t used = 0;
	ssize_t n;

	while (!at && await_info(bwrap, pidfd) &&
	       (n = read(bwrap->info, text + used, sizeof(text) - 1 - used)) >
		       0) {
		used += (size_t)n;
		at = strstr(text, key);
		/* All of the number is there. */
		at = at && strchr(at, '\n') ? at : NULL;
	}
	*init = at ? (pid_t)strtol(at + sizeof(key) - 1, NULL, 10) : 0;
	if (*init > 0)
		bwrap->init = (int)syscall(SYS_pidfd_open, *init, 0U);
	if (bwrap->init >= 0)
		return 0;
	/* End of file: it has said why, and is about to end. */
	if (bwrap_failure(bwrap, failure))
		return -EPERM;
	return failure_set(failure, 0, "bubblewrap does not start");
}

int bwrap_failure(const struct bwrap *bwrap, struct failure *failure)
{
	char text[PIPE_BUF / 16] = "";
	ssize_t n = read(bwrap->errors, text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[strcspn(text, "\n")] = '\0';
	failure_set(failure, 0,
		    "backend = \"bwrap\": %s; look whether \"bwrap --bind / / "
		    "--unshare-all true\" works here (bubblewrap 0.4 or newer, "
		    "not set-user-ID), or choose another backend",
		    text);
	/* "permissions", "Permission", "permitted": there is advice for that.
	 */
	failure->error = strstr(text, "ermi") ? EPERM : 0;
	return -EPERM;
}

void bwrap_end(const struct bwrap *bwrap)
{
	if (bwrap->init >= 0)
		(void)syscall(SYS_pidfd_send_signal, bwrap->init, SIGKILL, NULL,
			      0U);
	/* Where nobody tells our children, PID 1 is the one there was. */
	if (descendants_end())
		while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
			;
}
