/* SPDX-License-Identifier: Apache-2.0 */
/* The Landlock write layer: a second wall behind the mounts. */
#include "core/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

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
	{ 's', 1, 0, FS(MAKE_SOCK) },
	{ 'i', 5, SRT_LANDLOCK_FS_IOCTL_DEV, 0 },
};

struct layer {
	int ruleset;
	uint64_t files;
	uint64_t entries;
};

void landlock_rights(const char *letters, int abi, uint64_t *files,
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

int landlock_add(int ruleset, int fd, uint64_t files, uint64_t entries)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	rule.allowed_access = files | (S_ISDIR(st.st_mode) ? entries : 0);
	/* Nothing of what a folder can have may be said of a file. */
	if (!rule.allowed_access)
		return 0;
	return syscall(SYS_landlock_add_rule, ruleset,
		       LANDLOCK_RULE_PATH_BENEATH, &rule, 0U)
		       ? -errno
		       : 0;
}

int landlock_create(const struct landlock_attr *attr)
{
	size_t size = attr->scoped ? sizeof(*attr)
		      : attr->net  ? offsetof(struct landlock_attr, scoped)
				   : sizeof(attr->files);
	int fd = (int)syscall(SYS_landlock_create_ruleset, attr, size, 0U);

	return fd < 0 ? -errno : fd;
}

static int allow_path(const struct layer *layer, const char *path)
{
	owned_fd int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno
		      : landlock_add(layer->ruleset, fd, layer->files,
				     layer->entries);
}

/* What a descriptor may write already, it may write by name as well. */
static int allow_descriptor(int ruleset, int fd, uint64_t files,
			    uint64_t others)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;
	int error;

	if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY ||
	    fstat(fd, &st) || S_ISDIR(st.st_mode) || S_ISSOCK(st.st_mode))
		return 0;
	error = landlock_add(ruleset, fd, S_ISREG(st.st_mode) ? files : others,
			     0);
	/* EBADFD: an anonymous pipe, which Landlock does not restrict. */
	return error == -EBADFD ? 0 : error;
}

int landlock_add_written(int ruleset, const struct plan *plan, uint64_t files,
			 uint64_t others, struct failure *failure)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		int error = allow_descriptor(ruleset, fd, files, others);

		if (error)
			return failure_set(failure, -error,
					   "cannot allow writes to "
					   "descriptor %d",
					   fd);
	}
	for (size_t i = 0; i < plan->keep_count; i++)
		(void)allow_descriptor(ruleset, plan->keep_fds[i], files,
				       others);
	return 0;
}

static int fill(const struct layer *layer, const struct plan *plan,
		struct failure *failure)
{
	for (size_t i = 0; i < plan->writable_count; i++) {
		int error = allow_path(layer, plan->writable[i]);

		if (error)
			return failure_set(failure, -error,
					   "cannot allow writes to %s",
					   plan->writable[i]);
	}
	return landlock_add_written(layer->ruleset, plan, layer->files,
				    layer->files, failure);
}

int landlock_build(const struct plan *plan, int *out, struct failure *failure)
{
	struct landlock_attr attr = { 0 };
	struct layer layer = { .ruleset = -1 };
	int error = 0;

	*out = -1;
	if (plan->landlock)
		landlock_rights("wm", sys_landlock_abi(), &layer.files,
				&layer.entries);
	attr.files = layer.files | layer.entries;
	if (plan->scope_signals)
		attr.scoped =
			SRT_LANDLOCK_SCOPE_SIGNAL | SRT_LANDLOCK_SCOPE_ABSTRACT;
	if (!attr.files && !attr.scoped)
		return 0;
	layer.ruleset = landlock_create(&attr);
	if (layer.ruleset < 0)
		return failure_set(failure, -layer.ruleset,
				   "cannot make the Landlock ruleset");
	if (plan->landlock)
		error = fill(&layer, plan, failure);
	if (error)
		close(layer.ruleset);
	else
		*out = layer.ruleset;
	return error;
}

int landlock_enter(int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, 0U) ? -errno : 0;
}
