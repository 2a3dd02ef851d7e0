/* SPDX-License-Identifier: Apache-2.0 */
/* The file system of what covers files: masks, scaffolds, files of our own. */
#include "core/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/mounts_private.h"
#include "core/system.h"

int mounts_filesystem(const char *type, unsigned int attributes,
		      const char *const *options)
{
	owned_fd int fs = sys_fsopen(type);
	int error;

	if (fs < 0)
		return fs;
	for (; options && *options; options += 2) {
		error = sys_fsconfig(fs, options[0], options[1]);
		if (error)
			return error;
	}
	error = sys_fsconfig(fs, NULL, NULL);
	return error ? error : sys_fsmount(fs, attributes);
}

/* Makes one file or directory of the mask file system. */
static int mask_make(int dir, const char *name, bool directory, mode_t mode,
		     const struct plan *plan)
{
	owned_fd int fd = -1;

	if (directory) {
		if (mkdirat(dir, name, mode))
			return -errno;
	} else {
		fd = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
			    mode);
		if (fd < 0)
			return -errno;
	}
	if (plan->id.root_caller && fchownat(dir, name, plan->id.mask_owner,
					     (gid_t)-1, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return 0;
}

/* Makes one slot of a scaffold with the directories that lead to it. */
static int mask_slot(int dir, const struct mount_slot *slot,
		     const struct plan *plan)
{
	/* On the host an ordinary caller could put nothing into a closed one.
	 */
	mode_t mode = plan->bwrap.program ? 0711 : 0111;
	owned_ptr char *path = strdup(slot->path);
	char *slash = path;
	int error;

	if (!path)
		return -ENOMEM;
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		error = mask_make(dir, path, true, mode, plan);
		if (error && error != -EEXIST)
			return error;
		*slash = '/';
	}
	if (slot->link)
		error = symlinkat(slot->link, dir, path) ? -errno : 0;
	else
		error = mask_make(dir, path, slot->directory,
				  slot->directory ? mode : 0, plan);
	return error == -EEXIST ? 0 : error;
}

/* Makes unlistable what leads to a slot, and the slot. */
static int mask_close(int dir, const struct mount_slot *slot)
{
	owned_ptr char *path = strdup(slot->path);
	char *slash = path;

	if (!path)
		return -ENOMEM;
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (fchmodat(dir, path, 0111, 0))
			return -errno;
		*slash = '/';
	}
	return slot->directory && fchmodat(dir, path, 0111, 0) ? -errno : 0;
}

void mounts_cover(const struct plan *plan, size_t index, bool directory,
		  char out[MOUNTS_COVER_SIZE])
{
	enum mount_kind kind = plan->steps[index].kind;

	if (kind == MOUNT_SCAFFOLD && directory)
		snprintf(out, MOUNTS_COVER_SIZE, "scaffold%zu", index);
	else if (kind == MOUNT_CONTENT && !directory)
		snprintf(out, MOUNTS_COVER_SIZE, "content%zu", index);
	else
		snprintf(out, MOUNTS_COVER_SIZE, directory ? "dir" : "file");
}

bool mounts_covered(const struct plan *plan, size_t index, int masks, int at)
{
	char name[MOUNTS_COVER_SIZE];
	struct stat st, cover;

	if (fstat(at, &st))
		return false;
	mounts_cover(plan, index, S_ISDIR(st.st_mode), name);
	return !fstatat(masks, name, &cover, AT_SYMLINK_NOFOLLOW) &&
	       cover.st_dev == st.st_dev && cover.st_ino == st.st_ino;
}

static int mask_scaffold(int masks, size_t index, const struct plan *plan)
{
	const struct mount_step *step = &plan->steps[index];
	owned_fd int dir = -1;
	char name[MOUNTS_COVER_SIZE];
	int error;

	mounts_cover(plan, index, true, name);
	/* Only once its slots are there does it become unlistable. */
	if (mkdirat(masks, name, 0711))
		return -errno;
	dir = openat(masks, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	for (size_t i = 0; i < step->slot_count; i++) {
		error = mask_slot(dir, &step->slots[i], plan);
		if (error)
			return error;
	}
	for (size_t i = 0; plan->bwrap.program && i < step->slot_count; i++) {
		error = mask_close(dir, &step->slots[i]);
		if (error)
			return error;
	}
	if (plan->id.root_caller && fchown(dir, plan->id.mask_owner, (gid_t)-1))
		return -errno;
	return fchmod(dir, 0111) ? -errno : 0;
}

/* The file is whole, or the run does not begin. */
static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(fd, bytes, size);

		if (written < 0)
			return -errno;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

/*
 * Makes a file of ours. For a root caller it looks as it is asked to, but where
 * an id is none of the caller's own; another caller can only have its own.
 */
static int mask_file(int dir, const char *name,
		     const struct mount_content *content,
		     const struct plan *plan)
{
	owned_fd int fd =
		openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
		       content->mode);
	int error;

	if (fd < 0)
		return -errno;
	error = write_all(fd, content->bytes, content->size);
	if (!error && plan->id.root_caller && content->owned &&
	    fchown(fd, content->uid, content->gid) && errno != EINVAL)
		return -errno;
	return error;
}

int mounts_own_files(int masks, const struct plan *plan)
{
	owned_fd int dir = -1;
	int error = 0;

	if (!plan->file_count)
		return 0;
	if (mkdirat(masks, MOUNTS_FILES, 0755))
		return -errno;
	dir = openat(masks, MOUNTS_FILES, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	for (size_t i = 0; !error && i < plan->file_count; i++)
		error = mask_file(dir, plan->files[i].name,
				  &plan->files[i].content, plan);
	return error;
}

static int mask_step(int masks, const struct plan *plan, size_t index)
{
	const struct mount_step *step = &plan->steps[index];
	char name[MOUNTS_COVER_SIZE];

	if (step->kind == MOUNT_SCAFFOLD)
		return mask_scaffold(masks, index, plan);
	if (step->kind != MOUNT_CONTENT)
		return 0;
	mounts_cover(plan, index, false, name);
	return mask_file(masks, name, step->content, plan);
}

int mounts_fill_first(int masks, const struct plan *plan)
{
	int error = mask_make(masks, "file", false, 0, plan);

	return error ? error : mask_make(masks, "dir", true, 0, plan);
}

int mounts_fill(int masks, const struct plan *plan)
{
	int error = 0;

	for (size_t i = 0; !error && i < plan->step_count; i++)
		error = mask_step(masks, plan, i);
	return error ? error : mounts_own_files(masks, plan);
}

/* Has @make do it, with exactly the modes that it asks for. */
static int fill(int masks, const struct plan *plan,
		int (*make)(int masks, const struct plan *plan),
		struct failure *failure)
{
	mode_t umask_before = umask(0);
	int error = make(masks, plan);

	umask(umask_before);
	return error ? failure_set(failure, -error,
				   "cannot make the covers of denied reads")
		     : 0;
}

int mounts_masks_begin(const struct plan *plan, int *out,
		       struct failure *failure)
{
	static const char *const options[] = { "mode", "0755", NULL };
	owned_fd int masks = mounts_filesystem(
		"tmpfs", MOUNTS_SAFE | MOUNT_ATTR_NOEXEC, options);
	int error;

	*out = -1;
	if (masks < 0)
		return failure_set(failure, -masks,
				   "cannot make the file system that covers "
				   "denied reads");
	error = fill(masks, plan, mounts_fill_first, failure);
	if (!error)
		*out = steal_fd(&masks);
	return error;
}

bool mounts_masks_needed(const struct plan *plan)
{
	bool needed = plan->file_count > 0;

	for (size_t i = 0; !needed && i < plan->step_count; i++)
		needed = plan->steps[i].kind != MOUNT_BIND;
	return needed;
}

static bool is_others(const struct mount_content *content)
{
	return content->owned &&
	       (content->uid != geteuid() || content->gid != getegid());
}

bool mounts_masks_owned(const struct plan *plan)
{
	bool owned = false;

	if (!plan->id.root_caller)
		return false;
	for (size_t i = 0; !owned && i < plan->file_count; i++)
		owned = is_others(&plan->files[i].content);
	for (size_t i = 0; !owned && i < plan->step_count; i++)
		owned = plan->steps[i].kind == MOUNT_SCAFFOLD ||
			(plan->steps[i].kind == MOUNT_CONTENT &&
			 is_others(plan->steps[i].content));
	return owned;
}

int mounts_masks(const struct plan *plan, int masks, struct failure *failure)
{
	return fill(masks, plan, mounts_fill, failure);
}
