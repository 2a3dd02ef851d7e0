/* SPDX-License-Identifier: Apache-2.0 */
/* The Landlock ruleset of a plan without namespaces: all that is allowed. */
#include "core/landlock_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <unistd.h>

#include "core/landlock.h"
#include "core/system.h"

#define FS(name) LANDLOCK_ACCESS_FS_##name

/* What each letter of struct landlock_path means, from which ABI on. */
static const struct {
	char letter;
	int abi;
	uint64_t files;	  /* rights that make sense on a file */
	uint64_t entries; /* rights that need a directory */
} rights[] = {
	{ 'x', 1, FS(EXECUTE), 0 },
	{ 'r', 1, FS(READ_FILE), 0 },
	{ 'l', 1, 0, FS(READ_DIR) },
	{ 'w', 1, FS(WRITE_FILE), 0 },
	{ 'w', 3, FS(TRUNCATE), 0 },
	{ 'm', 1, 0,
	  FS(REMOVE_DIR) | FS(REMOVE_FILE) | FS(MAKE_CHAR) | FS(MAKE_DIR) |
		  FS(MAKE_REG) | FS(MAKE_SOCK) | FS(MAKE_FIFO) |
		  FS(MAKE_BLOCK) | FS(MAKE_SYM) },
	{ 'm', 2, 0, FS(REFER) },
	{ 'i', 5, SRT_LANDLOCK_FS_IOCTL_DEV, 0 },
};

/* The rights of @letters that this kernel knows. */
static void rights_of(const char *letters, int abi, uint64_t *files,
		      uint64_t *entries)
{
	*files = *entries = 0;
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		if (rights[i].abi > abi || !strchr(letters, rights[i].letter))
			continue;
		*files |= rights[i].files;
		*entries |= rights[i].entries;
	}
}

static int allow(int ruleset, const struct landlock_path *rule, int abi)
{
	owned_fd int fd = open(rule->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	uint64_t files, entries;

	if (fd < 0)
		/* Gone since the plan was made: then it is not allowed. */
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			       ? 0
			       : -errno;
	rights_of(rule->access, abi, &files, &entries);
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
	rights_of("w", abi, &files, &entries);
	rights_of("rwi", abi, &others, &entries);
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

	rights_of("xrlwmi", abi, &attr.files, &entries);
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
