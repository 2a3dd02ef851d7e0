/* SPDX-License-Identifier: Apache-2.0 */
/* The child between clone3(2) and PID 1's loop. */
#include "core/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/agent.h"
#include "core/bwrap.h"
#include "core/inherited.h"
#include "core/init.h"
#include "core/message.h"
#include "core/mounts.h"
#include "core/namespaces.h"
#include "core/network.h"
#include "core/redirect.h"
#include "core/seccomp.h"
#include "core/state.h"
#include "core/system.h"

struct confinement setup_first(const struct shared *shared)
{
	prctl(PR_SET_NAME, SETUP_NAME);
	sys_forget_arguments(SETUP_NAME);
	/* The command gets the plan's. */
	sys_forget_environment();
	return (struct confinement){
		.plan = &shared->plan,
		.caller = &shared->caller,
		.processors = &shared->processors,
		.ruleset = -1,
		.masks = -1,
		.unused = -1,
		.state = -1,
		.led = LED_NOT,
		.handover = HANDOVER_NONE,
		.unreached = { -1, -1 },
		.janitor = -1,
		.watch = -1,
		.agent = -1,
	};
}

_Noreturn void setup_fail(int control, int error, const struct failure *failure)
{
	struct message message = { .kind = MESSAGE_FAILED,
				   .failure = *failure };

	if (!failure->text[0])
		failure_set(&message.failure, -error, "set-up failed");
	(void)sys_send(control, &message, sizeof(message), NULL, 0);
	_exit(1);
}

void setup_close(const struct plan *plan, const int *own, size_t count,
		 const int *listeners)
{
	int keep[64 + PLAN_LISTEN_MAX];

	memcpy(keep, own, count * sizeof(*own));
	for (size_t i = 0; listeners && i < plan->listen_count; i++)
		keep[count++] = listeners[i];
	for (size_t i = 0; i < plan->keep_count && count < ARRAY_SIZE(keep);
	     i++)
		keep[count++] = plan->keep_fds[i];
	sys_close_all_but(3, keep, count);
}

int setup_tell(int to, enum message_kind kind, int fd)
{
	struct message message = { .kind = kind };
	int error = sys_send(to, &message, sizeof(message), &fd, fd >= 0);

	/* Reset: it went away without reading what we had sent before. */
	return error == -EPIPE || error == -ECONNRESET ? 0 : error;
}

/* How long one looks for the host's word before one sleeps. */
#define LOOK_MS 2

void setup_look(int control, const struct processors *processors)
{
	struct pollfd fd = { .fd = control, .events = POLLIN };
	long long end = sys_now_ms() + LOOK_MS;

	while (processors->move && poll(&fd, 1, 0) == 0 && sys_now_ms() < end)
		sched_yield();
}

/* @fd: as of setup_await() */
static enum message_kind hear(int from, int *fd)
{
	struct message message;
	size_t count = fd ? 1 : 0;

	if (fd)
		*fd = -1;
	/* The janitor or the host gave up, and has said why: so do we. */
	if (sys_receive(from, &message, sizeof(message), fd,
			fd ? &count : NULL) != sizeof(message))
		_exit(1);
	return message.kind;
}

int setup_await(int from, enum message_kind kind, int *fd,
		struct failure *failure)
{
	return hear(from, fd) == kind
		       ? 0
		       : failure_set(failure, EPROTO, "unexpected message");
}

/* What programs need that ignore proxies. @led: as of struct confinement */
static int redirect_first(const struct redirect *redirect, int *led,
			  struct failure *failure)
{
	int error;

	if (!redirect->port)
		return 0;
	error = redirect_prepare(redirect);
	if (error)
		return failure_set(failure, -error,
				   "cannot give the sandbox addresses");
	error = redirect->eager ? redirect_lead(redirect) : redirect_probe();
	if (error || redirect->eager)
		*led = error;
	return 0;
}

/* Who leads where the kernel can't. */
static int redirect_else(const struct redirect *redirect, int *led,
			 struct failure *failure)
{
	if (*led >= 0)
		return 0;
	if (agent_is_told(&redirect->notified) && redirect->origins) {
		*led = LED_BY_AGENT;
		return 0;
	}
	if (!redirect->needed)
		return 0;
	return failure_set(failure, -*led,
			   "network.transparent can't be held: the kernel "
			   "refuses nf_tables rules; load the module nf_tables "
			   "(with nft_chain_nat and nft_redir), or leave the "
			   "key out");
}

int setup_enter(const struct plan *plan, struct failure *failure)
{
	if (!chdir(plan->cwd))
		return 0;
	return failure_set(failure, errno,
			   "cannot enter the working directory %s inside; "
			   "allow reading it, or start elsewhere",
			   plan->cwd);
}

int setup_begin(const struct plan *plan, int setup, struct mounts *mounts,
		struct failure *failure)
{
	int error = network_up();

	if (error)
		return failure_set(failure, -error,
				   "cannot bring up the loopback interface");
	error = mounts_begin(mounts, failure);
	if (!error)
		error = setup_await(setup, MESSAGE_MAPS, NULL, failure);
	return error ? error : mounts_own(mounts, plan, failure);
}

bool setup_is_late(const struct plan *plan)
{
	return plan_in_namespaces(plan) && !plan->placeholder_count &&
	       !mounts_masks_owned(plan);
}

int setup_hold(const struct plan *plan, int *state, struct failure *failure)
{
	if (!plan->state)
		return 0;
	*state = state_hold(plan->state, false);
	return *state < 0 ? failure_set(failure, -*state,
					"cannot hold the state file %s",
					plan->state)
			  : 0;
}

/*
 * The host process makes the temporary directory meanwhile, which may have to
 * wait for the disk.
 */
static int await_made(const struct shared *shared, int control,
		      struct confinement *confinement, struct failure *failure)
{
	if (!confinement->early)
		return 0;
	setup_look(control, &shared->processors);
	return setup_await(control, MESSAGE_MADE, &confinement->state, failure);
}

/* @view: for whoever asks about opens, owned by the caller; or left as it is */
static int build_root(struct mounts *mounts, const struct plan *plan, int masks,
		      int *view, struct failure *failure)
{
	bool needed = mounts_masks_needed(plan);
	int error = needed && !mounts_masks_owned(plan)
			    ? mounts_masks(plan, masks, failure)
			    : 0;

	if (!error && plan->watch.asks)
		*view = mounts_view(mounts);
	return error ? error
		     : mounts_apply(mounts, plan, needed ? masks : -1, failure);
}

/* Its parts, each once, as soon as the plan has them. */
struct network {
	bool redirected;
	bool listens;
};

/* @all: not only what MESSAGE_REDIRECT is about */
static int make_network(const struct plan *plan, struct network *network,
			bool all, struct confinement *confinement,
			struct failure *failure)
{
	int error = 0;

	if (!network->redirected)
		error = redirect_first(&plan->redirect, &confinement->led,
				       failure);
	network->redirected = true;
	if (!error && all && !network->listens)
		error = handover_listen(&confinement->handover, plan, NULL,
					failure);
	network->listens = network->listens || all;
	return error;
}

/* What a sandbox takes is complete then, and the network there. */
static int await_plan(const struct shared *shared, int control,
		      struct confinement *confinement, struct failure *failure)
{
	const struct plan *plan = &shared->plan;
	struct network network = { 0 };
	enum message_kind kind;
	int error;

	do {
		setup_look(control, &shared->processors);
		kind = hear(control, &confinement->state);
		error = make_network(plan, &network, kind != MESSAGE_REDIRECT,
				     confinement, failure);
	} while (!error &&
		 (kind == MESSAGE_REDIRECT || kind == MESSAGE_NETWORK));
	confinement->early = kind == MESSAGE_BUILD;
	if (!error && !confinement->early && kind != MESSAGE_GO)
		error = failure_set(failure, EPROTO, "unexpected message");
	return error ? error
		     : redirect_else(&plan->redirect, &confinement->led,
				     failure);
}

static int make_tree(const struct shared *shared, int control, int setup,
		     struct mounts *mounts, struct confinement *confinement,
		     struct failure *failure)
{
	const struct plan *plan = &shared->plan;
	bool made = plan->bwrap.program;
	bool late = setup_is_late(plan);
	int error =
		late ? 0 : await_made(shared, control, confinement, failure);

	if (!error && !made && !late)
		error = setup_tell(setup, MESSAGE_GO, -1);
	if (!error && !made && plan->id.root_caller)
		error = setup_await(setup, MESSAGE_MASKS, &confinement->unused,
				    failure);
	if (!error && !late)
		error = setup_await(setup, MESSAGE_GO, NULL, failure);
	confinement->late = late;
	if (!error && made)
		error = bwrap_root(plan, &mounts->masks, failure);
	else if (!error)
		error = build_root(mounts, plan, confinement->unused,
				   &confinement->handover.view, failure);
	confinement->masks = mounts->masks;
	confinement->attached = !made;
	if (!error)
		error = setup_enter(plan, failure);
	if (!error)
		error = inherited_reopen(shared, failure);
	if (!error && late)
		error = await_made(shared, control, confinement, failure);
	if (!error && !made)
		error = mounts_finish(mounts, plan, failure);
	return error;
}

static int set_up(const struct shared *shared, int control, int setup,
		  struct confinement *confinement, struct failure *failure)
{
	const struct plan *plan = &shared->plan;
	struct mounts mounts = { -1, -1, -1, 0 };
	struct handover *handover = &confinement->handover;
	int *masks = &confinement->unused;
	bool made = plan->bwrap.program;
	int error = made ? 0 : namespaces_enter(failure);

	if (!error && !made)
		error = setup_begin(plan, setup, &mounts, failure);
	if (error) {
		failure->unavailable = namespaces_refused(error);
		return error;
	}
	unreached_open(&confinement->unreached);
	error = caps_bound(plan->id.caps);
	if (error)
		return failure_set(failure, -error, "cannot drop capabilities");
	if (!made && !plan->id.root_caller)
		error = mounts_masks_begin(plan, masks, failure);
	if (!error)
		error = await_plan(shared, control, confinement, failure);
	processors_restore(&shared->processors);
	if (error)
		return error;
	setup_close(
		plan,
		(const int[]){ control, setup, mounts.old_root, mounts.new_root,
			       *masks, confinement->unreached.v4,
			       confinement->unreached.v6,
			       made ? plan->bwrap.state : confinement->state },
		8, handover->listeners);
	error = make_tree(shared, control, setup, &mounts, confinement,
			  failure);
	if (!error)
		error = seccomp_get(plan->filter, plan->rules, plan->rule_count,
				    &confinement->filter, failure);
	if (!error)
		error = handover_watch(handover, plan, &confinement->watch,
				       failure);
	if (!error && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		error = failure_set(failure, errno, "cannot hide PID 1");
	return error;
}

_Noreturn void setup_run(const struct shared *shared, int control, int setup)
{
	struct confinement confinement = setup_first(shared);
	struct failure failure = { 0 };
	int error = set_up(shared, control, setup, &confinement, &failure);

	if (error)
		setup_fail(control, error, &failure);
	if (plan_in_namespaces(&shared->plan))
		confinement.janitor = setup;
	else
		close(setup);
	init_run(&confinement, control);
}
