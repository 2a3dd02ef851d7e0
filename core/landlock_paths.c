/* SPDX-License-Identifier: Apache-2.0 */
/* The Landlock ruleset of a plan without namespaces: all that is allowed. */
#include "core/landlock_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/landlock.h"
#include "core/system.h"

/* @most: rights that the ruleset handles */
static int allow(int ruleset, const struct landlock_path *rule, int abi,
		 uint64_t most)
{
	owned_fd int fd = open(rule->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	uint64_t files, entries;

	if (fd < 0)
		/* Gone since the plan was made: then it is not allowed. */
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			       ? 0
			       : -errno;
	landlock_rights(rule->access, abi, &files, &entries);
	return landlock_add(ruleset, fd, files & most, entries & most);
}

static int fill(int ruleset, const struct plan *plan, int abi,
		struct failure *failure)
{
	uint64_t files, others, entries;

	for (size_t i = 0; i < plan->path_count; i++) {
		int error = allow(ruleset, &plan->paths[i], abi, UINT64_MAX);

		if (error)
			return failure_set(failure, -error, "cannot allow %s",
					   plan->paths[i].path);
	}
	landlock_rights("w", abi, &files, &entries);
	landlock_rights("rwi", abi, &others, &entries);
	return landlock_add_written(ruleset, plan, files, others, failure);
}

int landlock_paths_build(const struct plan *plan, int *out,
			 struct failure *failure)
{
	int abi = sys_landlock_abi();
	struct landlock_attr attr = { 0 };
	uint64_t entries;
	owned_fd int ruleset = -1;
	int error;

	landlock_rights("xrlwmi", abi, &attr.files, &entries);
	attr.files |= entries;
	if (abi >= 4)
		attr.net = SRT_LANDLOCK_NET_BIND_TCP |
			   SRT_LANDLOCK_NET_CONNECT_TCP;
	if (abi >= 6)
		attr.scoped =
			SRT_LANDLOCK_SCOPE_SIGNAL | SRT_LANDLOCK_SCOPE_ABSTRACT;
	ruleset = landlock_create(&attr);
	if (ruleset < 0)
		return failure_set(failure, -ruleset,
				   "cannot make the Landlock ruleset");
	error = fill(ruleset, plan, abi, failure);
	*out = error ? -1 : steal_fd(&ruleset);
	return error;
}

static int fill_area(int ruleset, const struct plan *plan, uint64_t most,
		     struct failure *failure)
{
	int abi = sys_landlock_abi(), error = 0;
	uint64_t files, entries;

	for (size_t i = 0; i < plan->area.top_count && !error; i++) {
		const struct landlock_path top = { plan->area.tops[i], "wm" };

		error = allow(ruleset, &top, abi, most);
	}
	/* Devices, and what is allowed again within something denied. */
	for (size_t i = 0; i < plan->path_count && !error; i++)
		error = allow(ruleset, &plan->paths[i], abi, most);
	if (error)
		return failure_set(failure, -error, "cannot allow writes");
	landlock_rights("w", abi, &files, &entries);
	return landlock_add_written(ruleset, plan, files, files, failure);
}

int landlock_area_enter(const struct plan *plan, struct failure *failure)
{
	struct landlock_attr attr = { 0 };
	uint64_t entries;
	owned_fd int ruleset = -1;
	int error;

	landlock_rights("wm", sys_landlock_abi(), &attr.files, &entries);
	attr.files |= entries;
	ruleset = landlock_create(&attr);
	if (ruleset < 0)
		return failure_set(failure, -ruleset,
				   "cannot make the Landlock ruleset");
	error = fill_area(ruleset, plan, attr.files, failure);
	if (error)
		return error;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return failure_set(failure, errno, "cannot set no_new_privs");
	error = landlock_enter(ruleset);
	return error ? failure_set(failure, -error, "cannot enter Landlock")
		     : 0;
}
