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
	return sys_missing("inotify") ? -1
				      : inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
}

int moved_names_watch(int fd, const struct plan *plan,
		      const unsigned char *state)
{
	const char *previous = NULL;
	int error = 0;

	for (size_t i = 0; i < plan->step_count; i++) {
		const char *target = plan->steps[i].target;
		int result = watch_way(fd, target, previous);

		if (result != -ENOSPC && (state[i] & MOVED_NAMES_MISSING) &&
		    moved_names_await(fd, target))
			result = -ENOSPC;
		if (result == -ENOSPC)
			return result;
		if (result)
			error = result;
		previous = target;
	}
	return error;
}

int moved_names_await(int fd, const char *path)
{
	owned_ptr char *folder = strdup(path);

	/* All of them: who makes a folder again has made another one. */
	while (folder && cut(folder))
		if (inotify_add_watch(fd, folder,
				      IN_CREATE | IN_MOVED_TO | IN_ONLYDIR |
					      IN_MASK_ADD) < 0 &&
		    errno == ENOSPC)
			return -ENOSPC;
	return 0;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void moved_names_learn(struct moved_words *words, const struct plan *plan)
{
	size_t size = 1, most = 0, kept = 0;
	char *at;

	for (size_t i = 0; i < plan->step_count; i++)
		size += strlen(plan->steps[i].target) + 1;
	at = words->text = malloc(size);
	if (!at)
		return;
	*at = '\0';
	for (size_t i = 0; i < plan->step_count; i++)
		at = stpcpy(stpcpy(at, plan->steps[i].target), "/");
	for (at = words->text; *at; at++)
		most += *at == '/';
	words->list = calloc(most + 1, sizeof(*words->list));
	if (!words->list)
		return;
	for (char *rest, *word = strtok_r(words->text, "/", &rest); word;
	     word = strtok_r(NULL, "/", &rest))
		words->list[words->count++] = word;
	qsort(words->list, words->count, sizeof(*words->list), by_text);
	for (size_t i = 0; i < words->count; i++)
		if (!kept || strcmp(words->list[kept - 1], words->list[i]) != 0)
			words->list[kept++] = words->list[i];
	words->count = kept;
}

/* Is it a component of a path of the plan? */
static bool concerns(const struct moved_words *words, const char *name)
{
	return !words->list || bsearch(&name, words->list, words->count,
				       sizeof(*words->list), by_text);
}

bool moved_names_read(int fd, const struct moved_words *words)
{
	char events[8192]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t size = read(fd, events, sizeof(events));

	for (char *at = events; size > 0 && at < events + size;) {
		const struct inotify_event *event = (void *)at;

		if (event->mask & IN_Q_OVERFLOW ||
		    (event->len && concerns(words, event->name)))
			return true;
		at += sizeof(*event) + event->len;
	}
	return false;
}
