/* SPDX-License-Identifier: Apache-2.0 */
/* Makes PID 1 and what a run needs, and removes it at any end. */
#include "core/janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "core/bare.h"
#include "core/bwrap.h"
#include "core/descendants.h"
#include "core/holdings.h"
#include "core/message.h"
#include "core/mounts.h"
#include "core/namespaces.h"
#include "core/origins.h"
#include "core/remove_tree.h"
#include "core/setup.h"
#include "core/system.h"

#define SHARED_SIZE (256UL << 20)
/* Far from where programs, libraries and stacks are. */
#define SHARED_AT ((void *)(UINT64_C(0x30) << 40))
#define POPULATED (64UL << 10) /* by more than this, room comes at once */
#define POPULATE_WRITE 23      /* MADV_POPULATE_WRITE; glibc has it from 2.35 */

struct shared *shared_new(bool apart)
{
	/* Pages come as they are touched. */
	struct shared *shared = mmap(
		apart ? SHARED_AT : NULL, SHARED_SIZE, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (shared == MAP_FAILED)
		return NULL;
	shared->size = SHARED_SIZE;
	shared->used = sizeof(*shared);
	shared->ready = POPULATED;
	/* Without it the agent leads no connections, that is all. */
	shared->plan.redirect.origins = origins_new();
	return shared;
}

void shared_free(struct shared *shared)
{
	if (shared)
		(void)munmap(shared, shared->size);
}

/* Page by page it would take far longer. */
static void populate(struct shared *shared)
{
	size_t from = shared->ready, to = shared->used + shared->used / 4;

	to = (to < shared->size ? to : shared->size) & ~(size_t)4095;
	(void)madvise((char *)shared + from, to - from, POPULATE_WRITE);
	shared->ready = to;
}

void *shared_alloc(struct shared *shared, size_t size)
{
	size_t at = (shared->used + 7) & ~(size_t)7;

	if (size > shared->size || at > shared->size - size)
		return NULL;
	shared->used = at + size;
	if (shared->used > shared->ready)
		populate(shared);
	return (char *)shared + at;
}

struct janitor {
	struct shared *shared;
	int host;
	int child; /* socket to PID 1 */
	pid_t pid; /* PID 1 or bubblewrap; 0 where there is none to end */
	int pidfd; /* of it */
	int masks;
	struct bwrap bwrap;
	struct holdings held;
	bool closed;	/* the host lives, and has told us to end */
	bool alone;	/* nothing else lives inside */
	bool forgotten; /* the state file is removed */
};

/* End of file must reach the others when we die. */
static void part(const struct janitor *janitor)
{
	close(janitor->host);
	close(janitor->child);
}

/*
 * PID 1 becomes the host process's child, as we are, so that the two end side
 * by side and nobody waits for us to have waited.
 */
static int build_ours(struct janitor *janitor,
		      const struct janitor_sockets *sockets,
		      struct failure *failure)
{
	struct shared *shared = janitor->shared;
	pid_t pid = namespaces_clone(NAMESPACES_CLONED | CLONE_PARENT,
				     &janitor->pidfd);
	int error;

	if (pid == 0) {
		part(janitor);
		setup_run(shared, sockets->control, sockets->setup);
	}
	/* Not before, since PID 1 has most to do; another backend asks, too. */
	error = identity_read(&shared->plan.id);
	shared->identified = !error;
	if (pid < 0) {
		failure->unavailable = namespaces_refused(pid);
		return failure_set(failure, -pid, "cannot make namespaces");
	}
	janitor->pid = shared->init = pid;
	if (error)
		return failure_set(failure, -error, IDENTITY_UNREAD);
	error = namespaces_map(&shared->plan.id, pid, failure);
	if (error)
		failure->unavailable = true;
	return error ? error : setup_tell(janitor->child, MESSAGE_MAPS, -1);
}

/* By fork(2), since containers refuse clone3(2). */
static int fork_bare(struct janitor *janitor, int control, int setup,
		     struct failure *failure)
{
	janitor->pid = fork();
	if (janitor->pid == 0) {
		part(janitor);
		bare_run(janitor->shared, control, setup);
	}
	if (janitor->pid < 0)
		return failure_set(failure, errno, "cannot fork");
	janitor->shared->init = janitor->pid;
	janitor->pidfd = (int)syscall(SYS_pidfd_open, janitor->pid, 0);
	return janitor->pidfd < 0
		       ? failure_set(failure, errno, "cannot open a process")
		       : 0;
}

/* Its own session: what ends the caller's job does not end the cleaning. */
static void leave(struct janitor *janitor)
{
	int keep[] = { janitor->host, janitor->child, janitor->pidfd,
		       janitor->bwrap.info, janitor->bwrap.errors };

	prctl(PR_SET_NAME, "srt-lua-janitor");
	setsid();
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		close(fd);
	sys_close_all_but(3, keep, ARRAY_SIZE(keep));
	if (chdir("/"))
		_exit(1);
}

/* Who is left behind by its parent is ours then. */
static int build_bare(struct janitor *janitor,
		      const struct janitor_sockets *sockets,
		      struct failure *failure)
{
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return failure_set(failure, errno, "cannot be a subreaper");
	return fork_bare(janitor, sockets->control, sockets->setup, failure);
}

static int build_bwrap(struct janitor *janitor,
		       const struct janitor_sockets *sockets,
		       struct failure *failure)
{
	pid_t pid = bwrap_clone(janitor->shared, sockets, &janitor->pidfd,
				&janitor->bwrap);

	if (pid < 0)
		return failure_set(failure, -pid, "cannot start bubblewrap");
	janitor->pid = pid;
	return 0;
}

static int build(struct janitor *janitor, const struct janitor_sockets *sockets,
		 struct failure *failure)
{
	if (plan_in_namespaces(&janitor->shared->plan))
		return build_ours(janitor, sockets, failure);
	return janitor->shared->plan.bare
		       ? build_bare(janitor, sockets, failure)
		       : build_bwrap(janitor, sockets, failure);
}

/* Waits for the host's word. False: the host process went away instead. */
static bool await_order(struct janitor *janitor, enum message_kind kind)
{
	struct message message;

	if (sys_receive(janitor->host, &message, sizeof(message), NULL, NULL) !=
		    sizeof(message) ||
	    message.kind != kind)
		return false;
	janitor->closed = kind == MESSAGE_CLOSE;
	janitor->alone = message.alone;
	return true;
}

/*
 * The host's word that all is complete which the plan has for us. PID 1, which
 * is on our processor, passes it on: waking another one takes a while.
 */
static bool await_go(struct janitor *janitor, int *state,
		     struct failure *failure)
{
	struct pollfd fds[] = { { .fd = janitor->host, .events = POLLIN },
				{ .fd = janitor->child, .events = POLLIN } };
	struct message message;
	size_t count = 1;

	*state = -1;
	if (!plan_in_namespaces(&janitor->shared->plan))
		return await_order(janitor, MESSAGE_GO);
	while (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno == EINTR)
		;
	/* What it has passed on holds, also where the host is dead by now. */
	if (!fds[1].revents)
		return await_order(janitor, MESSAGE_GO);
	if (sys_receive(janitor->child, &message, sizeof(message), state,
			&count) == sizeof(message))
		return message.kind == MESSAGE_GO;
	/* What it had to say it has told the host. */
	failure_set(failure, 0, "the sandbox was killed from outside");
	return false;
}

/* It begins once what its arguments name is there, and is PID 1's parent. */
static int await_bwrap(struct janitor *janitor, struct failure *failure)
{
	int error = bwrap_masks(&janitor->shared->plan, failure);

	if (!error)
		error = bwrap_note(&janitor->shared->plan, failure);
	if (!error)
		error = setup_tell(janitor->child, MESSAGE_MAPS, -1);
	return error ? error
		     : bwrap_await(&janitor->bwrap, janitor->pidfd,
				   &janitor->shared->init, failure);
}

/* @state: taken over; as of holdings_make() */
static int prepare(struct janitor *janitor, int state, struct failure *failure)
{
	const struct plan *plan = &janitor->shared->plan;
	owned_fd int masks = janitor->masks;
	int error = holdings_make(plan, &janitor->held, state, failure);

	if (!error && plan->bwrap.program)
		error = await_bwrap(janitor, failure);
	else if (!error && masks >= 0 && mounts_masks_owned(plan))
		error = mounts_masks(plan, masks, failure);
	if (error || setup_is_late(plan))
		return error;
	return setup_tell(janitor->child, MESSAGE_GO, -1);
}

/* Runs that are shorter leave no work to the disk. */
#define SHORT_RUN 1000 /* milliseconds */

/* PID 1's last word; end of file where it ended without. */
static void await_init(struct janitor *janitor)
{
	struct message message;

	janitor->alone = sys_receive(janitor->child, &message, sizeof(message),
				     NULL, NULL) == sizeof(message) &&
			 message.kind == MESSAGE_ALONE;
}

/*
 * Until PID 1 ends or is alone, or the host process lets go. The state file is
 * on its way to the disk before what it lists is there, so that a power cut
 * does not leave that alone; nobody waits for it.
 */
static void await_end(struct janitor *janitor)
{
	bool told = plan_in_namespaces(&janitor->shared->plan);
	struct pollfd fds[] = { { .fd = janitor->host, .events = POLLIN },
				{ .fd = janitor->pidfd, .events = POLLIN },
				{ .fd = told ? janitor->child : -1,
				  .events = POLLIN } };
	int ready, patience = SHORT_RUN;

	while ((ready = poll(fds, ARRAY_SIZE(fds), patience)) <= 0) {
		if (ready < 0 && errno != EINTR)
			break;
		if (ready == 0 && janitor->held.state >= 0)
			(void)sync_file_range(janitor->held.state, 0, 0,
					      SYNC_FILE_RANGE_WRITE);
		patience = -1;
	}
	if (ready > 0 && fds[0].revents)
		(void)await_order(janitor, MESSAGE_CLOSE);
	else if (ready > 0 && fds[2].revents)
		await_init(janitor);
}

static void await_death(int pidfd)
{
	struct pollfd end = { .fd = pidfd, .events = POLLIN };

	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
}

/* Returns when PID 1, and with it everything inside, is dead. Once. */
static void end_init(struct janitor *janitor)
{
	pid_t pid = janitor->pid;

	janitor->pid = 0;
	if (pid <= 0)
		return;
	if (plan_in_namespaces(&janitor->shared->plan)) {
		/* Its parent may have reaped it, and the number be another's.
		 */
		(void)syscall(SYS_pidfd_send_signal, janitor->pidfd, SIGKILL,
			      NULL, 0);
		await_death(janitor->pidfd);
	} else {
		kill(pid, SIGKILL);
		(void)sys_reap(pid, NULL);
	}
}

static void end_all(struct janitor *janitor)
{
	bool removed;

	/* Who is alone ends by itself, once the host has heard of it. */
	if (!janitor->alone || !plan_in_namespaces(&janitor->shared->plan))
		end_init(janitor);
	/* While something lives that can't be ended nothing is removed. */
	if (janitor->shared->plan.bare && descendants_end())
		return;
	if (janitor->shared->plan.bwrap.program)
		bwrap_end(&janitor->bwrap);
	removed = !janitor->shared->temp ||
		  !remove_tree(janitor->shared->plan.temp_dir);
	holdings_remove(&janitor->shared->plan, &janitor->held);
	/* Until MESSAGE_GO the host process may be making what it lists. */
	janitor->forgotten = removed && janitor->held.locks &&
			     janitor->shared->plan.transient &&
			     janitor->shared->plan.state &&
			     !unlink(janitor->shared->plan.state);
}

/*
 * The host process was killed before MESSAGE_GO: it may have made the temporary
 * directory since we looked, and nothing else of what the file lists is there.
 */
static void forget(const struct shared *shared)
{
	int error = shared->temp ? remove_tree(shared->plan.temp_dir) : 0;

	if (!error || error == -ENOENT)
		(void)unlink(shared->plan.state);
}

/*
 * The host process was killed: what it does when a run has ended, another one
 * does. It is not our child, whom nobody would wait for, but what we become.
 */
static void stand_in(struct janitor *janitor)
{
	const char *state = janitor->shared->plan.state;
	char *const arguments[] = { (char *)"srt-lua", (char *)"--aftermath",
				    (char *)state, NULL };

	/* The host waits for our last word, and claims the state file then.
	 * Where it is removed, letting go of it takes the disk a while. */
	if (janitor->held.locks && janitor->held.state >= 0 &&
	    !janitor->forgotten)
		close(janitor->held.state);
	(void)setup_tell(
		janitor->host,
		janitor->forgotten ? MESSAGE_FORGOTTEN : MESSAGE_REMOVED, -1);
	if (!state || janitor->forgotten || janitor->closed ||
	    await_order(janitor, MESSAGE_CLOSE))
		return;
	if (!janitor->held.locks) {
		forget(janitor->shared);
		return;
	}
	end_init(janitor);
	execv("/proc/self/exe", arguments);
}

/* For the host process, which has enough to do. The kernel takes a while. */
static void read_mounts(struct shared *shared)
{
	owned_fd int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t more = 1;

	while (fd >= 0 && more > 0 && size < sizeof(shared->mounts)) {
		more = read(fd, shared->mounts + size,
			    sizeof(shared->mounts) - size);
		size += more > 0 ? (size_t)more : 0;
	}
	if (fd >= 0 && more == 0)
		shared->mounts_size = size;
}

static int begin_masks(struct janitor *janitor, struct failure *failure)
{
	int error = mounts_masks_begin(&janitor->shared->plan, &janitor->masks,
				       failure);

	return error ? error
		     : setup_tell(janitor->child, MESSAGE_MASKS,
				  janitor->masks);
}

static int begin(struct janitor *janitor, const struct janitor_sockets *sockets,
		 struct failure *failure)
{
	const struct plan *plan = &janitor->shared->plan;
	int error = build(janitor, sockets, failure), state;

	leave(janitor);
	if (!error && plan_in_namespaces(plan))
		read_mounts(janitor->shared);
	if (!error && plan_in_namespaces(plan) && plan->id.root_caller)
		error = begin_masks(janitor, failure);
	if (!error && !await_go(janitor, &state, failure))
		error = -ECANCELED;
	processors_restore(&janitor->shared->processors);
	return error ? error : prepare(janitor, state, failure);
}

_Noreturn void janitor_main(struct shared *shared,
			    const struct janitor_sockets *sockets)
{
	struct janitor janitor = {
		.shared = shared,
		.host = sockets->host,
		.child = sockets->child,
		.pidfd = -1,
		.masks = -1,
		.bwrap = { .info = -1, .errors = -1, .init = -1 },
	};
	struct message message = { .kind = MESSAGE_FAILED };
	int error = begin(&janitor, sockets, &message.failure);

	if (!error)
		await_end(&janitor);
	/* What failed before PID 1 was there. */
	if (!error && shared->plan.bwrap.program)
		error = bwrap_failure(&janitor.bwrap, &message.failure);
	if (error) {
		if (!message.failure.text[0])
			failure_set(&message.failure, -error, "cannot start");
		(void)sys_send(janitor.host, &message, sizeof(message), NULL,
			       0);
	}
	end_all(&janitor);
	stand_in(&janitor);
	_exit(0);
}
