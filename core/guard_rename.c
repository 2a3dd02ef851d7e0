/* SPDX-License-Identifier: Apache-2.0 */
/* Renames, which may bring a whole tree to where its names are denied. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guard_calls.h"
#include "core/util.h"

/* What is looked through for patterns; beyond it a tree has to be copied. */
#define MOST_ENTRIES 20000
#define MOST_DEPTH 40

/* struct move - a folder on its way, @top, from one real path to another */
struct move {
	const struct guard_rules *rules;
	int top;
	size_t entries;
	char from[2 * PATH_MAX];
	char to[2 * PATH_MAX];
};

/*
 * Is @rest there? A link on the way counts as well: what is there may come
 * later. So does what can't be seen.
 */
static bool is_there(void *data, const char *rest)
{
	const struct move *move = data;
	char part[PATH_MAX];
	const char *end = rest;
	struct stat st;

	do {
		end = strchrnul(end, '/');
		if ((size_t)(end - rest) >= sizeof(part))
			return true;
		memcpy(part, rest, (size_t)(end - rest));
		part[end - rest] = '\0';
		if (fstatat(move->top, part, &st, AT_SYMLINK_NOFOLLOW))
			return errno != ENOENT && errno != ENOTDIR;
		if (S_ISLNK(st.st_mode))
			return true;
	} while (*end++);
	return true;
}

static int look(struct move *move, int dir, int depth);

/* One entry: it may not be denied there, where it was not denied here. */
static int look_at(struct move *move, int dir, const struct dirent *entry,
		   int depth)
{
	size_t from = strlen(move->from), to = strlen(move->to);
	bool link = entry->d_type == DT_LNK;
	int error = 0;

	if (++move->entries > MOST_ENTRIES || entry->d_type == DT_UNKNOWN ||
	    from + strlen(entry->d_name) + 2 > PATH_MAX ||
	    to + strlen(entry->d_name) + 2 > PATH_MAX)
		return -EXDEV;
	snprintf(move->from + from, NAME_MAX + 2, "/%s", entry->d_name);
	snprintf(move->to + to, NAME_MAX + 2, "/%s", entry->d_name);
	if (guard_pattern_denies(move->rules, move->to, link) &&
	    !guard_pattern_denies(move->rules, move->from, link))
		error = -EROFS;
	else if (entry->d_type == DT_DIR) {
		int fd =
			openat(dir, entry->d_name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		error = fd < 0 ? -EXDEV : look(move, fd, depth + 1);
	}
	move->from[from] = move->to[to] = '\0';
	return error;
}

/* Takes @dir over. */
static int look(struct move *move, int dir, int depth)
{
	DIR *stream = depth > MOST_DEPTH ? NULL : fdopendir(dir);
	const struct dirent *entry;
	int error = 0;

	if (!stream) {
		close(dir);
		return -EXDEV;
	}
	while (!error && (errno = 0, entry = readdir(stream))) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			error = look_at(move, dir, entry, depth);
	}
	if (!error && errno)
		error = -EXDEV;
	closedir(stream);
	return error;
}

static int judge_folder(const struct guard_rules *rules,
			const struct guard_place *from, const char *to)
{
	struct move move = { .rules = rules };
	owned_fd int top =
		openat(from->dir, from->name,
		       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int fd;

	if (top < 0)
		return -errno;
	move.top = top;
	if (guard_denies_moved(rules, to, is_there, &move))
		return -EROFS;
	if (!guard_patterns_move(rules, from->real, to))
		return 0;
	if (strlen(from->real) >= PATH_MAX || strlen(to) >= PATH_MAX)
		return -EXDEV;
	memcpy(move.from, from->real, strlen(from->real) + 1);
	memcpy(move.to, to, strlen(to) + 1);
	fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -EXDEV : look(&move, fd, 0);
}

/* Judges what @from will be at the real path @to. */
static int judge(const struct guard_rules *rules,
		 const struct guard_place *from, const char *to)
{
	struct stat st;

	/* What is not there can't be moved: the kernel says so. */
	if (fstatat(from->dir, from->name, &st, AT_SYMLINK_NOFOLLOW))
		return guard_denies(rules, to, false) ? -errno : 0;
	if (guard_denies(rules, to, S_ISLNK(st.st_mode)))
		return -EROFS;
	return S_ISDIR(st.st_mode) ? judge_folder(rules, from, to) : 0;
}

/* Is there anything beneath a folder that has to stay where it is? */
static bool brings_away(const struct area *area, const struct guard_place *from)
{
	struct move move = { .rules = &area->held };
	owned_fd int top =
		openat(from->dir, from->name,
		       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	move.top = top;
	return top >= 0 &&
	       guard_denies_moved(&area->held, from->real, is_there, &move);
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

int guard_rename(struct guard *guard, const struct guard_place *from,
		 const struct guard_place *to, unsigned int flags)
{
	const struct guard_rules *rules = &guard->rules;
	const struct guard_place *denied = to;
	struct stat st;
	int error = 0;

	if (!guard_may(guard, from))
		return guard_pass(guard, WATCH_DELETE, from->real);
	if (!guard_may(guard, to))
		return guard_pass(guard, WATCH_CREATE, to->real);
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
	    !fstatat(to->dir, to->name, &st, AT_SYMLINK_NOFOLLOW))
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
