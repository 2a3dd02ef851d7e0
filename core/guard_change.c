/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out the calls that change what is known of a file, with an area. */
#include "core/guard_change.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "core/guard_calls.h"
#include "core/util.h"

#define NONE (-1)
/* fchmodat2(2): the same number everywhere. */
#define SRT_SYS_FCHMODAT2 452
#define NANOSECONDS 1000

enum what { MODE, OWNER, SECONDS, MICROS, NANOS, SET, TAKE };

/*
 * Where a call has its arguments: without @path it is on the descriptor @dir;
 * @rest is the first of those that say what to change.
 */
static const struct layout {
	int number;
	enum what what;
	short dir, path, flags, rest;
	bool link; /* the link itself */
} layouts[] = {
#ifdef SYS_chmod
	{ SYS_chmod, MODE, NONE, 0, NONE, 1, false },
	{ SYS_chown, OWNER, NONE, 0, NONE, 1, false },
	{ SYS_lchown, OWNER, NONE, 0, NONE, 1, true },
	{ SYS_utime, SECONDS, NONE, 0, NONE, 1, false },
	{ SYS_utimes, MICROS, NONE, 0, NONE, 1, false },
	{ SYS_futimesat, MICROS, 0, 1, NONE, 2, false },
#endif
	{ SYS_fchmod, MODE, 0, NONE, NONE, 1, false },
	{ SYS_fchmodat, MODE, 0, 1, NONE, 2, false },
	{ SRT_SYS_FCHMODAT2, MODE, 0, 1, 3, 2, false },
	{ SYS_fchown, OWNER, 0, NONE, NONE, 1, false },
	{ SYS_fchownat, OWNER, 0, 1, 4, 2, false },
	{ SYS_utimensat, NANOS, 0, 1, 3, 2, false },
	{ SYS_setxattr, SET, NONE, 0, NONE, 1, false },
	{ SYS_lsetxattr, SET, NONE, 0, NONE, 1, true },
	{ SYS_fsetxattr, SET, 0, NONE, NONE, 1, false },
	{ SYS_removexattr, TAKE, NONE, 0, NONE, 1, false },
	{ SYS_lremovexattr, TAKE, NONE, 0, NONE, 1, true },
	{ SYS_fremovexattr, TAKE, 0, NONE, NONE, 1, false },
};

/*
 * struct change - a call with all that it refers to copied
 * @base: owned, where a relative path begins, or the file
 * @itself: @base is the file
 * @now: no times were given
 * @name: of an attribute
 * @value: owned
 */
struct change {
	const struct layout *layout;
	unsigned int flags;
	int base;
	bool itself;
	bool now;
	struct timespec times[2];
	char name[XATTR_NAME_MAX + 2];
	void *value;
	size_t size;
	struct guard_place place;
};

static const struct layout *find_layout(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].number == number)
			return &layouts[i];
	return NULL;
}

bool guard_changes(int number)
{
	return find_layout(number) != NULL;
}

static uint64_t argument(const struct guard *guard, int index)
{
	return guard->notify.request->data.args[index];
}

static uint64_t rest(const struct guard *guard, const struct change *change,
		     int index)
{
	return argument(guard, change->layout->rest + index);
}

static void release(struct change *change)
{
	if (change->base >= 0)
		close(change->base);
	if (change->place.dir >= 0)
		close(change->place.dir);
	free(change->value);
	change->base = change->place.dir = -1;
	change->value = NULL;
}

static int copy_all(const struct guard *guard, uint64_t address, void *out,
		    size_t size)
{
	ssize_t got = notify_read(guard->view.thread, address, out, size);

	return got < 0 ? (int)got : (size_t)got < size ? -EFAULT : 0;
}

static bool is_fd_call(const struct guard *guard, const struct layout *layout)
{
	if (layout->path == NONE)
		return true;
	/* As futimens(3) calls them. */
	return (layout->what == NANOS || layout->what == MICROS) &&
	       layout->dir != NONE && !argument(guard, layout->path) &&
	       (int)argument(guard, layout->dir) != AT_FDCWD;
}

/* Where the path begins, or the file where there is none. */
static int copy_base(const struct guard *guard, struct change *change)
{
	const struct layout *layout = change->layout;
	int dir = layout->dir == NONE ? AT_FDCWD
				      : (int)argument(guard, layout->dir);

	if (change->place.text[0] == '/')
		return 0;
	change->base =
		dir == AT_FDCWD && !is_fd_call(guard, layout)
			? notify_cwd(&guard->notify, guard->view.thread)
			: notify_path_fd(&guard->notify, guard->view.thread,
					 dir, change->itself ? 0 : O_DIRECTORY);
	return change->base < 0 ? change->base : 0;
}

static int copy_file(const struct guard *guard, struct change *change)
{
	const struct layout *layout = change->layout;
	ssize_t size = 0;

	change->place.text[0] = '\0';
	change->itself = is_fd_call(guard, layout);
	if (!change->itself) {
		size = notify_read_path(guard->view.thread,
					argument(guard, layout->path),
					change->place.text);
		change->itself = !size && (change->flags & AT_EMPTY_PATH);
	}
	if (size < 0)
		return (int)size;
	if (!size && !change->itself)
		return -ENOENT;
	return copy_base(guard, change);
}

static int copy_seconds(const struct guard *guard, uint64_t address,
			struct change *change)
{
	struct utimbuf times;
	int error = copy_all(guard, address, &times, sizeof(times));

	change->times[0] = (struct timespec){ .tv_sec = times.actime };
	change->times[1] = (struct timespec){ .tv_sec = times.modtime };
	return error;
}

static int copy_micros(const struct guard *guard, uint64_t address,
		       struct change *change)
{
	struct timeval times[2] = { 0 };
	int error = copy_all(guard, address, times, sizeof(times));

	for (int i = 0; i < 2 && !error; i++) {
		if (times[i].tv_usec < 0 || times[i].tv_usec >= 1000000)
			return -EINVAL;
		change->times[i].tv_sec = times[i].tv_sec;
		change->times[i].tv_nsec = times[i].tv_usec * NANOSECONDS;
	}
	return error;
}

static int copy_times(const struct guard *guard, struct change *change)
{
	uint64_t address = rest(guard, change, 0);

	change->now = !address;
	if (change->now)
		return 0;
	if (change->layout->what == SECONDS)
		return copy_seconds(guard, address, change);
	if (change->layout->what == MICROS)
		return copy_micros(guard, address, change);
	return copy_all(guard, address, change->times, sizeof(change->times));
}

/* The kernel's ERANGE for a name that is empty or too long. */
static int copy_attribute(const struct guard *guard, struct change *change)
{
	ssize_t got = notify_read(guard->view.thread, rest(guard, change, 0),
				  change->name, sizeof(change->name) - 1);

	if (got < 0)
		return (int)got;
	change->name[got] = '\0';
	if ((size_t)got < sizeof(change->name) - 1 &&
	    strlen(change->name) == (size_t)got)
		return -EFAULT;
	if (!change->name[0] || strlen(change->name) > XATTR_NAME_MAX)
		return -ERANGE;
	if (change->layout->what == TAKE)
		return 0;
	change->size = rest(guard, change, 2);
	if (change->size > XATTR_SIZE_MAX)
		return -E2BIG;
	change->value = malloc(change->size + 1);
	if (!change->value)
		return -ENOMEM;
	return change->size ? copy_all(guard, rest(guard, change, 1),
				       change->value, change->size)
			    : 0;
}

static int copy_rest(const struct guard *guard, struct change *change)
{
	switch (change->layout->what) {
	case MODE:
	case OWNER:
		return 0;
	case SET:
	case TAKE:
		return copy_attribute(guard, change);
	default:
		return copy_times(guard, change);
	}
}

/* Everything is read here, once. */
static int copy_call(struct guard *guard, void *data,
		     struct notify_caller *caller)
{
	struct change *change = data;
	const struct layout *layout = change->layout;
	int error = notify_status(&guard->notify, guard->view.thread, caller);

	release(change);
	change->flags = layout->flags == NONE
				? 0
				: (unsigned int)argument(guard, layout->flags);
	if (change->flags &
	    ~(unsigned int)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!error)
		error = copy_rest(guard, change);
	return error ? error : copy_file(guard, change);
}

/* By the descriptor: whoever is renamed meanwhile, it is that file. */
static int apply(const struct guard *guard, const struct change *change, int fd)
{
	char file[32];
	int result = -1;

	snprintf(file, sizeof(file), "/proc/self/fd/%d", fd);
	switch (change->layout->what) {
	case MODE:
		result = chmod(file, (mode_t)rest(guard, change, 0) & 07777);
		break;
	case OWNER:
		result = chown(file, (uid_t)rest(guard, change, 0),
			       (gid_t)rest(guard, change, 1));
		break;
	case SET:
		result = setxattr(file, change->name, change->value,
				  change->size, (int)rest(guard, change, 3));
		break;
	case TAKE:
		result = removexattr(file, change->name);
		break;
	default:
		result = utimensat(AT_FDCWD, file,
				   change->now ? NULL : change->times, 0);
		break;
	}
	return result ? -errno : 0;
}

static int perform(struct guard *guard, struct change *change)
{
	bool follow =
		!change->layout->link && !(change->flags & AT_SYMLINK_NOFOLLOW);
	owned_fd int fd = change->itself
				  ? steal_fd(&change->base)
				  : guard_place_open(&guard->view,
						     steal_fd(&change->base),
						     &change->place, follow);
	char real[PATH_MAX];

	if (fd < 0)
		return fd;
	if (guard_may_change(guard, fd))
		return apply(guard, change, fd);
	if (guard_real_path(fd, real) >= 0)
		guard_tell(guard, WATCH_CHANGE, real);
	return -EACCES;
}

int guard_change(struct guard *guard)
{
	struct notify_caller caller = { 0 };
	struct change change;
	int error;

	change.layout = find_layout(guard->notify.request->data.nr);
	change.base = change.place.dir = -1;
	change.value = NULL;
	error = guard_look(guard, copy_call, &change, &caller);
	error = guard_take_on(guard, &caller, error);
	if (!error)
		error = perform(guard, &change);
	release(&change);
	return error;
}
