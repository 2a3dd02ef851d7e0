/* SPDX-License-Identifier: Apache-2.0 */
/* What would be denied of what is moved: a file, a link or a whole tree. */
#include "core/guard_move.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util.h"

/* What is looked through for patterns; beyond it a tree has to be copied. */
#define MOST_ENTRIES 20000
#define MOST_DEPTH 40

/* struct move - a folder on its way, @top, from one real path to another */
struct move {
	const struct guard_rules *rules;
	struct guard_rule *rule;
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
	    !guard_pattern_denies(move->rules, move->from, link)) {
		*move->rule = guard_find(move->rules, move->to, link);
		error = -EROFS;
	} else if (entry->d_type == DT_DIR) {
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

static int open_top(int dir, const char *name)
{
	return openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int judge_folder(const struct guard_rules *rules, int dir,
			const char *name, const char *from, const char *to,
			struct guard_rule *rule)
{
	struct move move = { .rules = rules, .rule = rule };
	owned_fd int top = open_top(dir, name);
	int fd;

	if (top < 0)
		return -errno;
	move.top = top;
	*rule = guard_find_moved(rules, to, is_there, &move);
	if (rule->kind != GUARD_NONE)
		return -EROFS;
	if (!guard_patterns_move(rules, from, to))
		return 0;
	if (strlen(from) >= PATH_MAX || strlen(to) >= PATH_MAX)
		return -EXDEV;
	memcpy(move.from, from, strlen(from) + 1);
	memcpy(move.to, to, strlen(to) + 1);
	fd = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -EXDEV : look(&move, fd, 0);
}

int guard_move(const struct guard_rules *rules, int dir, const char *name,
	       const char *from, const char *to, struct guard_rule *rule)
{
	struct guard_rule found;
	struct stat st;

	rule = rule ? rule : &found;
	/* What is not there can't be moved: the kernel says so. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return guard_denies(rules, to, false) ? -errno : 0;
	*rule = guard_find(rules, to, S_ISLNK(st.st_mode));
	if (rule->kind != GUARD_NONE)
		return -EROFS;
	return S_ISDIR(st.st_mode)
		       ? judge_folder(rules, dir, name, from, to, rule)
		       : 0;
}

bool guard_move_brings(const struct guard_rules *rules, int dir,
		       const char *name, const char *to)
{
	struct move move = { .rules = rules };
	owned_fd int top = open_top(dir, name);

	move.top = top;
	return top >= 0 &&
	       guard_find_moved(rules, to, is_there, &move).kind != GUARD_NONE;
}
