/* SPDX-License-Identifier: Apache-2.0 */
/* What a run needs on the host: placeholders. */
#include "core/holdings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "core/remove_tree.h"
#include "core/state.h"
#include "core/system.h"

/* Sticky: a mark that other runs know it by, and without effect. */
#define PLACEHOLDER_MODE 01555

enum { LOCK_TRIES = 1000, LOCK_PAUSE_NS = 2000000 };

/*
 * The folder that a path's last component is in, kept for the next path. No
 * link is followed on the way: these paths had none when they were found, and
 * one that is there now would lead to where nothing was allowed.
 */
struct folder {
	const char *path; /* borrowed, of a path in it */
	size_t size;
	int fd;
};

static int folder_open(struct folder *folder, const char *path)
{
	size_t size = (size_t)(strrchr(path, '/') - path);
	owned_ptr char *name = NULL;
	owned_fd int root = -1;

	if (folder->fd >= 0 && folder->size == size &&
	    !memcmp(folder->path, path, size))
		return folder->fd;
	if (folder->fd >= 0)
		close(folder->fd);
	folder->fd = -1;
	name = strndup(path, size);
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (!name || root < 0)
		return name ? -errno : -ENOMEM;
	folder->path = path;
	folder->size = size;
	folder->fd =
		sys_open_beneath(root, size ? name : ".", O_PATH | O_DIRECTORY);
	return folder->fd;
}

static void folder_close(struct folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
}

static int make(int dir, const char *name)
{
	return mkdirat(dir, name, PLACEHOLDER_MODE);
}

static int take_away(int dir, const char *name)
{
	return unlinkat(dir, name, AT_REMOVEDIR);
}

/*
 * Acts in @dir, also where its owner, who is the caller, has closed it to
 * writing: what runs inside could open it again. Return: 0, or -1 with errno.
 */
static int in_folder(int dir, const char *name,
		     int (*act)(int dir, const char *name))
{
	struct stat st;
	char link[32];
	int result = act(dir, name);

	if (!result || errno != EACCES || fstat(dir, &st) ||
	    st.st_uid != geteuid())
		return result;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	if (chmod(link, (st.st_mode & 07777) | S_IWUSR | S_IXUSR))
		return -1;
	result = act(dir, name);
	if (chmod(link, st.st_mode & 07777))
		return -1;
	return result;
}

/* Is @name of @dir what is open as @fd? */
static bool is_entry(int dir, const char *name, int fd, struct stat *named)
{
	struct stat st;

	return !fstat(fd, &st) &&
	       !fstatat(dir, name, named, AT_SYMLINK_NOFOLLOW) &&
	       named->st_ino == st.st_ino && named->st_dev == st.st_dev;
}

/* Who can read a folder can lock it, so nobody is waited for without an end. */
static int share(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (!flock(fd, LOCK_SH | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

/*
 * A placeholder is shared by parallel runs: each holds a shared lock, and only
 * the last one, which gets the exclusive lock, may remove it.
 * Return: the locked descriptor, or -errno.
 */
static int placeholder_make(struct folder *folder, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	int dir = folder_open(folder, path);
	owned_fd int fd = -1;
	struct stat named;
	int error;

	if (dir < 0)
		return dir;
	for (int tries = 0; tries < 100; tries++) {
		if (in_folder(dir, name, make) && errno != EEXIST)
			return -errno;
		if (fd >= 0)
			close(fd);
		fd = openat(dir, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		error = fd < 0 ? -errno : share(fd);
		if (error)
			return error;
		/* Another run may have removed it in between. */
		if (is_entry(dir, name, fd, &named))
			return steal_fd(&fd);
	}
	return -EAGAIN;
}

/* rmdir(2) can never remove what the user made meanwhile. */
static void placeholder_remove(struct folder *folder, const char *path, int fd)
{
	const char *name = strrchr(path, '/') + 1;
	struct stat named;
	int dir;

	if (fd < 0)
		return;
	if (!flock(fd, LOCK_EX | LOCK_NB)) {
		dir = folder_open(folder, path);
		if (dir >= 0 && is_entry(dir, name, fd, &named) &&
		    (named.st_mode & 07777) == PLACEHOLDER_MODE)
			(void)in_folder(dir, name, take_away);
	}
	/* Now, for who ends at the same time: the rest of its end may take. */
	(void)flock(fd, LOCK_UN);
}

/* Which directories are ours, for whoever cleans up in our place. */
static int tell_state(const struct plan *plan, const struct holdings *held)
{
	owned_ptr char *text = NULL;
	size_t size = 0;
	FILE *out;
	struct stat st;

	if (held->state < 0 || !plan->placeholder_count)
		return 0;
	out = open_memstream(&text, &size);
	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < plan->placeholder_count; i++)
		if (!fstat(held->locks[i], &st))
			fprintf(out, "id%c%ju:%ju:%s%c", 0,
				(uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
				plan->placeholders[i], 0);
	if (fclose(out))
		return -ENOMEM;
	return write(held->state, text, size) == (ssize_t)size ? 0 : -EIO;
}

static int make_all(const struct plan *plan, struct holdings *held,
		    struct failure *failure)
{
	struct folder folder = { .fd = -1 };
	int error = 0;

	for (size_t i = 0; !error && i < plan->placeholder_count; i++) {
		held->locks[i] =
			placeholder_make(&folder, plan->placeholders[i]);
		if (held->locks[i] < 0)
			error = failure_set(failure, -held->locks[i],
					    "cannot hold the place of %s%s",
					    plan->placeholders[i],
					    held->locks[i] == -EBUSY
						    ? ", which another process "
						      "keeps locked (lslocks)"
						    : "");
	}
	folder_close(&folder);
	return error;
}

int holdings_make(const struct plan *plan, struct holdings *held, int state,
		  struct failure *failure)
{
	int error;

	umask(0);
	held->state = state;
	held->locks = malloc((plan->placeholder_count + 1) * sizeof(int));
	if (!held->locks)
		return failure_set(failure, ENOMEM, "cannot start");
	for (size_t i = 0; i < plan->placeholder_count; i++)
		held->locks[i] = -1;
	if (plan->state && state < 0)
		held->state = state_hold(plan->state, true);
	if (plan->state && held->state < 0)
		return failure_set(failure, -held->state,
				   "cannot hold the state file %s",
				   plan->state);
	error = make_all(plan, held, failure);
	if (!error && tell_state(plan, held))
		error = failure_set(failure, EIO,
				    "cannot write the state file %s",
				    plan->state);
	return error;
}

void holdings_remove(const struct plan *plan, const struct holdings *held)
{
	struct folder folder = { .fd = -1 };

	if (!held->locks)
		return;
	/* Without a state file nothing was made. */
	if (plan->state && held->state < 0)
		return;
	if (plan->bwrap.masks)
		(void)remove_tree(plan->bwrap.masks);
	for (size_t i = plan->placeholder_count; i-- > 0;)
		placeholder_remove(&folder, plan->placeholders[i],
				   held->locks[i]);
	folder_close(&folder);
	/* The blocks of what is removed may be discarded one by one (ext4(5)).
	 */
	sys_abandon(held->locks, plan->placeholder_count);
}

void holdings_sweep(const char *path)
{
	struct folder folder = { .fd = -1 };
	int dir = folder_open(&folder, path);
	owned_fd int fd = dir < 0 ? -1
				  : openat(dir, strrchr(path, '/') + 1,
					   O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						   O_CLOEXEC);

	placeholder_remove(&folder, path, fd);
	folder_close(&folder);
}
