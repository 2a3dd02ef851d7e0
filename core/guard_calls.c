/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the notified calls that make a name. */
#include "core/guard_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/util.h"

#define NONE (-1)

/* From REMOVE on only with an area: elsewhere mounts hold it. */
enum what { OPEN, MKDIR, MKNOD, SYMLINK, LINK, RENAME, REMOVE, TRUNCATE };

/*
 * Where each call has its arguments: @dir and @path, of the old name and the
 * new one, then what else there is. Calls with one name have it as the new one.
 */
static const struct layout {
	int number;
	enum what what;
	short dir[2], path[2];
	short flags, mode, device;
} layouts[] = {
#ifdef SYS_open
	{ SYS_open, OPEN, { NONE, NONE }, { NONE, 0 }, 1, 2, NONE },
	{ SYS_creat, OPEN, { NONE, NONE }, { NONE, 0 }, NONE, 1, NONE },
	{ SYS_mkdir, MKDIR, { NONE, NONE }, { NONE, 0 }, NONE, 1, NONE },
	{ SYS_mknod, MKNOD, { NONE, NONE }, { NONE, 0 }, NONE, 1, 2 },
	{ SYS_symlink, SYMLINK, { NONE, NONE }, { 0, 1 }, NONE, NONE, NONE },
	{ SYS_link, LINK, { NONE, NONE }, { 0, 1 }, NONE, NONE, NONE },
	{ SYS_rename, RENAME, { NONE, NONE }, { 0, 1 }, NONE, NONE, NONE },
	{ SYS_unlink, REMOVE, { NONE, NONE }, { NONE, 0 }, NONE, NONE, NONE },
	{ SYS_rmdir, REMOVE, { NONE, NONE }, { NONE, 0 }, NONE, NONE, NONE },
#endif
#ifdef SYS_renameat
	{ SYS_renameat, RENAME, { 0, 2 }, { 1, 3 }, NONE, NONE, NONE },
#endif
	{ SYS_openat, OPEN, { NONE, 0 }, { NONE, 1 }, 2, 3, NONE },
	{ SYS_mkdirat, MKDIR, { NONE, 0 }, { NONE, 1 }, NONE, 2, NONE },
	{ SYS_mknodat, MKNOD, { NONE, 0 }, { NONE, 1 }, NONE, 2, 3 },
	{ SYS_symlinkat, SYMLINK, { NONE, 1 }, { 0, 2 }, NONE, NONE, NONE },
	{ SYS_linkat, LINK, { 0, 2 }, { 1, 3 }, 4, NONE, NONE },
	{ SYS_renameat2, RENAME, { 0, 2 }, { 1, 3 }, 4, NONE, NONE },
	{ SYS_unlinkat, REMOVE, { NONE, 0 }, { NONE, 1 }, 2, NONE, NONE },
	{ SYS_truncate,
	  TRUNCATE,
	  { NONE, NONE },
	  { NONE, 0 },
	  NONE,
	  NONE,
	  NONE },
};

/*
 * struct call - a call with all that it refers to copied
 * @base: owned, where relative names begin
 * @place: the old name, or the text of a link to make; and the new one
 */
struct call {
	const struct layout *layout;
	int flags;
	mode_t mode;
	unsigned int device;
	int base[2];
	struct guard_place place[2];
};

static const struct layout *find_layout(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].number == number)
			return &layouts[i];
	return NULL;
}

/* The filter's own question: with O_PATH the kernel passes over O_CREAT. */
bool guard_serves(const struct guard *guard, const struct seccomp_data *data)
{
	const struct layout *layout = find_layout(data->nr);
	uint64_t flags;

	if (!layout || (layout->what >= REMOVE && !guard->area))
		return false;
	if (layout->what != OPEN || layout->flags == NONE)
		return true;
	flags = data->args[layout->flags];
	if (guard->area)
		return !(flags & O_PATH);
	return (flags & (O_CREAT | O_PATH)) == O_CREAT;
}

static uint64_t argument(const struct guard *guard, int index)
{
	return index == NONE ? 0 : guard->notify.request->data.args[index];
}

static int copy_base(const struct guard *guard, struct call *call, int i)
{
	const struct notify *notify = &guard->notify;
	const struct layout *layout = call->layout;
	int dir = layout->dir[i] == NONE ? AT_FDCWD
					 : (int)argument(guard, layout->dir[i]);
	bool empty = layout->what == LINK && i == 0 &&
		     (call->flags & AT_EMPTY_PATH) && !call->place[0].text[0];

	if (call->place[i].text[0] == '/')
		return 0;
	call->base[i] = dir == AT_FDCWD
				? notify_cwd(notify, guard->view.thread)
				: notify_path_fd(notify, guard->view.thread,
						 dir, empty ? 0 : O_DIRECTORY);
	return call->base[i] < 0 ? call->base[i] : 0;
}

static int copy_name(const struct guard *guard, struct call *call, int i)
{
	int index = call->layout->path[i];
	ssize_t size;

	if (index == NONE)
		return 0;
	size = notify_read_path(guard->view.thread, argument(guard, index),
				call->place[i].text);
	if (size < 0)
		return (int)size;
	if (call->layout->what == SYMLINK && i == 0)
		return size ? 0 : -ENOENT;
	return copy_base(guard, call, i);
}

/* Everything is read here, once. */
static int copy_call(struct guard *guard, void *data,
		     struct notify_caller *caller)
{
	struct call *call = data;
	const struct layout *layout = call->layout;
	int error = notify_status(&guard->notify, guard->view.thread, caller);

	call->flags = (int)argument(guard, layout->flags);
	if (layout->what == OPEN && layout->flags == NONE)
		call->flags = O_CREAT | O_WRONLY | O_TRUNC;
#ifdef SYS_rmdir
	if (layout->number == SYS_rmdir)
		call->flags = AT_REMOVEDIR;
#endif
	call->mode = (mode_t)argument(guard, layout->mode);
	call->device = (unsigned int)argument(guard, layout->device);
	for (int i = 0; i < 2 && !error; i++) {
		if (call->base[i] >= 0)
			close(call->base[i]);
		call->base[i] = -1;
		error = copy_name(guard, call, i);
	}
	return error;
}

int guard_refuse(struct guard *guard, const struct guard_place *place,
		 bool folder)
{
	int error = guard_place_look(place);

	if (!error)
		return -EEXIST;
	if (error == -EACCES)
		return -EACCES;
	/* As filename_create() of the kernel: before what may be written. */
	if (!folder && guard_place_slash(place))
		return -ENOENT;
	watch_tell(guard, WATCH_NAME, WATCH_CREATE, place->real);
	return -EROFS;
}

/* What can't be made, since it is there or since it may not be. */
static int refuse(struct guard *guard, const struct call *call, bool link)
{
	const struct guard_place *place = &call->place[1];

	if (guard_place_special(place) ||
	    !guard_denies(&guard->rules, place->real, link))
		return 0;
	return guard_refuse(guard, place, call->layout->what == MKDIR);
}

/*
 * The file that is to get another name, by a descriptor: a link's text is not
 * read again, and a magic link is the caller's.
 */
static int link_source(struct guard *guard, struct call *call)
{
	struct guard_place *old = &call->place[0];

	if ((call->flags & AT_EMPTY_PATH) && !old->text[0])
		return fcntl(call->base[0], F_DUPFD_CLOEXEC, 0);
	return guard_place_open(&guard->view, steal_fd(&call->base[0]), old,
				call->flags & AT_SYMLINK_FOLLOW);
}

static int find_name(struct guard *guard, struct call *call, int i)
{
	return guard_place_find(&guard->view, steal_fd(&call->base[i]),
				&call->place[i]);
}

static int do_link(struct guard *guard, struct call *call)
{
	const struct guard_place *new = &call->place[1];
	owned_fd int fd = -1;
	struct stat st;
	char source[32];
	int error;

	fd = link_source(guard, call);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st))
		return -errno;
	error = find_name(guard, call, 1);
	if (error)
		return error;
	if (!guard_may(guard, new))
		return guard_pass(guard, WATCH_CREATE, new->real);
	if (!guard_may_file(guard, fd))
		return guard_keep_out(guard, fd, new);
	error = refuse(guard, call, S_ISLNK(st.st_mode));
	if (error)
		return error;
	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, source, new->dir, new->name, AT_SYMLINK_FOLLOW)
		       ? -errno
		       : 0;
}

static int make(struct guard *guard, struct call *call)
{
	const struct guard_place *new = &call->place[1];
	int error;

	if (!guard_may(guard, new))
		return guard_pass(guard, WATCH_CREATE, new->real);
	error = refuse(guard, call, call->layout->what == SYMLINK);
	if (error)
		return error;
	switch (call->layout->what) {
	case MKDIR:
		error = mkdirat(new->dir, new->name, call->mode);
		break;
	case MKNOD:
		/* glibc packs the device anew. */
		error = (int)syscall(SYS_mknodat, new->dir, new->name,
				     call->mode, call->device);
		break;
	default:
		error = symlinkat(call->place[0].text, new->dir, new->name);
		break;
	}
	return error ? -errno : 0;
}

/* What the kernel refuses before it looks at any name. */
static int check_flags(const struct call *call)
{
	unsigned int flags = (unsigned int)call->flags;
	bool wrong = false;

	switch (call->layout->what) {
	case OPEN:
		wrong = (flags & O_CREAT) && (flags & (O_DIRECTORY | O_PATH));
		break;
	case LINK:
		wrong = flags &
			~(unsigned int)(AT_EMPTY_PATH | AT_SYMLINK_FOLLOW);
		break;
	case RENAME:
		wrong = flags & ~(unsigned int)(RENAME_NOREPLACE |
						RENAME_EXCHANGE |
						RENAME_WHITEOUT) ||
			((flags & RENAME_EXCHANGE) &&
			 (flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)));
		break;
	case MKNOD:
		if (S_ISDIR(call->mode))
			return -EPERM;
		wrong = (call->mode & S_IFMT) && !S_ISREG(call->mode) &&
			!S_ISCHR(call->mode) && !S_ISBLK(call->mode) &&
			!S_ISFIFO(call->mode) && !S_ISSOCK(call->mode);
		break;
	default:
		break;
	}
	return wrong ? -EINVAL : 0;
}

static bool is_unnamed(const struct call *call)
{
	return call->layout->what == OPEN &&
	       (call->flags & O_TMPFILE) == O_TMPFILE;
}

static int perform(struct guard *guard, struct call *call)
{
	struct guard_place *old = &call->place[0], *new = &call->place[1];
	int error = check_flags(call);

	if (error)
		return error;
	if (guard->area && is_unnamed(call))
		return guard_unnamed(guard, steal_fd(&call->base[1]), new,
				     call->flags, call->mode);
	if (call->layout->what == TRUNCATE)
		return guard_truncate(guard, steal_fd(&call->base[1]), new,
				      (off_t)argument(guard, 1));
	if (call->layout->what == LINK)
		return do_link(guard, call);
	if (call->layout->what == RENAME)
		error = find_name(guard, call, 0);
	if (!error)
		error = find_name(guard, call, 1);
	if (error)
		return error;
	switch (call->layout->what) {
	case OPEN:
		return guard_open(guard, new, call->flags, call->mode);
	case RENAME:
		return guard_rename(guard, old, new, (unsigned int)call->flags);
	case REMOVE:
		return guard_remove(guard, new, call->flags);
	default:
		return make(guard, call);
	}
}

void guard_serve(struct guard *guard)
{
	const struct seccomp_notif *request = guard->notify.request;
	struct notify_caller caller = { 0 };
	struct call call;
	int error = -ENOSYS;

	call.layout = find_layout(request->data.nr);
	for (int i = 0; i < 2; i++) {
		call.base[i] = call.place[i].dir = -1;
		call.place[i].text[0] = '\0';
	}
	if (call.layout)
		error = guard_look(guard, copy_call, &call, &caller);
	/* What can't be looked into is as confined as all the rest. */
	if (error && guard->area)
		error = guard_leave(guard);
	error = guard_take_on(guard, &caller, error);
	if (!error)
		error = perform(guard, &call);
	if (error != GUARD_ANSWERED)
		notify_answer(&guard->notify, error);
	for (int i = 0; i < 2; i++) {
		if (call.base[i] >= 0)
			close(call.base[i]);
		if (call.place[i].dir >= 0)
			close(call.place[i].dir);
	}
}
