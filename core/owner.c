/* SPDX-License-Identifier: Apache-2.0 */
/* Which process of the sandbox has a socket open? */
#include "core/owner.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/agent.h"
#include "core/util.h"

/* How often a process is looked at again that changed meanwhile. */
#define TRIES 3
/* Of a status file; all that is wanted comes early. */
#define STATUS_SIZE 4096

/*
 * struct process - one that is held: by a folder of /proc that stays its own
 * @dir: owned; once the process is gone, nothing is in there
 */
struct process {
	int dir;
	pid_t host_pid;
};

/* struct search - processes found, nearest to PID 1 first; which may repeat */
struct search {
	pid_t *list;
	size_t count;
	size_t room;
	long long end;
	char wanted[40];
};

static int open_process(pid_t pid, struct process *out)
{
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d", (int)pid);
	out->host_pid = pid;
	out->dir = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return out->dir < 0 ? -errno : 0;
}

static ssize_t read_text(int dir, const char *name, char *text, size_t size)
{
	owned_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	text[got > 0 ? got : 0] = '\0';
	return got;
}

/* Of /proc/PID/status: the parent, and the number one namespace further in. */
static bool read_status(int dir, pid_t *parent, pid_t *inside)
{
	char text[STATUS_SIZE];
	const char *at;
	int outer, inner;

	if (read_text(dir, "status", text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "\nPPid:");
	if (!at || sscanf(at, "\nPPid: %d", &outer) != 1)
		return false;
	*parent = outer;
	at = strstr(text, "\nNSpid:");
	if (!at || sscanf(at, "\nNSpid: %d %d", &outer, &inner) != 2)
		return false;
	*inside = inner;
	return true;
}

static bool is_link(int dir, const char *name, const char *wanted)
{
	char target[64];
	ssize_t size = readlinkat(dir, name, target, sizeof(target) - 1);

	if (size < 0)
		return false;
	target[size] = '\0';
	return strcmp(target, wanted) == 0;
}

static DIR *open_list(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (!list && fd >= 0)
		close(fd);
	return list;
}

/* Of ours only: who else wants the processor shall not change the answer. */
static long long spent_ms(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now))
		return 0;
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static bool out_of_time(const struct search *search)
{
	return spent_ms() >= search->end;
}

/* The name of a descriptor, below the process's folder, in @name: true. */
static bool has_socket(const struct search *search, const struct process *p,
		       char name[32])
{
	DIR *list = open_list(p->dir, "fd");
	const struct dirent *entry;
	bool found = false;
	unsigned int looked = 0;

	while (list && !found && (entry = readdir(list))) {
		found = is_link(dirfd(list), entry->d_name, search->wanted);
		if (found)
			snprintf(name, 32, "fd/%.20s", entry->d_name);
		if (++looked % 256 == 0 && out_of_time(search))
			break;
	}
	if (list)
		closedir(list);
	return found;
}

static bool add(struct search *search, pid_t pid)
{
	if (!list_room(&search->list, search->count, &search->room,
		       sizeof(pid)))
		return false;
	search->list[search->count++] = pid;
	return true;
}

/* "12 345 ", as a thread's file of children has it. */
static void add_numbers(struct search *search, char *text)
{
	char *at = text, *end;
	long pid;

	while ((pid = strtol(at, &end, 10)) > 0 && end != at) {
		/* The last may be cut where it was too much to read at once. */
		if (!isspace((unsigned char)*end) || !add(search, (pid_t)pid))
			return;
		at = end;
	}
}

/* Children are their thread's. */
static void add_children(struct search *search, const struct process *p)
{
	DIR *list = open_list(p->dir, "task");
	const struct dirent *entry;
	char name[64], text[16384];

	while (list && (entry = readdir(list)) && !out_of_time(search)) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%.20s/children", entry->d_name);
		if (read_text(dirfd(list), name, text, sizeof(text)) > 0)
			add_numbers(search, text);
	}
	if (list)
		closedir(list);
}

static bool describe(const struct process *p, struct owner_process *out,
		     pid_t *parent)
{
	ssize_t size;

	if (!read_status(p->dir, parent, &out->pid))
		return false;
	out->host_pid = p->host_pid;
	size = readlinkat(p->dir, "exe", out->exe, sizeof(out->exe) - 1);
	/* What may be executed and not read hides its name as well. */
	out->exe[size < 0 ? 0 : size] = '\0';
	return true;
}

/*
 * A parent that ended has left its children to another: while the number that
 * a child gives for it stays the same, it is that process's.
 */
static bool step_up(struct process *p, pid_t parent)
{
	struct process above;
	pid_t still, unused;

	if (open_process(parent, &above))
		return false;
	if (!read_status(p->dir, &still, &unused) || still != parent) {
		close(above.dir);
		return false;
	}
	close(p->dir);
	*p = above;
	return true;
}

/* Fills the chain from @p on, which it uses up. */
static void climb(struct owner *owner, struct process *p, pid_t init)
{
	pid_t parent;

	while (owner->count < OWNER_PARENTS + 1 &&
	       describe(p, &owner->chain[owner->count], &parent)) {
		owner->count++;
		if (parent == init || parent <= 0 || !step_up(p, parent))
			break;
	}
	close(p->dir);
}

static struct owner *describe_all(struct process *p, pid_t init)
{
	struct owner *owner = malloc(
		sizeof(*owner) + sizeof(*owner->chain) * (OWNER_PARENTS + 1));
	struct owner *smaller;

	if (!owner) {
		close(p->dir);
		return NULL;
	}
	owner->count = 0;
	climb(owner, p, init);
	smaller = realloc(owner, sizeof(*owner) +
					 sizeof(*owner->chain) * owner->count);
	return smaller ? smaller : owner;
}

/*
 * It has copies of what it connects (core/agent.h), for others. A name anybody
 * can take; our program has it from us.
 */
static bool is_agent(const struct process *p)
{
	char text[32];
	struct stat own, exe;

	return read_text(p->dir, "comm", text, sizeof(text)) > 0 &&
	       strcmp(text, AGENT_NAME "\n") == 0 &&
	       !stat("/proc/self/exe", &own) &&
	       !fstatat(p->dir, "exe", &exe, 0) && own.st_dev == exe.st_dev &&
	       own.st_ino == exe.st_ino;
}

/*
 * What was read of a process holds for who had the socket, if it has it still:
 * a program that it became by exec(2) meanwhile would mostly not.
 */
static struct owner *look_at(struct search *search, pid_t pid, pid_t init)
{
	char name[32];
	struct process p;
	struct owner *owner;
	owned_fd int dir = -1;

	for (int i = 0; i < TRIES; i++) {
		if (open_process(pid, &p))
			return NULL;
		if (!has_socket(search, &p, name) || is_agent(&p)) {
			if (i == 0)
				add_children(search, &p);
			close(p.dir);
			return NULL;
		}
		cleanup_fd_(&dir);
		dir = fcntl(p.dir, F_DUPFD_CLOEXEC, 0);
		owner = describe_all(&p, init);
		if (owner && owner->count && dir >= 0 &&
		    is_link(dir, name, search->wanted))
			return owner;
		free(owner);
	}
	return NULL;
}

/* PID 1 holds nothing of theirs, and hides. */
static bool is_init(pid_t init)
{
	struct process p;
	pid_t parent, inside;
	bool is;

	if (init <= 0 || open_process(init, &p))
		return false;
	is = read_status(p.dir, &parent, &inside) && inside == 1;
	close(p.dir);
	return is;
}

struct owner *owner_find(pid_t init, uint64_t inode)
{
	struct search search = { .end = spent_ms() + OWNER_MS };
	struct owner *owner = NULL;
	struct process p;

	/* A /proc of other numbers would tell of somebody else. */
	if (!is_init(init) || open_process(init, &p))
		return NULL;
	snprintf(search.wanted, sizeof(search.wanted), "socket:[%llu]",
		 (unsigned long long)inode);
	add_children(&search, &p);
	close(p.dir);
	for (size_t i = 0; i < search.count && !owner; i++) {
		if (out_of_time(&search))
			break;
		owner = look_at(&search, search.list[i], init);
	}
	free(search.list);
	return owner;
}
