/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is everything mounted where the plan wants it? Bubblewrap takes paths, and
 * follows a link that has come to stand on the way since they were resolved.
 */
#include "core/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "core/mounts.h"
#include "core/system.h"

/* A file, as it is called in every mount of it. */
static int identify(int at, struct statx *out)
{
	return statx(at, "", AT_EMPTY_PATH, STATX_INO, out) ? -errno : 0;
}

static uint64_t device_of(const struct statx *st)
{
	return (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
}

int bwrap_note(struct plan *plan, struct failure *failure)
{
	for (size_t i = 0; i < plan->step_count; i++) {
		struct mount_step *step = &plan->steps[i];
		owned_fd int at = -1;
		struct statx st;
		int error;

		if (step->kind != MOUNT_BIND)
			continue;
		at = sys_open_plain(step->source, O_PATH);
		error = at < 0 ? at : identify(at, &st);
		if (error)
			return failure_set(failure, -error, "cannot find %s",
					   step->source);
		step->device = device_of(&st);
		step->inode = st.stx_ino;
	}
	return 0;
}

/* Is it what is to be seen at a step's target? @st is of @at. */
static bool is_wanted(const struct plan *plan, size_t index, int masks, int at,
		      const struct statx *st)
{
	const struct mount_step *step = &plan->steps[index];

	if (step->kind == MOUNT_BIND)
		return step->device == device_of(st) &&
		       step->inode == st->stx_ino;
	return mounts_covered(plan, index, masks, at);
}

static int verify(const struct plan *plan, size_t index, int masks, int root)
{
	const struct mount_step *step = &plan->steps[index];
	owned_fd int at = sys_open_beneath(root, step->target, O_PATH);
	struct statvfs fs;
	struct statx st;
	int error = at < 0 ? at : identify(at, &st);

	if (error)
		return error;
	if (!(st.stx_attributes & STATX_ATTR_MOUNT_ROOT) ||
	    !is_wanted(plan, index, masks, at, &st) || fstatvfs(at, &fs))
		return -ESTALE;
	return step->kind == MOUNT_BIND && step->read_only &&
			       !(fs.f_flag & ST_RDONLY)
		       ? -ESTALE
		       : 0;
}

int bwrap_verify(const struct plan *plan, int masks, struct failure *failure)
{
	owned_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int error = root < 0 ? -errno : 0;

	for (size_t i = 0; !error && i < plan->step_count; i++) {
		if (!strcmp(plan->steps[i].target, "/"))
			continue;
		error = verify(plan, i, masks, root);
		if (error)
			return failure_set(
				failure, -error,
				error == -EACCES
					? "%s can't be reached inside, where "
					  "nobody has a capability"
					: "%s was replaced while the sandbox "
					  "was made",
				plan->steps[i].target);
	}
	return error ? failure_set(failure, -error, "cannot open /") : 0;
}
