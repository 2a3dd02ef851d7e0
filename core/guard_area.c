/* SPDX-License-Identifier: Apache-2.0 */
/* Where no mount holds what may not be touched: the area, and what it adds. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/guard_calls.h"
#include "core/util.h"

int guard_leave(struct guard *guard)
{
	notify_continue(&guard->notify);
	return GUARD_ANSWERED;
}

bool guard_may(const struct guard *guard, const struct guard_place *place)
{
	return !guard->area || (!guard_place_special(place) &&
				area_has(guard->area, place->real));
}

bool guard_may_file(const struct guard *guard, int fd)
{
	char name[32], real[PATH_MAX];
	struct stat st;
	ssize_t size;

	if (!guard->area)
		return true;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	size = readlink(name, real, sizeof(real));
	if (size <= 0 || size == sizeof(real) || fstat(fd, &st))
		return false;
	real[size] = '\0';
	return area_has(guard->area, real);
}

int guard_remove(struct guard *guard, const struct guard_place *place,
		 int flags)
{
	if (!guard_may(guard, place) || area_holds(guard->area, place->real))
		return guard_leave(guard);
	return unlinkat(place->dir, place->name, flags) ? -errno : 0;
}

int guard_truncate(struct guard *guard, int base, struct guard_place *place,
		   off_t size)
{
	owned_fd int path = guard_place_open(&guard->view, base, place, true);
	owned_fd int fd = -1;
	struct stat st;
	char name[32];

	if (path < 0)
		return path;
	if (fstat(path, &st) || !S_ISREG(st.st_mode) || !st.st_nlink ||
	    !guard_may_file(guard, path))
		return guard_leave(guard);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
	fd = open(name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 || ftruncate(fd, size) ? -errno : 0;
}
