/* SPDX-License-Identifier: Apache-2.0 */
/* Which Unix sockets of the host may be connected to: the plan's table. Pure.
 */
#include "core/socket_rules.h"

#include <string.h>

#include "core/glob.h"
#include "core/util.h"

static bool matches(const struct socket_glob *glob, const char *path)
{
	const char *rest = path;

	if (!path_below(path, glob->top))
		return false;
	if (strcmp(glob->top, "/"))
		rest += strlen(glob->top);
	/* Without memory nothing matches. */
	return glob_path(glob->pattern, strlen(glob->pattern), rest,
			 strlen(rest), false) == 1;
}

/* The size of the longest of the paths that are at or above @path; 0: none. */
static size_t nearest(const char *const *paths, size_t count, const char *path)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		if (strlen(paths[i]) > most && path_below(path, paths[i]))
			most = strlen(paths[i]);
	return most;
}

static bool is_hidden(const struct socket_table *table, const char *path)
{
	return nearest(table->hidden, table->hidden_count, path) >
	       nearest(table->shown, table->shown_count, path);
}

struct socket_rule socket_rules_find(const struct socket_table *table,
				     const char *path)
{
	for (size_t i = 0; i < table->path_count; i++)
		if (!strcmp(table->paths[i], path))
			return (struct socket_rule){ SOCKET_PATH, i };
	for (size_t i = 0; i < table->glob_count && !is_hidden(table, path);
	     i++)
		if (matches(&table->globs[i], path))
			return (struct socket_rule){ SOCKET_GLOB, i };
	return (struct socket_rule){ SOCKET_NONE, 0 };
}
