/* SPDX-License-Identifier: Apache-2.0 */
/* What a run needs on the host: its temporary directory and placeholders. */
#include "core/holdings.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "core/remove_tree.h"

#define PLACEHOLDER_MODE 0555

/*
 * A placeholder is shared by parallel runs: each holds a shared lock, and only
 * the last one, which gets the exclusive lock, may remove it.
 * Return: the locked descriptor, or -errno.
 */
static int placeholder_make(const char *path)
{
	owned_fd int fd = -1;
	struct stat st, named;

	for (int tries = 0; tries < 100; tries++) {
		if (mkdir(path, PLACEHOLDER_MODE) && errno != EEXIST)
			return -errno;
		if (fd >= 0)
			close(fd);
		fd = open(path,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue;
		if (fd < 0 || flock(fd, LOCK_SH) || fstat(fd, &st))
			return -errno;
		/* Another run may have removed it in between. */
		if (!lstat(path, &named) && named.st_ino == st.st_ino &&
		    named.st_dev == st.st_dev)
			return steal_fd(&fd);
	}
	return -EAGAIN;
}

/* rmdir(2) can never remove what the user made meanwhile. */
static void placeholder_remove(const char *path, int fd)
{
	struct stat st, named;

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB))
		return;
	if (!fstat(fd, &st) && !lstat(path, &named) &&
	    named.st_ino == st.st_ino && named.st_dev == st.st_dev &&
	    (named.st_mode & 07777) == PLACEHOLDER_MODE)
		(void)rmdir(path);
}

int holdings_make(const struct plan *plan, int *locks, struct failure *failure)
{
	umask(0);
	for (size_t i = 0; i < plan->placeholder_count; i++)
		locks[i] = -1;
	if (plan->temp_dir && mkdir(plan->temp_dir, 0700))
		return failure_set(failure, errno,
				   "cannot make the temporary directory %s",
				   plan->temp_dir);
	for (size_t i = 0; i < plan->placeholder_count; i++) {
		locks[i] = placeholder_make(plan->placeholders[i]);
		if (locks[i] < 0)
			return failure_set(failure, -locks[i],
					   "cannot hold the place of %s",
					   plan->placeholders[i]);
	}
	return 0;
}

void holdings_remove(const struct plan *plan, const int *locks)
{
	if (plan->temp_dir)
		(void)remove_tree(plan->temp_dir);
	for (size_t i = plan->placeholder_count; i-- > 0;)
		placeholder_remove(plan->placeholders[i], locks[i]);
}
