/* SPDX-License-Identifier: Apache-2.0 */
/* PID 1 stops everything inside for a while. */
#include "core/freeze.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util.h"

enum { LOOKS = 50, LOOK_MS = 2 };

struct process {
	pid_t pid, parent;
	bool is_parent;
	char state;
	unsigned long long started;
};

struct list {
	struct process *items;
	size_t count, room;
};

/* /proc/PID/stat; the name in it may hold anything, so its end is sought. */
static bool read_stat(pid_t pid, struct process *out)
{
	char path[64], text[1024], *end;
	owned_fd int fd = -1;
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return false;
	text[size] = '\0';
	end = strrchr(text, ')');
	out->pid = pid;
	out->is_parent = false;
	/* Fields 3, 4 and 22 of proc_pid_stat(5). */
	return end && sscanf(end + 1,
			     " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
			     "%*s %*s %*s %*s %*s %*s %*s %llu",
			     &out->state, &out->parent, &out->started) == 3;
}

static bool add(struct list *list, const struct process *process)
{
	if (!list_room(&list->items, list->count, &list->room,
		       sizeof(*process)))
		return false;
	list->items[list->count++] = *process;
	return true;
}

/* All but ourselves; false where they can't be listed. */
static bool list_processes(struct list *list)
{
	DIR *folder = opendir("/proc");
	struct process process;
	struct dirent *entry;
	bool complete = folder != NULL;

	while (complete && (entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 1 && read_stat(pid, &process))
			complete = add(list, &process);
	}
	if (folder)
		closedir(folder);
	return complete;
}

static bool is_stopped(const struct process *process)
{
	return process->state == 'T' || process->state == 't';
}

static bool may_run(const struct process *process)
{
	return process->state == 'R' || process->state == 'S';
}

/* Where there is no memory for them, they go on with the others. */
static void note_asleep(struct freeze *freeze, const struct list *list)
{
	freeze->asleep = calloc(list->count + 1, sizeof(*freeze->asleep));
	freeze->count = 0;
	for (size_t i = 0; freeze->asleep && i < list->count; i++)
		if (is_stopped(&list->items[i]))
			freeze->asleep[freeze->count++] = list->items[i].pid;
}

/* A child is never older than its parent, whoever that is by now. */
static int younger_first(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	if (x->started != y->started)
		return x->started < y->started ? 1 : -1;
	return x->pid < y->pid ? 1 : -1;
}

static void sort_by_age(struct list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items),
		      younger_first);
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void mark_parents(struct list *list)
{
	if (!list->count)
		return;
	qsort(list->items, list->count, sizeof(*list->items), by_pid);
	for (size_t i = 0; i < list->count; i++) {
		struct process key = { .pid = list->items[i].parent };
		struct process *parent = bsearch(&key, list->items, list->count,
						 sizeof(key), by_pid);

		if (parent)
			parent->is_parent = true;
	}
}

/*
 * Who waits for children is stopped before them: a shell that still ran would
 * take their stop for the user's.
 */
static void stop_parents(struct list *list)
{
	int looks = LOOKS;

	mark_parents(list);
	sort_by_age(list);
	for (size_t i = list->count; i-- > 0;) {
		struct process *now = &list->items[i];

		if (!now->is_parent)
			continue;
		kill(now->pid, SIGSTOP);
		while (read_stat(now->pid, now) && may_run(now) && looks-- > 0)
			poll(NULL, 0, LOOK_MS);
	}
}

/*
 * Nothing runs, and nothing did since the look before. Who waits in the kernel
 * (D) may wait for a disk and run a little then, or for a child that is
 * stopped: then it does not end.
 */
static bool has_settled(struct freeze *freeze, bool last)
{
	struct threads now;
	bool settled = threads_list(&now) &&
		       threads_only(&now, last ? "TtD" : "Tt") &&
		       threads_same(&freeze->still, &now);

	threads_free(&freeze->still);
	freeze->still = now;
	return settled;
}

/* Signals, timers and descriptors can continue who is stopped. */
static bool stood_still(const struct freeze *freeze)
{
	struct threads now;
	bool still = threads_list(&now) && threads_same(&freeze->still, &now);

	threads_free(&now);
	return still;
}

static void begin(struct freeze *freeze)
{
	struct list list = { 0 };

	(void)list_processes(&list);
	note_asleep(freeze, &list);
	freeze->frozen = true;
	stop_parents(&list);
	free(list.items);
}

bool freeze_all(struct freeze *freeze)
{
	if (freeze->settled)
		return stood_still(freeze);
	if (!freeze->frozen)
		begin(freeze);
	kill(-1, SIGSTOP);
	for (int look = 1; look <= LOOKS && !freeze->settled; look++) {
		freeze->settled = has_settled(freeze, look == LOOKS);
		if (!freeze->settled)
			poll(NULL, 0, LOOK_MS);
	}
	return freeze->settled;
}

static bool was_asleep(const struct freeze *freeze, pid_t pid)
{
	for (size_t i = 0; i < freeze->count; i++)
		if (freeze->asleep[i] == pid)
			return true;
	return false;
}

void freeze_end(struct freeze *freeze)
{
	struct list list = { 0 };

	if (!freeze->frozen)
		return;
	freeze->frozen = freeze->settled = false;
	threads_free(&freeze->still);
	if (!list_processes(&list))
		kill(-1, SIGCONT);
	sort_by_age(&list);
	for (size_t i = 0; i < list.count; i++)
		if (!was_asleep(freeze, list.items[i].pid))
			kill(list.items[i].pid, SIGCONT);
	free(list.items);
	free(freeze->asleep);
	freeze->asleep = NULL;
	freeze->count = 0;
}
