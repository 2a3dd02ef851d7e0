/* SPDX-License-Identifier: Apache-2.0 */
/* Hears of names on the way to a mount that are moved away, or made again. */
#include "core/moved_names.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>

#include "core/system.h"
#include "core/util.h"

/* The folder that holds @path, in place. NULL: there is none. */
static char *cut(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash || !path[1])
		return NULL;
	slash[slash == path] = '\0';
	return path;
}

/* 0; -EACCES where a folder can't be read; -ENOSPC without room for more. */
static int watch_way(int fd, const char *target, const char *previous)
{
	owned_ptr char *path = strdup(target);
	size_t size = path && cut(path) ? strlen(path) : 0;
	int error = 0;

	if (!size)
		return 0;
	/* A neighbour of the one before: its way is watched. */
	if (previous && !strncmp(path, previous, size) &&
	    previous[size] == '/' && !strchr(previous + size + 1, '/'))
		return 0;
	do {
		if (inotify_add_watch(fd, path,
				      IN_MOVED_FROM | IN_ONLYDIR |
					      IN_MASK_ADD) >= 0)
			continue;
		if (errno == ENOSPC)
			return -ENOSPC;
		if (errno == EACCES)
			error = -EACCES;
	} while (cut(path));
	return error;
}

int moved_names_open(void)
{
	int fd = sys_missing("inotify")
			 ? -1
			 : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	return fd < 0 ? -1 : fd;
}

int moved_names_watch(int fd, const struct plan *plan,
		      const unsigned char *state)
{
	const char *previous = NULL;
	int error = 0;

	for (size_t i = 0; i < plan->step_count; i++) {
		const char *target = plan->steps[i].target;
		int result = watch_way(fd, target, previous);

		if (result == -ENOSPC)
			return result;
		if (result)
			error = result;
		if (state[i] & MOVED_NAMES_MISSING)
			moved_names_await(fd, target);
		previous = target;
	}
	return error;
}

void moved_names_await(int fd, const char *path)
{
	owned_ptr char *folder = strdup(path);

	while (fd >= 0 && folder && cut(folder))
		if (inotify_add_watch(fd, folder,
				      IN_CREATE | IN_MOVED_TO | IN_ONLYDIR |
					      IN_MASK_ADD) >= 0)
			return;
}

/* Is @name a component of a path of the plan? */
static bool concerns(const struct plan *plan, const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < plan->step_count; i++) {
		const char *at = plan->steps[i].target;

		for (; (at = strstr(at, name)); at++)
			if (at[-1] == '/' && (!at[size] || at[size] == '/'))
				return true;
	}
	return false;
}

bool moved_names_read(int fd, const struct plan *plan)
{
	char events[8192]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	bool changed = false;
	ssize_t size;

	while ((size = read(fd, events, sizeof(events))) > 0) {
		for (char *at = events; at < events + size;) {
			const struct inotify_event *event = (void *)at;

			changed |= event->mask & IN_Q_OVERFLOW ||
				   (event->len && concerns(plan, event->name));
			at += sizeof(*event) + event->len;
		}
	}
	return changed;
}
