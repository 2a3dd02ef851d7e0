/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of this PID namespace, and how much each has run. */
#include "core/threads.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

static FILE *open_of(const struct thread *thread, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)thread->pid,
		 (int)thread->tid, name);
	return fopen(path, "re");
}

/* A name with a line's end in it is shown with "\n", so a line is the kernel's.
 */
static bool read_status(struct thread *thread)
{
	FILE *file = open_of(thread, "status");
	unsigned long long value;
	int counts = 0;
	char line[512];

	if (!file)
		return false;
	thread->state = '\0';
	thread->switches = 0;
	while (fgets(line, sizeof(line), file)) {
		(void)sscanf(line, "State: %c", &thread->state);
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &value) ==
			    1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %llu", &value) ==
			    1) {
			thread->switches += value;
			counts++;
		}
	}
	fclose(file);
	return thread->state && counts == 2;
}

static void read_run(struct thread *thread)
{
	FILE *file = open_of(thread, "schedstat");

	thread->run_ns = 0;
	if (!file)
		return;
	if (fscanf(file, "%llu", &thread->run_ns) != 1)
		thread->run_ns = 0;
	fclose(file);
}

static bool add(struct threads *threads, const struct thread *thread)
{
	if (!list_room(&threads->items, threads->count, &threads->room,
		       sizeof(*thread)))
		return false;
	threads->items[threads->count++] = *thread;
	return true;
}

static bool has_ended(const struct thread *thread)
{
	return thread->state == 'Z' || thread->state == 'X';
}

/* One that can't be read may be ending, and is looked for again then. */
static bool list_of(struct threads *out, pid_t pid)
{
	struct thread thread = { .pid = pid };
	struct dirent *entry;
	bool complete = true;
	char path[32];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	folder = opendir(path);
	if (!folder)
		return false;
	while (complete && (entry = readdir(folder))) {
		thread.tid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (thread.tid <= 0)
			continue;
		complete = read_status(&thread);
		read_run(&thread);
		if (complete && !has_ended(&thread))
			complete = add(out, &thread);
	}
	closedir(folder);
	return complete;
}

bool threads_list(struct threads *out)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	bool complete = folder != NULL;

	*out = (struct threads){ 0 };
	while (complete && (entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 1)
			complete = list_of(out, pid);
	}
	if (folder)
		closedir(folder);
	return complete;
}

bool threads_only(const struct threads *threads, const char *states)
{
	for (size_t i = 0; i < threads->count; i++)
		if (!strchr(states, threads->items[i].state))
			return false;
	return true;
}

static bool is_same(const struct thread *a, const struct thread *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->run_ns == b->run_ns &&
	       a->switches == b->switches;
}

bool threads_same(const struct threads *before, const struct threads *now)
{
	if (before->count != now->count)
		return false;
	for (size_t i = 0; i < now->count; i++)
		if (!is_same(&before->items[i], &now->items[i]))
			return false;
	return true;
}

void threads_free(struct threads *threads)
{
	free(threads->items);
	*threads = (struct threads){ 0 };
}
