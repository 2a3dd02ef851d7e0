/* SPDX-License-Identifier: Apache-2.0 */
/* Renames, which may bring a whole tree to where its names are denied. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guard_calls.h"
#include "core/guard_move.h"

static struct guard_moved moved(const struct guard_place *from)
{
	return (struct guard_moved){ .dir = from->dir,
				     .name = from->name,
				     .real = from->real };
}

/* Is there anything beneath a folder that has to stay where it is? */
static bool brings_away(const struct area *area, const struct guard_place *from)
{
	struct guard_moved what = moved(from);

	return guard_move_brings(&area->held, &what, from->real);
}

/* The kernel refuses for that before it looks at anything else. */
static bool is_closed(const struct guard_place *place)
{
	struct stat st;

	return fstatat(place->dir, place->name, &st, AT_SYMLINK_NOFOLLOW) &&
	       errno == EACCES;
}

/* Judges what @from will be at the real path @to. */
static int judge(const struct guard_rules *rules,
		 const struct guard_place *from, const char *to)
{
	struct guard_moved what = moved(from);

	return guard_move(rules, &what, to, NULL);
}

/* With an area no mount keeps a name where it is; -EBUSY is as theirs. */
static int keep(const struct area *area, const struct guard_place *from,
		const struct guard_place *to, unsigned int flags)
{
	if (area_holds(area, from->real) || area_holds(area, to->real) ||
	    brings_away(area, from) ||
	    ((flags & RENAME_EXCHANGE) && brings_away(area, to)))
		return -EBUSY;
	return 0;
}

/*
 * The command's own layer would not let it be moved in or out either, but say
 * so as if it might not be copied. What is denied in the area is not apart.
 */
static int leave_apart(struct guard *guard, const struct guard_place *from,
		       const struct guard_place *to)
{
	bool leaves = guard_may(guard, from);
	const struct guard_place *other = leaves ? to : from;

	guard_tell(guard, leaves ? WATCH_CREATE : WATCH_DELETE, other->real);
	return (leaves || guard_may(guard, to)) &&
			       !area_denies(guard->area, other->real) &&
			       !guard_place_special(from) &&
			       !guard_place_special(to)
		       ? -EXDEV
		       : guard_leave(guard);
}

int guard_rename(struct guard *guard, const struct guard_place *from,
		 const struct guard_place *to, unsigned int flags)
{
	const struct guard_rules *rules = &guard->rules;
	const struct guard_place *denied = to;
	int error = 0;

	if (!guard_may(guard, from) || !guard_may(guard, to))
		return leave_apart(guard, from, to);
	if (is_closed(from) || is_closed(to))
		return -EACCES;
	if (guard->area)
		error = keep(guard->area, from, to, flags);
	if (error) {
		guard_tell(guard, WATCH_DELETE, from->real);
		return error;
	}
	/* "." and ".." can't be renamed: the kernel says how. */
	if (!guard_place_special(from) && !guard_place_special(to)) {
		error = judge(rules, from, to->real);
		if (!error && (flags & (RENAME_EXCHANGE | RENAME_WHITEOUT)))
			denied = from;
		if (!error && (flags & RENAME_EXCHANGE))
			error = judge(rules, to, from->real);
		/* It leaves a node behind. */
		if (!error && (flags & RENAME_WHITEOUT) &&
		    guard_denies(rules, from->real, false))
			error = -EROFS;
	}
	if (error == -EROFS && (flags & RENAME_NOREPLACE) &&
	    !guard_place_look(to))
		error = -EEXIST;
	if (error == -EROFS)
		watch_tell(guard, WATCH_NAME, WATCH_CREATE, denied->real);
	if (error)
		return error;
	return syscall(SYS_renameat2, from->dir, from->name, to->dir, to->name,
		       flags)
		       ? -errno
		       : 0;
}
