/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 within a bubblewrap: takes the plan over, completes the root. */
#include "core/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "core/mounts.h"
#include "core/mounts_private.h"
#include "core/remount.h"
#include "core/setup.h"
#include "core/system.h"

/*
 * The plan, where its pointers point to: the host process maps it where nothing
 * else comes to lie (shared_new()).
 */
static struct shared *take_plan(int fd, const char *address)
{
	void *at = NULL;
	struct stat st;
	struct shared *shared;

	if (sscanf(address, "%p", &at) != 1 || fstat(fd, &st))
		return NULL;
	shared = mmap(at, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
	return shared == MAP_FAILED || shared != at ? NULL : shared;
}

int bwrap_inside(int argc, char **argv)
{
	enum {
		PLAN = 2,
		ADDRESS,
		CONTROL,
		SETUP,
		STATE,
		STREAMS,
		COUNT = STREAMS + 3
	};
	struct shared *shared;
	int number[COUNT] = { 0 };

	for (int i = PLAN; argc == COUNT && i < COUNT; i++)
		number[i] = i == ADDRESS ? 0 : (int)strtol(argv[i], NULL, 10);
	if (argc != COUNT || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return 125;
	shared = take_plan(number[PLAN], argv[ADDRESS]);
	if (!shared) {
		dprintf(STDERR_FILENO, "cannot map the plan: %s",
			strerror(errno));
		return 125;
	}
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (dup2(number[STREAMS + fd], fd) < 0)
			return 125;
	shared->plan.bwrap.state = number[STATE];
	/* It is memory that the host process would have to share. */
	shared->plan.redirect.origins = NULL;
	setup_run(shared, number[CONTROL], number[SETUP]);
}

/* Nothing that the host mounts later may show inside. */
static int hide_masks(int *masks)
{
	owned_fd int tree =
		sys_open_tree(AT_FDCWD, BWRAP_MASKS, AT_SYMLINK_NOFOLLOW);
	owned_fd int proc = sys_open_tree(AT_FDCWD, "/proc",
					  AT_RECURSIVE_ | OPEN_TREE_CLONE);
	int error = tree < 0 ? tree : proc < 0 ? proc : 0;

	if (!error)
		error = sys_move_mount(tree, AT_FDCWD, "/proc");
	if (!error)
		error = sys_move_mount(proc, AT_FDCWD, "/proc");
	if (!error && rmdir(BWRAP_MASKS))
		error = -errno;
	if (!error)
		*masks = steal_fd(&tree);
	return error;
}

/* Device nodes are the host's: no mode nor times of theirs may be changed. */
static int close_node(int dev, const char *name)
{
	owned_fd int node = sys_open_tree(dev, name, AT_SYMLINK_NOFOLLOW);

	if (node == -ENOENT)
		return 0;
	return node < 0 ? node
			: sys_mount_attr(node, false,
					 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC |
						 MOUNT_ATTR_RDONLY,
					 0);
}

static int complete_dev(int dev)
{
	static const char *const nodes[] = { "null",   "zero",	  "full",
					     "random", "urandom", "tty",
					     "console" };
	static const char *const options[] = {
		"newinstance", NULL, "ptmxmode", "0666", "mode", "0620", NULL
	};
	owned_fd int pts = mounts_filesystem(
		"devpts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, options);
	int error = pts < 0 ? pts : sys_move_mount(pts, dev, "pts");

	for (size_t i = 0; !error && i < ARRAY_SIZE(nodes); i++)
		error = close_node(dev, nodes[i]);
	if (!error && fchmodat(dev, "shm", 01777, 0))
		error = -errno;
	if (!error)
		error = sys_mount_attr(dev, false,
				       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC |
					       MOUNT_ATTR_RDONLY,
				       MOUNT_ATTR_NODEV);
	return error;
}

int bwrap_root(const struct plan *plan, int *masks, struct failure *failure)
{
	owned_fd int dev = -1, proc = -1;
	int error = mounts_private();

	if (!error)
		error = hide_masks(masks);
	if (error)
		return failure_set(failure, -error,
				   "cannot complete the root that bubblewrap "
				   "has made");
	error = remount_links(plan, *masks, failure);
	if (!error)
		error = bwrap_verify(plan, *masks, failure);
	if (error)
		return error;
	dev = sys_open_tree(AT_FDCWD, "/dev", 0);
	error = dev < 0 ? dev : complete_dev(dev);
	if (error)
		return failure_set(failure, -error, "cannot complete /dev");
	proc = plan->id.close_proc ? sys_open_tree(AT_FDCWD, "/proc", 0) : -1;
	if (proc >= 0)
		error = mounts_close_proc(proc, -1);
	return error ? failure_set(failure, -error, "cannot close /proc") : 0;
}
