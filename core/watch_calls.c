/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether a notified call will likely be denied. */
#include "core/watch_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/util.h"

#define NONE (-1)
#define SRT_ST_RDONLY 1
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif
/* fchmodat2(2): the same number everywhere. */
#define SRT_SYS_FCHMODAT2 452

/* After LINK, MOVE and PLACE a path may lead elsewhere. */
enum what { OPEN, MAKE, LINK, REMOVE, MOVE, PLACE, CHANGE, CHANGE_LINK };

/* Where a call has a path; those with two have two rows. */
static const struct layout {
	int number;
	enum what what;
	short dir, path, flags;
} layouts[] = {
	{ SYS_openat, OPEN, 0, 1, 2 },
#ifdef SYS_open
	{ SYS_open, OPEN, NONE, 0, 1 },
	{ SYS_creat, OPEN, NONE, 0, NONE },
	{ SYS_mkdir, MAKE, NONE, 0, NONE },
	{ SYS_mknod, MAKE, NONE, 0, NONE },
	{ SYS_symlink, LINK, NONE, 1, NONE },
	{ SYS_link, LINK, NONE, 1, NONE },
	{ SYS_unlink, REMOVE, NONE, 0, NONE },
	{ SYS_rmdir, REMOVE, NONE, 0, NONE },
	{ SYS_rename, MOVE, NONE, 0, NONE },
	{ SYS_rename, PLACE, NONE, 1, NONE },
	{ SYS_chmod, CHANGE, NONE, 0, NONE },
	{ SYS_chown, CHANGE, NONE, 0, NONE },
	{ SYS_lchown, CHANGE_LINK, NONE, 0, NONE },
#endif
#ifdef SYS_renameat
	{ SYS_renameat, MOVE, 0, 1, NONE },
	{ SYS_renameat, PLACE, 2, 3, NONE },
#endif
	{ SYS_mkdirat, MAKE, 0, 1, NONE },
	{ SYS_mknodat, MAKE, 0, 1, NONE },
	{ SYS_symlinkat, LINK, 1, 2, NONE },
	{ SYS_linkat, LINK, 2, 3, NONE },
	{ SYS_unlinkat, REMOVE, 0, 1, NONE },
	{ SYS_renameat2, MOVE, 0, 1, NONE },
	{ SYS_renameat2, PLACE, 2, 3, NONE },
	{ SYS_truncate, CHANGE, NONE, 0, NONE },
	{ SYS_fchmodat, CHANGE, 0, 1, NONE },
	{ SRT_SYS_FCHMODAT2, CHANGE, 0, 1, NONE },
	{ SYS_fchownat, CHANGE_LINK, 0, 1, NONE },
	{ SYS_setxattr, CHANGE, NONE, 0, NONE },
	{ SYS_lsetxattr, CHANGE_LINK, NONE, 0, NONE },
	{ SYS_removexattr, CHANGE, NONE, 0, NONE },
	{ SYS_lremovexattr, CHANGE_LINK, NONE, 0, NONE },
};

/* "PID/fd/N/" */
#define PREFIX 48

/*
 * struct look - one path of a call
 * @dir: where @name is looked up: /proc for a relative path
 * @begin: what of @name leads to where the caller's path begins
 * @name: within @text
 */
struct look {
	struct guard *guard;
	const struct layout *layout;
	int dir;
	size_t begin;
	char *name;
	char text[PREFIX + PATH_MAX];
};

enum state { FREE, CLOSED, MISSING };

bool watch_knows(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].number == number)
			return true;
	return false;
}

bool watch_closes(const struct seccomp_data *data)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].number == data->nr && layouts[i].flags != NONE)
			return data->args[layouts[i].flags] & O_CLOEXEC;
	return false;
}

static uint64_t argument(const struct look *look, int index)
{
	return look->guard->notify.request->data.args[index];
}

/*
 * The name by which we reach what the caller names.
 * Return: 1, 0 where there is none, or -EPERM.
 */
static int copy_name(struct look *look)
{
	const struct layout *layout = look->layout;
	int dir = layout->dir == NONE ? AT_FDCWD
				      : (int)argument(look, layout->dir);
	int pid = (int)look->guard->view.thread;
	char prefix[PREFIX], *path = look->text + PREFIX;
	ssize_t size = notify_read_path((pid_t)pid,
					argument(look, layout->path), path);

	if (size <= 0)
		return size == -EPERM ? -EPERM : 0;
	look->dir = AT_FDCWD;
	look->begin = 0;
	look->name = path;
	if (path[0] == '/')
		return 1;
	look->dir = look->guard->notify.proc;
	if (dir == AT_FDCWD)
		snprintf(prefix, sizeof(prefix), "%d/cwd/", pid);
	else
		snprintf(prefix, sizeof(prefix), "%d/fd/%d/", pid, dir);
	look->begin = strlen(prefix);
	look->name = memcpy(path - look->begin, prefix, look->begin);
	return 1;
}

bool watch_is_ours(const char *path)
{
	return !strncmp(path, "/proc/", 6) || !strncmp(path, "/dev/", 5);
}

static enum state try(const struct look *look, const char *name, int mode,
		      bool follow)
{
	struct statfs fs;
	char there[PATH_MAX + 64];

	if (!syscall(SYS_faccessat2, look->dir, name, mode,
		     AT_EACCESS | (follow ? 0 : AT_SYMLINK_NOFOLLOW)))
		return FREE;
	if (errno == EROFS)
		return CLOSED;
	if (errno != EACCES)
		return errno == ENOENT ? MISSING : FREE;
	/* Plain permissions, unless a cover or a read-only mount is there. */
	snprintf(there, sizeof(there), "%s%s", look->begin ? "/proc/" : "",
		 name);
	return statfs(there, &fs) || (fs.f_flags & SRT_ST_RDONLY) ? CLOSED
								  : FREE;
}

/* How much of @look->name is the folder that holds the name. */
static size_t folder_size(const struct look *look)
{
	const char *begin = look->name + look->begin;
	const char *end = begin + strlen(begin);

	while (end > begin && end[-1] == '/')
		end--;
	while (end > begin && end[-1] != '/')
		end--;
	if (end > begin + !look->begin)
		end--;
	return (size_t)(end - look->name);
}

static enum state try_folder(const struct look *look)
{
	struct watch_folders *folders = &look->guard->watch.folders;
	size_t size = folder_size(look);
	char name[sizeof(look->text)];
	enum state state;

	if (!look->begin && watch_folders_know(folders, look->name, size))
		return FREE;
	memcpy(name, look->name, size);
	name[size] = '\0';
	state = try(look, name, W_OK, true);
	if (!look->begin && state == FREE)
		watch_folders_keep(folders, name, size);
	return state;
}

static bool is_there(const struct look *look, bool *mounted)
{
	struct statx st = { 0 };

	if (statx(look->dir, look->name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_TYPE, &st))
		return false;
	*mounted = st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return true;
}

static bool makes(const struct look *look, enum watch_action *action)
{
	bool mounted;

	*action = WATCH_CREATE;
	return try_folder(look) == CLOSED && !is_there(look, &mounted);
}

static bool removes(const struct look *look, enum watch_action *action)
{
	bool mounted;

	*action = WATCH_DELETE;
	if (!is_there(look, &mounted))
		return false;
	return mounted || try_folder(look) == CLOSED;
}

/* A new name, or one in another's place. */
static bool places(const struct look *look, enum watch_action *action)
{
	return removes(look, action) || makes(look, action);
}

static bool changes(const struct look *look, enum watch_action *action,
		    bool follow)
{
	*action = WATCH_CHANGE;
	return try(look, look->name, W_OK, follow) == CLOSED;
}

static int open_flags(const struct look *look)
{
	return look->layout->flags == NONE
		       ? O_CREAT | O_WRONLY | O_TRUNC
		       : (int)argument(look, look->layout->flags);
}

static bool opens(const struct look *look, enum watch_action *action)
{
	bool reads = look->guard->watch.table->reads;
	int flags = open_flags(look);
	bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
	enum state state;

	if (flags & O_PATH)
		return false;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return changes(look, action, true);
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return makes(look, action);
	*action = writes ? WATCH_WRITE : WATCH_READ;
	state = try(look, look->name, writes ? W_OK : R_OK,
		    !(flags & O_NOFOLLOW));
	if (state == MISSING && (flags & O_CREAT))
		return makes(look, action);
	return state == CLOSED && (writes || reads);
}

static bool is_suspect(const struct look *look, enum watch_action *action)
{
	switch (look->layout->what) {
	case OPEN:
		return opens(look, action);
	case MAKE:
	case LINK:
		return makes(look, action);
	case REMOVE:
	case MOVE:
		return removes(look, action);
	case PLACE:
		return places(look, action);
	default:
		return changes(look, action, look->layout->what == CHANGE);
	}
}

static bool does_open(const struct look *look, enum watch_action *action,
		      bool *mounted)
{
	int flags = open_flags(look);

	if (flags & O_PATH)
		return false;
	if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC))
		*action = WATCH_WRITE;
	else
		*action = WATCH_READ;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		*action = WATCH_CHANGE;
	else if ((flags & O_CREAT) && !is_there(look, mounted))
		*action = WATCH_CREATE;
	return *action != WATCH_READ || look->guard->watch.table->reads;
}

/* For learning: what it does, allowed or not. */
static bool does(const struct look *look, enum watch_action *action)
{
	bool mounted;

	switch (look->layout->what) {
	case OPEN:
		return does_open(look, action, &mounted);
	case MAKE:
	case LINK:
		*action = WATCH_CREATE;
		return !is_there(look, &mounted);
	case REMOVE:
	case MOVE:
		*action = WATCH_DELETE;
		return is_there(look, &mounted);
	case PLACE:
		*action =
			is_there(look, &mounted) ? WATCH_DELETE : WATCH_CREATE;
		return true;
	default:
		*action = WATCH_CHANGE;
		return true;
	}
}

/* The absolute path that the caller named. */
static bool spell(const struct look *look, char *out, size_t size)
{
	char begin[48];
	ssize_t length;

	if (!look->begin)
		return (size_t)snprintf(out, size, "%s", look->name) < size;
	memcpy(begin, look->name, look->begin);
	begin[look->begin - 1] = '\0';
	length = readlinkat(look->dir, begin, out, size - 1);
	if (length <= 0 || out[0] != '/')
		return false;
	return (size_t)snprintf(out + length, size - (size_t)length, "/%s",
				look->name + look->begin) <
	       size - (size_t)length;
}

static bool leads_elsewhere(enum what what)
{
	return what == LINK || what == MOVE || what == PLACE;
}

int watch_find(struct guard *guard, size_t *from, struct watch_message *message)
{
	int number = guard->notify.request->data.nr;
	enum watch_action action;
	bool (*says)(const struct look *look, enum watch_action *action) =
		guard->watch.table->learns ? does : is_suspect;
	struct look look;

	look.guard = guard;
	while (*from < ARRAY_SIZE(layouts)) {
		int error;

		look.layout = &layouts[*from];
		(*from)++;
		if (look.layout->number != number)
			continue;
		if (leads_elsewhere(look.layout->what))
			watch_folders_forget(&guard->watch.folders);
		error = copy_name(&look);
		if (error < 0)
			return error;
		if (!error || watch_is_ours(look.name) || !says(&look, &action))
			continue;
		message->action = action;
		message->args[0] = look.layout->what == OPEN
					   ? (uint64_t)open_flags(&look)
					   : 0;
		/* A folder that does not show itself makes any path suspect. */
		return spell(&look, message->text, sizeof(message->text))
			       ? 1
			       : -EPERM;
	}
	return 0;
}
