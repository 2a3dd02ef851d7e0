/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the sandbox's root from a plan's mount steps. */
#include "core/mounts.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "core/mounts_private.h"
#include "core/system.h"

#define MNT_DETACH_ 2		/* sys/mount.h clashes with linux/mount.h */
#define MS_BIND_ 4096UL		/* likewise */
#define MS_REC_ 16384UL		/* likewise */
#define MS_PRIVATE_ (1UL << 18) /* likewise */
#define MASK_HOME "/proc"	/* never a source: ours replaces it */

/*
 * One mount(2) takes half the time of open_tree(2), move_mount(2) and close(2).
 * It follows links.
 */
static int bind(const char *source, const char *target, unsigned long flags)
{
	return syscall(SYS_mount, source, target, NULL, MS_BIND_ | flags, NULL)
		       ? -errno
		       : 0;
}

/* Attaches @tree at @target of the new root. */
static int attach(const struct mounts *m, int tree, const char *target)
{
	owned_fd int at = sys_open_beneath(m->new_root, target, O_PATH);

	return at < 0 ? at : sys_move_mount(tree, at, "");
}

/*
 * Where the step before put its cover: steps come sorted, so that one folder
 * and one cover serve many. The folder is the working directory, too.
 * @size: of @path that counts, with the last slash
 * @path: borrowed
 * @source: of the cover, among the old root's masks
 */
struct covering {
	int folder;
	size_t size;
	const char *path;
	char source[sizeof(MASK_HOME) + MOUNTS_COVER_SIZE];
	struct stat st;
};

static int enter_folder(const struct mounts *m, struct covering *at,
			const char *target)
{
	size_t size = (size_t)(strrchr(target, '/') - target) + 1;
	owned_ptr char *path = NULL;

	if (at->folder >= 0 && at->size == size &&
	    !memcmp(at->path, target, size))
		return 0;
	path = strndup(target, size);
	if (!path)
		return -ENOMEM;
	if (at->folder >= 0)
		close(at->folder);
	at->folder = sys_open_beneath(m->new_root, path, O_PATH | O_DIRECTORY);
	at->size = size;
	at->path = target;
	if (at->folder < 0)
		return at->folder;
	return fchdir(at->folder) ? -errno : 0;
}

static int choose_cover(struct covering *at, const struct plan *plan,
			size_t index)
{
	char source[sizeof(at->source)] = MASK_HOME "/";

	mounts_cover(plan, index, plan->steps[index].directory,
		     source + sizeof(MASK_HOME));
	if (!strcmp(at->source, source))
		return 0;
	memcpy(at->source, source, sizeof(source));
	return lstat(source, &at->st) ? -errno : 0;
}

/* A clone of what @path names below @root, with its submounts. */
static int clone_tree(int root, const char *path, uint64_t attributes)
{
	owned_fd int at = sys_open_beneath(root, path, O_PATH);
	owned_fd int tree = -1;
	int error;

	if (at < 0)
		return at;
	tree = sys_open_tree(at, "",
			     AT_EMPTY_PATH | AT_RECURSIVE_ | OPEN_TREE_CLONE);
	if (tree < 0)
		return tree;
	error = sys_mount_attr(tree, true, attributes, 0);
	return error ? error : steal_fd(&tree);
}

static int apply_bind(const struct mounts *m, const struct mount_step *step)
{
	/* The host's would show in place of ours: no plan may say so. */
	if (path_below(step->target, "/dev") ||
	    path_below(step->target, "/proc"))
		return -EINVAL;
	owned_fd int tree =
		clone_tree(m->old_root, step->source,
			   m->still | MOUNTS_SAFE |
				   (step->read_only ? MOUNT_ATTR_RDONLY : 0));

	return tree < 0 ? tree : attach(m, tree, step->target);
}

/*
 * As attach(), but fast where many names of one folder follow each other. It
 * would follow a link in the last place, so no mount of the new root has links
 * followed meanwhile; else whether the name itself is covered is looked at
 * afterwards. Read-only as all of the masks is.
 */
static int apply_mask(const struct mounts *m, const struct plan *plan,
		      size_t index, struct covering *at)
{
	const char *target = plan->steps[index].target, *name;
	int error = enter_folder(m, at, target);
	struct stat st;

	if (!error)
		error = choose_cover(at, plan, index);
	if (error)
		return error;
	name = target + at->size;
	error = bind(at->source, name, 0);
	if (error || m->still)
		return error;
	if (fstatat(at->folder, name, &st, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return st.st_dev == at->st.st_dev && st.st_ino == at->st.st_ino
		       ? 0
		       : -ELOOP;
}

/* Makes one entry of the working directory read-only, in place. */
static int make_read_only(const char *name)
{
	struct srt_mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int error = bind(name, name, MS_REC_);

	if (error)
		return error;
	return syscall(SYS_mount_setattr, AT_FDCWD, name, AT_RECURSIVE_, &attr,
		       sizeof(attr))
		       ? -errno
		       : 0;
}

/* The host's /proc, where it can be told of ours. */
struct known {
	int dir;
	dev_t device;
};

static struct known open_known(int root)
{
	struct known known = { .dir = -1 };
	struct statfs fs;
	struct stat st;

	if (root < 0)
		return known;
	known.dir = sys_open_beneath(root, "/proc", O_PATH);
	if (known.dir >= 0 &&
	    (fstatfs(known.dir, &fs) || fs.f_type != PROC_SUPER_MAGIC ||
	     fstat(known.dir, &st))) {
		close(known.dir);
		known.dir = -1;
	}
	known.device = known.dir < 0 ? 0 : st.st_dev;
	return known;
}

/*
 * The kernel makes what it has for a name when that is looked up first, as ours
 * would be and the host's was: it is the same file, of the same number, but
 * where something is mounted over it.
 */
static bool look_up(int proc, const struct known *known,
		    const struct dirent *entry, struct stat *st)
{
	const char *name = entry->d_name;

	if (known->dir >= 0 &&
	    !fstatat(known->dir, name, st, AT_SYMLINK_NOFOLLOW) &&
	    st->st_dev == known->device && st->st_ino == entry->d_ino)
		return true;
	return !fstatat(proc, name, st, AT_SYMLINK_NOFOLLOW);
}

/* Is it a directory or a writable file that belongs to no process? */
static bool is_open(int proc, const struct known *known,
		    const struct dirent *entry)
{
	const char *name = entry->d_name;
	struct stat st;

	if (*name == '.' || isdigit((unsigned char)*name) ||
	    entry->d_type == DT_LNK)
		return false;
	if (entry->d_type == DT_DIR)
		return true;
	return look_up(proc, known, entry, &st) &&
	       (S_ISDIR(st.st_mode) ||
		(S_ISREG(st.st_mode) && (st.st_mode & 0222)));
}

/*
 * Closes what uid 0 can write in /proc without a capability. Found by looking,
 * since kernels and their options differ.
 */
int mounts_close_proc(int proc, int root)
{
	owned_fd int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct known known;
	struct dirent *entry;
	int error = 0;

	if (!dir)
		return -errno;
	steal_fd(&fd);
	error = fchdir(proc) ? -errno : 0;
	known = open_known(root);
	while (!error && (entry = readdir(dir)))
		if (is_open(proc, &known, entry))
			error = make_read_only(entry->d_name);
	closedir(dir);
	if (known.dir >= 0)
		close(known.dir);
	return error;
}

static int own_proc(const struct mounts *m, bool closed)
{
	owned_fd int proc = mounts_filesystem(
		"proc", MOUNTS_SAFE | MOUNT_ATTR_NOEXEC, NULL);
	int error;

	if (proc < 0)
		return proc;
	error = attach(m, proc, "/proc");
	return !error && closed ? mounts_close_proc(proc, m->old_root) : error;
}

/*
 * Puts one of the host's device nodes, or terminal, into our /dev, which is the
 * working directory. "/" is the old root, over which the new one is stacked.
 */
static int dev_node(const char *source, const char *name)
{
	return mknod(name, S_IFREG | 0444, 0) ? -errno : bind(source, name, 0);
}

static int dev_mount(int dev, const char *name, const char *type,
		     const char *const *options, unsigned int attributes)
{
	owned_fd int tree = mounts_filesystem(type, attributes, options);

	return tree < 0 ? tree : sys_move_mount(tree, dev, name);
}

static int dev_names(int dev)
{
	static const char *const links[][2] = {
		{ "pts/ptmx", "ptmx" },
		{ "/proc/self/fd", "fd" },
		{ "/proc/self/fd/0", "stdin" },
		{ "/proc/self/fd/1", "stdout" },
		{ "/proc/self/fd/2", "stderr" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		if (symlinkat(links[i][0], dev, links[i][1]))
			return -errno;
	return mkdirat(dev, "pts", 0755) || mkdirat(dev, "shm", 0755) ? -errno
								      : 0;
}

static int dev_nodes(int dev)
{
	static const char *const nodes[] = { "/dev/null",    "/dev/zero",
					     "/dev/full",    "/dev/random",
					     "/dev/urandom", "/dev/tty" };
	const char *terminal = ttyname(STDIN_FILENO);
	int error = fchdir(dev) ? -errno : 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(nodes); i++)
		error = dev_node(nodes[i], nodes[i] + sizeof("/dev"));
	/* So that ttyname(3) finds the user's terminal, which stays on the
	 * host's devpts. A terminal that can't be shown is no failure. */
	if (!terminal)
		terminal = ttyname(STDOUT_FILENO);
	if (!error && terminal)
		(void)dev_node(terminal, "console");
	return error;
}

static int dev_fill(int dev)
{
	static const char *const pts[] = { "newinstance", NULL,	  "ptmxmode",
					   "0666",	  "mode", "0620",
					   NULL };
	static const char *const shm[] = { "mode", "1777", NULL };
	int error = dev_names(dev);

	if (!error)
		error = dev_nodes(dev);
	/* The one place where device nodes work. Read-only is for the node,
	 * which is the host's: its mode and times, not what goes through it. */
	if (!error)
		error = sys_mount_attr(dev, true,
				       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC |
					       MOUNT_ATTR_RDONLY,
				       0);
	if (!error)
		error = dev_mount(dev, "pts", "devpts", pts,
				  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (!error)
		error = dev_mount(dev, "shm", "tmpfs", shm, MOUNTS_SAFE);
	return error;
}

static int own_dev(const struct mounts *m)
{
	static const char *const options[] = { "mode", "0755", NULL };
	owned_fd int dev = mounts_filesystem(
		"tmpfs", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, options);
	int error;

	if (dev < 0)
		return dev;
	error = attach(m, dev, "/dev");
	return error ? error : dev_fill(dev);
}

/*
 * The folder of our own files. Our /dev is the one place where a name can be
 * without being on the host, and that no policy closes or opens.
 */
static int own_files(const struct mounts *m)
{
	owned_fd int dev = sys_open_beneath(m->new_root, "/dev", O_PATH);
	owned_fd int tree = -1;
	int error;

	if (dev < 0)
		return dev;
	tree = sys_open_tree(m->masks, MOUNTS_FILES, OPEN_TREE_CLONE);
	if (tree < 0)
		return tree;
	error = sys_mount_attr(dev, false, 0, MOUNT_ATTR_RDONLY);
	if (error)
		return error;
	if (mkdirat(dev, PLAN_FILES_NAME, 0755))
		return -errno;
	error = sys_mount_attr(dev, false, MOUNT_ATTR_RDONLY, 0);
	return error ? error : sys_move_mount(tree, dev, PLAN_FILES_NAME);
}

/* A first step that covers "/" is the root itself. */
static bool root_is_scaffold(const struct plan *plan)
{
	return plan->step_count && plan->steps[0].kind == MOUNT_SCAFFOLD &&
	       !strcmp(plan->steps[0].target, "/");
}

static bool is_temp(const struct plan *plan, const struct mount_step *step)
{
	return step->kind == MOUNT_BIND && plan->temp_dir &&
	       !strcmp(step->target, plan->temp_dir);
}

/* @covering: for a step that is no bind */
static int apply_step(const struct mounts *m, const struct plan *plan,
		      size_t index, struct covering *covering,
		      struct failure *failure)
{
	const struct mount_step *step = &plan->steps[index];
	bool binds = step->kind == MOUNT_BIND;
	int error = binds ? apply_bind(m, step)
			  : apply_mask(m, plan, index, covering);

	return error ? failure_set(failure, -error, "cannot %s %s",
				   binds ? "bind" : "mask", step->target)
		     : 0;
}

static int apply_steps(const struct mounts *m, const struct plan *plan,
		       struct failure *failure)
{
	struct covering covering = { .folder = -1 };
	int error = 0;

	for (size_t i = root_is_scaffold(plan); !error && i < plan->step_count;
	     i++)
		if (!is_temp(plan, &plan->steps[i]))
			error = apply_step(m, plan, i, &covering, failure);
	if (covering.folder >= 0)
		close(covering.folder);
	return error;
}

/* Nothing that the host mounts later may show inside, nor the other way. */
int mounts_private(void)
{
	struct srt_mount_attr attr = { .propagation = MS_PRIVATE_ };

	return syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE_, &attr,
		       sizeof(attr))
		       ? -errno
		       : 0;
}

/* The new root is stacked over "/". */
static int stack_root(struct mounts *m, const char *source, bool read_only,
		      struct failure *failure)
{
	int error;

	m->new_root =
		clone_tree(m->old_root, source,
			   MOUNTS_SAFE | (read_only ? MOUNT_ATTR_RDONLY : 0));
	if (m->new_root < 0)
		return failure_set(failure, -m->new_root,
				   "cannot clone the mount tree");
	error = sys_move_mount(m->new_root, AT_FDCWD, "/");
	return error ? failure_set(failure, -error,
				   "cannot attach the new root")
		     : 0;
}

int mounts_begin(struct mounts *m, struct failure *failure)
{
	int error = mounts_private();

	*m = (struct mounts){ -1, -1, -1, 0 };
	if (error)
		return failure_set(failure, -error,
				   "cannot make the mounts private");
	m->old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (m->old_root < 0)
		return failure_set(failure, errno, "cannot open /");
	return stack_root(m, "/", true, failure);
}

int mounts_own(struct mounts *m, const struct plan *plan,
	       struct failure *failure)
{
	mode_t umask_before = umask(0);
	int error = own_proc(m, plan->id.close_proc);

	if (error)
		failure_set(failure, -error, "cannot mount /proc");
	else if ((error = own_dev(m)))
		failure_set(failure, -error, "cannot mount /dev");
	umask(umask_before);
	return error;
}

/* In place of the root that most plans have. */
static int another_root(struct mounts *m, const struct plan *plan,
			struct failure *failure)
{
	int error;

	if (fchdir(m->new_root) || syscall(SYS_umount2, ".", MNT_DETACH_) ||
	    fchdir(m->old_root))
		return failure_set(failure, errno, "cannot change the root");
	close(m->new_root);
	error = stack_root(
		m, root_is_scaffold(plan) ? MASK_HOME "/scaffold0" : "/",
		plan->root_read_only, failure);
	return error ? error : mounts_own(m, plan, failure);
}

/*
 * The masks stay in the namespace, where /proc covers them: only from there
 * can one be mounted again. The steps take theirs from the old root's.
 */
static int keep_masks(struct mounts *m, int old)
{
	owned_fd int proc = clone_tree(m->new_root, "/proc", 0);
	int error = proc < 0 ? proc
			     : sys_mount_attr(old, false, MOUNT_ATTR_RDONLY, 0);
	owned_fd int masks =
		error ? error : clone_tree(m->old_root, MASK_HOME, 0);

	if (!error)
		error = masks < 0 ? masks : attach(m, masks, "/proc");
	if (!error)
		error = attach(m, proc, "/proc");
	if (!error)
		m->masks = steal_fd(&masks);
	return error;
}

static int pivot(const struct mounts *m, struct failure *failure)
{
	if (fchdir(m->new_root) || sys_pivot_root(".", ".") || chdir("/"))
		return failure_set(failure, errno,
				   "cannot change to the new root");
	return 0;
}

int mounts_detach(void)
{
	/* It lies over the new root, where umount2(2) looks, and paths don't:
	 * pivot_root(2). */
	return syscall(SYS_umount2, "/", MNT_DETACH_) ? -errno : 0;
}

int mounts_view(const struct mounts *m)
{
	return clone_tree(m->old_root, "/",
			  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV |
				  MOUNT_ATTR_NOSUID);
}

/*
 * May links be held still in all mounts for a while? Not where one of the host
 * has that already: which, would have to be known to take it away again.
 */
static bool can_hold_links(void)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	owned_ptr char *line = NULL;
	size_t size = 0;
	bool found = !file;

	while (!found && getline(&line, &size, file) >= 0)
		found = strstr(line, "nosymfollow");
	if (file)
		fclose(file);
	return !found;
}

/* With @hold_links no link is followed in the new root meanwhile. */
static int do_steps(struct mounts *m, const struct plan *plan, bool hold_links,
		    struct failure *failure)
{
	int error;

	m->still = hold_links ? MOUNT_ATTR_NOSYMFOLLOW : 0;
	if (!hold_links)
		return apply_steps(m, plan, failure);
	error = sys_mount_attr(m->new_root, true, m->still, 0);
	if (error)
		return failure_set(failure, -error, "cannot hold links still");
	error = apply_steps(m, plan, failure);
	if (!error && (error = sys_mount_attr(m->new_root, true, 0, m->still)))
		failure_set(failure, -error, "cannot let links be followed");
	return error;
}

int mounts_apply(struct mounts *m, const struct plan *plan, int masks,
		 struct failure *failure)
{
	/* Worth it from some hundred steps on. */
	bool hold_links = plan->step_count > 200 && can_hold_links();
	int error = masks < 0
			    ? 0
			    : sys_move_mount(masks, m->old_root, &MASK_HOME[1]);

	if (error)
		failure_set(failure, -error, "cannot attach the masks");
	else if (root_is_scaffold(plan) || !plan->root_read_only)
		error = another_root(m, plan, failure);
	if (!error && masks >= 0 && (error = keep_masks(m, masks)))
		failure_set(failure, -error, "cannot keep the masks");
	if (!error)
		error = do_steps(m, plan, hold_links, failure);
	if (!error && plan->file_count && (error = own_files(m)))
		failure_set(failure, -error, "cannot mount " PLAN_FILES);
	m->still = 0;
	return error ? error : pivot(m, failure);
}

int mounts_finish(struct mounts *m, const struct plan *plan,
		  struct failure *failure)
{
	int error = 0;

	for (size_t i = plan->step_count; !error && i-- > 0;)
		if (is_temp(plan, &plan->steps[i]))
			error = apply_step(m, plan, i, NULL, failure);
	close(m->old_root);
	close(m->new_root);
	return error;
}

static void clear(const char *path, int to, const char *name)
{
	owned_fd int at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (at >= 0)
		(void)sys_move_mount(at, to, name);
}

void mounts_clear(const struct plan *plan)
{
	owned_fd int shm =
		open("/dev/shm", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char name[32];

	if (shm < 0)
		return;
	/* Each to a folder of its own: on another one of them it would be on
	 * what is to be removed. */
	for (size_t i = 0; i < plan->placeholder_count; i++) {
		snprintf(name, sizeof(name), ".srt-lua-%zu", i);
		if (!mkdirat(shm, name, 0700))
			clear(plan->placeholders[i], shm, name);
	}
	if (plan->temp_dir)
		clear(plan->temp_dir, shm, "");
}
