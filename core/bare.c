/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox without namespaces: Landlock, seccomp and an agent hold it. */
#include "core/bare.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/agent.h"
#include "core/bare_agent.h"
#include "core/init.h"
#include "core/landlock_paths.h"
#include "core/mounts_private.h"
#include "core/seccomp.h"
#include "core/setup.h"

/* Where no mount can show them: in the temporary folder, under MOUNTS_FILES. */
static int put_files(const struct plan *plan, struct failure *failure)
{
	owned_fd int folder = -1;
	mode_t before;
	int error = 0;

	if (!plan->file_count || !plan->temp_dir)
		return 0;
	folder = open(plan->temp_dir,
		      O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return failure_set(failure, errno, "cannot open %s",
				   plan->temp_dir);
	before = umask(0);
	error = mounts_own_files(folder, plan);
	(void)umask(before);
	return error ? failure_set(failure, -error, "cannot write into %s",
				   plan->temp_dir)
		     : 0;
}

static int set_up(const struct plan *plan, int control, int setup,
		  struct bare_agent *agent, struct confinement *confinement,
		  struct failure *failure)
{
	int error = setup_await(control, MESSAGE_GO, NULL, failure);

	setup_close(plan, (const int[]){ control, setup }, 2, NULL);
	if (!error)
		error = setup_await(setup, MESSAGE_GO, NULL, failure);
	if (!error)
		error = setup_hold(plan, &confinement->state, failure);
	if (!error)
		error = put_files(plan, failure);
	if (!error)
		error = handover_listen(&confinement->handover, plan,
					agent->ports, failure);
	if (!error)
		error = handover_watch(&confinement->handover, plan,
				       &agent->watch, failure);
	/* At once: it stays with nobody who comes of us. */
	if (!error)
		error = handover_send(&confinement->handover, plan, control);
	if (!error)
		error = setup_enter(plan, failure);
	if (!error)
		error = landlock_paths_build(plan, &confinement->ruleset,
					     failure);
	if (!error)
		error = seccomp_get(plan->filter, plan->rules, plan->rule_count,
				    &confinement->filter, failure);
	if (!error && plan->area.on)
		error = landlock_area_enter(plan, failure);
	if (!error && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		error = failure_set(failure, errno, "cannot hide");
	return error;
}

/* Of the two only the command's side keeps the command's descriptors. */
static int part(struct confinement *confinement, struct bare_agent *agent,
		int control, struct failure *failure)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return failure_set(failure, errno, "cannot make a socket");
	agent->init = fork();
	if (agent->init < 0)
		return failure_set(failure, errno, "cannot fork");
	if (agent->init) {
		close(pair[1]);
		close(control);
		bare_agent_run(agent, pair[0]);
	}
	close(pair[0]);
	if (agent->watch >= 0)
		close(agent->watch);
	if (agent_is_told(&confinement->plan->notified))
		confinement->agent = pair[1];
	else
		close(pair[1]);
	/* Whoever its parent leaves behind is ours, and ends with us. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return failure_set(failure, errno, "cannot be a subreaper");
	init_run(confinement, control);
}

_Noreturn void bare_run(const struct shared *shared, int control, int setup)
{
	static struct bare_agent agent;
	struct confinement confinement = setup_first(shared);
	struct failure failure = { 0 };
	int error;

	agent.plan = &shared->plan;
	agent.watch = -1;
	error = set_up(&shared->plan, control, setup, &agent, &confinement,
		       &failure);
	if (!error) {
		close(setup);
		error = part(&confinement, &agent, control, &failure);
	}
	setup_fail(control, error, &failure);
}
