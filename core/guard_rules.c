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
static bool find_path(const struct guard_rules *rules, const char *path,
		      size_t *index)
{
	const char *end = path;

	while (rules->table->path_count && *end) {
		size_t size;

		end = strchrnul(end + 1, '/');
		size = (size_t)(end - path);
		*index = lower_bound(rules, path, size);
		/* One of exactly this length comes before longer ones. */
		if (*index < rules->table->path_count &&
		    !strncmp(rules->paths[*index], path, size) &&
		    !rules->paths[*index][size])
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

static bool is_skipped(const struct guard_table *table, const char *name)
{
	size_t size = strcspn(name, "/");

	for (size_t i = 0; i < table->skip_count; i++)
		if (strlen(table->skip[i]) == size &&
		    !memcmp(table->skip[i], name, size))
			return true;
	return false;
}

/* Where in @path what is below the rule's top begins: at a slash, or the end.
 */
static const char *below_top(const struct guard_name *rule, const char *path)
{
	if (!rule->top)
		return path;
	if (!path_below(path, rule->top))
		return NULL;
	return path + (rule->top[1] ? strlen(rule->top) : 0);
}

/* Does a rule hold for its name at the slash @at? */
static bool holds_at(const struct guard_table *table,
		     const struct guard_name *rule, const char *path,
		     const char *at)
{
	const char *way = below_top(rule, path);
	size_t depth = 1;

	for (; way < at; way = strchrnul(way + 1, '/')) {
		if (is_skipped(table, way + 1))
			return false;
		depth++;
	}
	return !rule->depth || depth <= rule->depth;
}

/* Does a name stand in the path, as whole components, below the rule's top? */
static bool name_in(const struct guard_table *table,
		    const struct guard_name *rule, const char *path)
{
	size_t size = strlen(rule->name);
	const char *at = below_top(rule, path);

	for (; at && *at; at = strchrnul(at + 1, '/'))
		if (!strncmp(at + 1, rule->name, size) &&
		    (!at[size + 1] || at[size + 1] == '/') &&
		    holds_at(table, rule, path, at))
			return true;
	return false;
}

/*
 * The rest of a name whose beginning @path ends with, or NULL. @cut: where to
 * look on, NULL at first; a name may begin at more than one place.
 */
static const char *name_rest(const struct guard_table *table,
			     const struct guard_name *rule, const char *path,
			     const char **cut)
{
	const char *start = below_top(rule, path);
	size_t length = start ? strlen(start) : 0;

	if (!start)
		return NULL;
	while ((*cut = strchr(*cut ? *cut + 1 : rule->name, '/'))) {
		size_t size = (size_t)(*cut - rule->name);
		const char *tail = start + length - size;

		if (length > size && tail[-1] == '/' &&
		    !memcmp(tail, rule->name, size) &&
		    holds_at(table, rule, path, tail - 1))
			return *cut + 1;
	}
	return NULL;
}

static bool find_name(const struct guard_table *table, const char *path,
		      bool link, size_t *index)
{
	for (*index = 0; *index < table->name_count; ++*index) {
		const struct guard_name *rule = &table->names[*index];
		const char *cut = NULL;

		if (name_in(table, rule, path) ||
		    (link && name_rest(table, rule, path, &cut)))
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

/* Strictly beneath the folder that is free? */
static bool is_free(const struct guard_table *table, const char *path)
{
	return table->free && path_below(path, table->free) &&
	       path[strlen(table->free)];
}

static bool find_glob(const struct guard_table *table, const char *path,
		      bool link, size_t *index)
{
	for (*index = 0; *index < table->glob_count; ++*index) {
		const struct guard_glob *glob = &table->globs[*index];
		const char *rest =
			path + (glob->top[1] ? strlen(glob->top) : 0);

		/* In the place of its folder a link would lead elsewhere. */
		if (link && path_below(glob->top, path))
			return true;
		if (path_below(path, glob->top) && *rest &&
		    (matches(glob->pattern, strlen(glob->pattern), rest,
			     true) ||
		     (link && matches_way(glob->pattern, rest))))
			return true;
	}
	return false;
}

bool guard_pattern_denies(const struct guard_rules *rules, const char *path,
			  bool link)
{
	size_t index;

	return !is_free(rules->table, path) &&
	       find_glob(rules->table, path, link, &index);
}

struct guard_rule guard_find(const struct guard_rules *rules, const char *path,
			     bool link)
{
	struct guard_rule rule = { 0 };

	if (is_free(rules->table, path))
		return rule;
	if (find_path(rules, path, &rule.index) ||
	    (link && first_beneath(rules, path, &rule.index)))
		rule.kind = GUARD_PATH;
	else if (find_name(rules->table, path, link, &rule.index))
		rule.kind = GUARD_NAME;
	else if (find_glob(rules->table, path, link, &rule.index))
		rule.kind = GUARD_GLOB;
	return rule;
}

bool guard_denies(const struct guard_rules *rules, const char *path, bool link)
{
	return guard_find(rules, path, link).kind != GUARD_NONE;
}

static bool find_name_moved(const struct guard_rules *rules, const char *path,
			    guard_exists *exists, void *data, size_t *index)
{
	for (*index = 0; *index < rules->table->name_count; ++*index) {
		const struct guard_name *rule = &rules->table->names[*index];
		const char *cut = NULL, *rest;

		while ((rest = name_rest(rules->table, rule, path, &cut)))
			if (exists(data, rest))
				return true;
	}
	return false;
}

static bool find_path_moved(const struct guard_rules *rules, const char *path,
			    guard_exists *exists, void *data, size_t *index)
{
	size_t size = strlen(path);

	if (!first_beneath(rules, path, index))
		return false;
	/* They stand together: all begin with the path and a slash. */
	for (; *index < rules->table->path_count; ++*index) {
		const char *rule = rules->paths[*index];

		if (strncmp(rule, path, size) != 0 || rule[size] != '/')
			break;
		if (exists(data, rule + size + 1))
			return true;
	}
	return false;
}

struct guard_rule guard_find_moved(const struct guard_rules *rules,
				   const char *path, guard_exists *exists,
				   void *data)
{
	struct guard_rule rule = { 0 };

	if (find_path_moved(rules, path, exists, data, &rule.index))
		rule.kind = GUARD_PATH;
	else if (find_name_moved(rules, path, exists, data, &rule.index))
		rule.kind = GUARD_NAME;
	return rule;
}

bool guard_patterns_move(const struct guard_rules *rules, const char *from,
			 const char *to)
{
	for (size_t i = 0; i < rules->table->glob_count; i++) {
		const struct guard_glob *glob = &rules->table->globs[i];

		/* What can't have been there, and can't be now. */
		if (!path_below(to, glob->top) && !path_below(glob->top, to))
			continue;
		if (!glob->floating || !path_below(from, glob->top) ||
		    !path_below(to, glob->top))
			return true;
	}
	return false;
}
