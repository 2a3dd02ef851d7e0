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

/*
 * struct move - a folder on its way, @top, from one real path to another
 * @unseen: there was what can't be looked into
 */
struct move {
	const struct guard_rules *rules;
	const struct guard_moved *what;
	struct guard_rule *rule;
	int top;
	size_t entries;
	bool unseen;
	char from[2 * PATH_MAX];
	char to[2 * PATH_MAX];
};

/* Is the path REAL/@part of what is moved behind a mask? */
static bool is_masked(const struct guard_moved *what, const char *part)
{
	size_t length = strlen(what->real);

	for (size_t i = 0; i < what->mask_count; i++) {
		const char *mask = what->masks[i];

		if (path_below(what->real, mask))
			return true;
		if (path_below(mask, what->real) &&
		    path_below(part, mask + length + 1) &&
		    strcmp(part, mask + length + 1) != 0)
			return true;
	}
	return false;
}

static bool is_one_of(const char *path, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i], path))
			return true;
	return false;
}

/* Takes no descriptor of what the command could not look into. */
static int open_folder(const struct move *move, int dir, const char *name)
{
	const struct guard_moved *what = move->what;

	if (is_one_of(move->from, what->masks, what->mask_count) ||
	    is_one_of(move->from, what->scaffolds, what->scaffold_count))
		return -1;
	return openat(dir, name,
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

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
		if (is_masked(move->what, part))
			return true;
		if (fstatat(move->top, part, &st, AT_SYMLINK_NOFOLLOW))
			return errno != ENOENT && errno != ENOTDIR;
		if (S_ISLNK(st.st_mode))
			return true;
	} while (*end++);
	return true;
}

static int look(struct move *move, int dir, int depth);

static int look_into(struct move *move, int dir, const char *name, int depth)
{
	int fd = depth > MOST_DEPTH ? -1 : open_folder(move, dir, name);

	if (fd >= 0)
		return look(move, fd, depth);
	move->unseen = true;
	return 0;
}

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
		error = look_into(move, dir, entry->d_name, depth + 1);
	}
	move->from[from] = move->to[to] = '\0';
	return error;
}

/* Takes @dir over. */
static int look(struct move *move, int dir, int depth)
{
	DIR *stream = fdopendir(dir);
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

static int judge_folder(const struct guard_rules *rules,
			const struct guard_moved *what, const char *to,
			struct guard_rule *rule)
{
	struct move move = { .rules = rules, .what = what, .rule = rule };
	owned_fd int top = open_top(what->dir, what->name);
	int error;

	if (top < 0)
		return -errno;
	move.top = top;
	*rule = guard_find_moved(rules, to, is_there, &move);
	if (rule->kind != GUARD_NONE)
		return -EROFS;
	if (!guard_patterns_move(rules, what->real, to))
		return 0;
	if (strlen(what->real) >= PATH_MAX || strlen(to) >= PATH_MAX)
		return -EXDEV;
	memcpy(move.from, what->real, strlen(what->real) + 1);
	memcpy(move.to, to, strlen(to) + 1);
	error = look_into(&move, top, ".", 0);
	return error || !move.unseen ? error : -EXDEV;
}

int guard_move(const struct guard_rules *rules, const struct guard_moved *what,
	       const char *to, struct guard_rule *rule)
{
	struct guard_rule found;
	struct stat st;

	rule = rule ? rule : &found;
	/* What is not there can't be moved, nor a link with a slash behind it
	 * that leads back to itself: the kernel says so. */
	if (fstatat(what->dir, what->name, &st, AT_SYMLINK_NOFOLLOW))
		return errno != ELOOP && guard_denies(rules, to, false) ? -errno
									: 0;
	*rule = guard_find(rules, to, S_ISLNK(st.st_mode));
	if (rule->kind != GUARD_NONE)
		return -EROFS;
	return S_ISDIR(st.st_mode) ? judge_folder(rules, what, to, rule) : 0;
}

bool guard_move_brings(const struct guard_rules *rules,
		       const struct guard_moved *what, const char *to)
{
	struct move move = { .rules = rules, .what = what };
	owned_fd int top = open_top(what->dir, what->name);

	move.top = top;
	return top >= 0 &&
	       guard_find_moved(rules, to, is_there, &move).kind != GUARD_NONE;
}
