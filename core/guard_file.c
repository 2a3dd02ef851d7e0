/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the file that a place leads to, as O_PATH. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "core/guard_path.h"
#include "core/util.h"

int guard_place_jump(const struct guard_view *view,
		     const struct guard_place *place, int flags)
{
	bool own = guard_place_own(view, place);
	int fd;

	/* Looking into itself the resolver is always allowed. */
	if (guard_place_resolvers(view, place))
		return -EACCES;
	if (own)
		view->powers(view->data, true);
	fd = openat(place->dir, place->name, O_PATH | O_CLOEXEC | flags);
	fd = fd < 0 ? -errno : fd;
	if (own)
		view->powers(view->data, false);
	return fd;
}

int guard_place_open(const struct guard_view *view, int base,
		     struct guard_place *place, bool follow)
{
	int error = guard_place_find(view, base, place);
	struct stat st;

	for (int links = 0; !error; links++) {
		owned_fd int fd = openat(place->dir, place->name,
					 O_PATH | O_NOFOLLOW | O_CLOEXEC);

		if (fd < 0 || fstat(fd, &st))
			return -errno;
		if (!follow || !S_ISLNK(st.st_mode))
			return steal_fd(&fd);
		error = links < GUARD_MAX_LINKS
				? guard_place_follow(view, place, &st)
				: -ELOOP;
	}
	return error < 0 ? error : guard_place_jump(view, place, 0);
}
