/* SPDX-License-Identifier: Apache-2.0 */
/* Which names may not be made: the plan's table, compiled. Pure. */
#include "core/guard_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/glob.h"
#include "core/util.h"

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int guard_rules_compile(const struct guard_table *table,
			struct guard_rules *rules)
{
	size_t size = (table->path_count + 1) * sizeof(*rules->paths);

	*rules = (struct guard_rules){ .table = table };
	rules->paths = malloc(size);
	if (!rules->paths)
		return -ENOMEM;
	for (size_t i = 0; i < table->path_count; i++)
		rules->paths[i] = table->paths[i];
	qsort(rules->paths, table->path_count, sizeof(*rules->paths), by_bytes);
	return 0;
}

/* Index of the first of the sorted paths that is not below @text by bytes. */
static size_t lower_bound(const struct guard_rules *rules, const char *text,
			  size_t size)
{
	size_t low = 0, high = rules->table->path_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strncmp(rules->paths[middle], text, size) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Is the path, or a folder above it, one of the exact ones? */
static bool paths_deny(const struct guard_rules *rules, const char *path)
{
	const char *end = path;

	while (rules->table->path_count && *end) {
		size_t size, at;

		end = strchrnul(end + 1, '/');
		size = (size_t)(end - path);
		at = lower_bound(rules, path, size);
		/* One of exactly this length comes before longer ones. */
		if (at < rules->table->path_count &&
		    !strncmp(rules->paths[at], path, size) &&
		    !rules->paths[at][size])
			return true;
	}
	return false;
}

/* The first exact path beneath the folder @path; its rest, or NULL. */
static const char *first_beneath(const struct guard_rules *rules,
				 const char *path, size_t *index)
{
	size_t size = strlen(path);

	/* Others, "/a-b", may stand between "/a" and "/a/b". */
	*index = lower_bound(rules, path, size);
	for (; *index < rules->table->path_count; ++*index) {
		const char *rule = rules->paths[*index];

		if (strncmp(rule, path, size) != 0 || rule[size] > '/')
			break;
		if (rule[size] == '/')
			return rule + size + 1;
	}
	return NULL;
}

/* Does a name stand in the path, as whole components, below the rule's top? */
static bool name_in(const struct guard_name *rule, const char *path)
{
	size_t size = strlen(rule->name);
	const char *at = path;

	if (rule->top) {
		if (!path_below(path, rule->top))
			return false;
		at += rule->top[1] ? strlen(rule->top) : 0;
	}
	for (; *at; at = strchrnul(at + 1, '/'))
		if (!strncmp(at + 1, rule->name, size) &&
		    (!at[size + 1] || at[size + 1] == '/'))
			return true;
	return false;
}

/*
 * The rest of a name whose beginning @path ends with, or NULL. @cut: where to
 * look on, NULL at first; a name may begin at more than one place.
 */
static const char *name_rest(const struct guard_name *rule, const char *path,
			     const char **cut)
{
	size_t length = strlen(path);

	if (rule->top && !path_below(path, rule->top))
		return NULL;
	while ((*cut = strchr(*cut ? *cut + 1 : rule->name, '/'))) {
		size_t size = (size_t)(*cut - rule->name);
		const char *tail = path + length - size;

		if (length > size && tail[-1] == '/' &&
		    !memcmp(tail, rule->name, size))
			return *cut + 1;
	}
	return NULL;
}

static bool names_deny(const struct guard_rules *rules, const char *path,
		       bool link)
{
	for (size_t i = 0; i < rules->table->name_count; i++) {
		const struct guard_name *rule = &rules->table->names[i];
		const char *cut = NULL;

		if (name_in(rule, path) ||
		    (link && name_rest(rule, path, &cut)))
			return true;
	}
	return false;
}

/* Without memory for an answer it is yes. */
static bool matches(const char *pattern, size_t size, const char *path,
		    bool beneath)
{
	return glob_path(pattern, size, path, strlen(path), beneath) != 0;
}

static bool only_stars(const char *from, const char *to)
{
	while (from < to && *from == '*')
		from++;
	return from == to;
}

/* Does @path match what of a pattern stands before one of its slashes? */
static bool matches_way(const char *pattern, const char *path)
{
	const char *component = pattern + 1, *cut;

	for (; (cut = strchr(component, '/')); component = cut + 1)
		if (!only_stars(component, cut) &&
		    matches(pattern, (size_t)(cut - pattern), path, false))
			return true;
	return false;
}

bool guard_pattern_denies(const struct guard_rules *rules, const char *path,
			  bool link)
{
	for (size_t i = 0; i < rules->table->glob_count; i++) {
		const char *pattern = rules->table->globs[i].pattern;

		if (matches(pattern, strlen(pattern), path, true) ||
		    (link && matches_way(pattern, path)))
			return true;
	}
	return false;
}

bool guard_denies(const struct guard_rules *rules, const char *path, bool link)
{
	size_t index;

	return paths_deny(rules, path) ||
	       (link && first_beneath(rules, path, &index)) ||
	       names_deny(rules, path, link) ||
	       guard_pattern_denies(rules, path, link);
}

static bool names_deny_moved(const struct guard_rules *rules, const char *path,
			     guard_exists *exists, void *data)
{
	for (size_t i = 0; i < rules->table->name_count; i++) {
		const char *cut = NULL, *rest;

		while ((rest = name_rest(&rules->table->names[i], path, &cut)))
			if (exists(data, rest))
				return true;
	}
	return false;
}

bool guard_denies_moved(const struct guard_rules *rules, const char *path,
			guard_exists *exists, void *data)
{
	size_t index, size = strlen(path);

	if (first_beneath(rules, path, &index)) {
		/* They stand together: all begin with the path and a slash. */
		for (; index < rules->table->path_count; index++) {
			const char *rule = rules->paths[index];

			if (strncmp(rule, path, size) != 0 || rule[size] != '/')
				break;
			if (exists(data, rule + size + 1))
				return true;
		}
	}
	return names_deny_moved(rules, path, exists, data);
}

bool guard_patterns_move(const struct guard_rules *rules, const char *from,
			 const char *to)
{
	for (size_t i = 0; i < rules->table->glob_count; i++) {
		const char *top = rules->table->globs[i].floating;

		if (!top || !path_below(from, top) || !path_below(to, top))
			return true;
	}
	return false;
}
