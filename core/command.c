/* SPDX-License-Identifier: Apache-2.0 */
/* Confines a process for good and makes it the command. */
#include "core/command.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/agent.h"
#include "core/landlock.h"
#include "core/mounts.h"
#include "core/processors.h"
#include "core/seccomp.h"
#include "core/setup.h"
#include "core/system.h"

/* Address space only: what is not touched takes no memory. */
#define STACK_SIZE (16UL << 20)

extern char **environ;

int caps_set(uint64_t keep)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
		return -errno;
	for (int half = 0; half < 2; half++) {
		data[half].permitted = (uint32_t)(keep >> (32 * half));
		data[half].effective = data[half].permitted;
	}
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

int caps_bound(uint64_t keep)
{
	for (int cap = 0; cap < 64; cap++) {
		if (keep & (UINT64_C(1) << cap))
			continue;
		/* EINVAL: past the last capability of this kernel. */
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0)) {
			if (errno == EINVAL)
				break;
			return -errno;
		}
	}
	return 0;
}

/* Everything above 2 closes at exec, but what the caller asked to keep. */
static int close_others(const struct plan *plan)
{
	if (syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC))
		return -errno;
	for (size_t i = 0; i < plan->keep_count; i++)
		if (fcntl(plan->keep_fds[i], F_SETFD, 0))
			return -errno;
	return 0;
}

/* @keeper: who takes the listener of an agent that waits; taken over */
static int confine(const struct confinement *confinement, int *led, int keeper,
		   struct failure *failure)
{
	const struct plan *plan = confinement->plan;
	int error = close_others(plan), ruleset = confinement->ruleset;
	owned_fd int agent = keeper;

	if (error)
		return failure_set(failure, -error, "cannot close descriptors");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failure_set(failure, errno, "cannot set no_new_privs");
	/* Here, since PID 1 waits for the kernel meanwhile. */
	if (!plan->bare)
		error = landlock_build(plan, &ruleset, failure);
	if (error)
		return error;
	if (ruleset >= 0) {
		error = landlock_enter(ruleset);
		if (error)
			return failure_set(failure, -error,
					   "cannot enter Landlock");
	}
	if (agent < 0)
		error = agent_start(plan, *led == LED_BY_AGENT,
				    confinement->watch, &agent, failure);
	if (error)
		return error;
	error = caps_set(plan->id.caps);
	if (error)
		return failure_set(failure, -error, "cannot drop capabilities");
	return agent_enter(plan, &confinement->filter, led, steal_fd(&agent),
			   failure);
}

#ifdef __SANITIZE_ADDRESS__
#define START_SHARING MAP_SHARED /* run_command() forks */
#else
#define START_SHARING MAP_PRIVATE /* they share all memory */
#endif

/* What the child works with, in memory that PID 1 sees as well. */
struct start {
	const struct confinement *confinement;
	int control;
	int words[2]; /* from PID 1; end of file: it gave up */
	int report;
	int keeper;
	/* Of signals: PID 1's when there is a child, and the child's later. */
	uint64_t before, after;
	int led;
	pid_t runs; /* in PID 1's memory; cleared by the kernel */
};

static uint64_t pending(void)
{
	uint64_t bits = 0;
	sigset_t set;

	if (sigpending(&set))
		return 0;
	for (int sig = 1; sig < NSIG; sig++)
		if (sigismember(&set, sig))
			bits |= SIGNAL_BIT(sig);
	return bits;
}

/* Until nothing of the host's is there any more, and the host says so. */
static int await_word(struct start *start, struct failure *failure)
{
	int error = 0;
	char word;

	close(start->words[1]);
	setup_look(start->words[0], start->confinement->processors);
	if (read(start->words[0], &word, sizeof(word)) != sizeof(word))
		_exit(1);
	start->after = pending();
	setup_look(start->control, start->confinement->processors);
	if (start->confinement->early)
		error = setup_await(start->control, MESSAGE_GO, NULL, failure);
	return error ? error
		     : setup_await(start->control, MESSAGE_RELEASE, NULL,
				   failure);
}

/* Return: errno of why not; ELIBACC: what the file names is not there. */
static int execute(const struct plan *plan)
{
	char *const *argv = (char *const *)plan->argv;
	const char *file = strchr(argv[0], '/') ? argv[0] : plan->program;
	int error;

	/* To try each place takes longer than to look there. */
	if (file)
		execv(file, argv);
	execvp(argv[0], argv);
	error = errno;
	/* What is there, and is not, is what it names: execve(2). */
	return error == ENOENT && file && !access(file, F_OK) ? ELIBACC : error;
}

static int command_main(void *data)
{
	struct start *start = data;
	const struct plan *plan = start->confinement->plan;
	const struct caller *caller = start->confinement->caller;
	struct command_report result = { 0 };

	caller_restore(caller);
	if (!confine(start->confinement, &start->led, start->keeper,
		     &result.failure) &&
	    !await_word(start, &result.failure)) {
		environ = (char **)plan->env;
		sigprocmask(SIG_SETMASK, &caller->mask, NULL);
		result.not_run = execute(plan);
	}
	(void)!write(start->report, &result, sizeof(result));
	_exit(125);
}

static void *map(size_t size, int sharing)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    sharing | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/*
 * What PID 1 does while the child prepares itself; then the child may go on. It
 * looks for the word, so it goes on without having to be woken.
 */
static int detach(struct start *start, const struct command *command)
{
	const struct confinement *confinement = start->confinement;
	struct pollfd changes = { .fd = command->changes, .events = POLLPRI };
	int error;

	start->before = pending();
	error = confinement->attached ? mounts_detach() : 0;
	/* This one was ours. */
	(void)poll(&changes, 1, 0);
	if (!error && write(start->words[1], "", 1) != 1)
		error = -errno;
	/* Where it can't be handed on the janitor opens it by itself. */
	if (!error && confinement->late &&
	    setup_tell(confinement->janitor, MESSAGE_GO, confinement->state))
		error = setup_tell(confinement->janitor, MESSAGE_GO, -1);
	close(start->words[1]);
	close(start->report);
	return error;
}

/*
 * Until the child is the command, or has failed: it has another program then,
 * or has ended. A stop before that would be nobody's: it goes on, and stops
 * when it is the command. Return: by what; 0 for no stop
 */
static int await_exec(struct start *start, const struct command *command,
		      int children)
{
	struct pollfd fds[] = { { .fd = command->report, .events = POLLIN },
				{ .fd = children, .events = POLLIN } };
	struct signalfd_siginfo unused;
	siginfo_t how;
	int stop = 0;

	while (poll(fds, ARRAY_SIZE(fds), -1) == 1 && !fds[0].revents) {
		(void)!read(children, &unused, sizeof(unused));
		how.si_pid = 0;
		if (waitid(P_PID, (id_t)command->pid, &how,
			   WSTOPPED | WNOHANG) ||
		    !how.si_pid)
			continue;
		stop = how.si_status;
		(void)kill(command->pid, SIGCONT);
	}
	while (*(volatile pid_t *)&start->runs)
		(void)syscall(SYS_futex, &start->runs, FUTEX_WAIT, 1, NULL);
	return stop;
}

/*
 * As vfork(2), on a stack of its own: copying PID 1's page tables, and then its
 * pages one by one, would take longer than all that the child does. The two
 * share memory, errno and malloc(3) as well: of PID 1 there are system calls
 * alone meanwhile, which succeed or end it all. Only SIGKILL could end it by
 * itself.
 * @children: of its signals, SIGCHLD alone
 */
static int run_command(struct start *start, struct command *command,
		       int children)
{
	int error, stop = 0;
#ifdef __SANITIZE_ADDRESS__
	command->pid = fork(); /* it can't follow a stack of our own */
	if (command->pid == 0)
		command_main(start);
#else
	/* execvp(3) may copy all arguments to it. */
	char *stack = map(STACK_SIZE, MAP_PRIVATE);

	if (!stack)
		return -ENOMEM;
	/* Of a huge page all would be zeroed. */
	(void)madvise(stack, STACK_SIZE, MADV_NOHUGEPAGE);
	start->runs = 1;
	command->pid = clone(command_main, stack + STACK_SIZE,
			     CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, start,
			     NULL, NULL, &start->runs);
#endif
	error = command->pid < 0 ? -errno : detach(start, command);
	if (command->pid > 0)
		stop = await_exec(start, command, children);
	if (stop)
		(void)kill(command->pid, stop);
#ifndef __SANITIZE_ADDRESS__
	(void)munmap(stack, STACK_SIZE);
#endif
	return error;
}

/* Until the child has sent it, or runs or failed without. */
static int take_listener(int keeper)
{
	int listener = -1;
	size_t count = 1;
	char word;

	(void)sys_receive(keeper, &word, sizeof(word), &listener, &count);
	return listener;
}

static int open_children(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int command_start(const struct confinement *confinement, int control,
		  struct command *command)
{
	struct start *start = map(sizeof(*start), START_SHARING);
	bool waits = agent_waits(confinement->plan,
				 confinement->led == LED_BY_AGENT);
	int ends[2], words[2], pair[2] = { -1, -1 }, error;
	owned_fd int children = open_children();

	if (!start || children < 0 || pipe2(ends, O_CLOEXEC) ||
	    pipe2(words, O_CLOEXEC) ||
	    (waits &&
	     socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)))
		return -errno;
	*start = (struct start){ .confinement = confinement,
				 .control = control,
				 .words = { words[0], words[1] },
				 .report = ends[1],
				 .keeper = waits ? pair[1] : confinement->agent,
				 .led = confinement->led };
	command->report = ends[0];
	error = run_command(start, command, children);
	/*
	 * A signal to the caller's group that came just before there was a
	 * child has reached PID 1 only. The kernel adds a child to its group,
	 * and signals a group, under one lock.
	 */
	command->missed = start->before & ~start->after;
	command->led = start->led;
	command->listener = -1;
	close(words[0]);
	if (waits) {
		close(pair[1]);
		command->listener = take_listener(pair[0]);
		close(pair[0]);
	}
	(void)munmap(start, sizeof(*start));
	return error;
}
