/* SPDX-License-Identifier: Apache-2.0 */
/* The Landlock ruleset of a plan without namespaces: all that is allowed. */
#include "core/landlock_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/landlock.h"
#include "core/system.h"

static int allow(int ruleset, const struct landlock_path *rule, int abi)
{
	owned_fd int fd = open(rule->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	uint64_t files, entries;

	if (fd < 0)
		/* Gone since the plan was made: then it is not allowed. */
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			       ? 0
			       : -errno;
	landlock_rights(rule->access, abi, &files, &entries);
	return landlock_add(ruleset, fd, files, entries);
}

static int fill(int ruleset, const struct plan *plan, int abi,
		struct failure *failure)
{
	uint64_t files, others, entries;

	for (size_t i = 0; i < plan->path_count; i++) {
		int error = allow(ruleset, &plan->paths[i], abi);

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
