/* SPDX-License-Identifier: Apache-2.0 */
/* Finds FIFOs and sockets, which no mount keeps from being written. */
#include "core/walk_special.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

/* Some file systems tell no types with the names. */
static unsigned char type_of(const struct walk_seen *seen)
{
	struct stat st;

	if (seen->type != DT_UNKNOWN)
		return seen->type;
	if (fstatat(seen->dir, seen->name, &st, AT_SYMLINK_NOFOLLOW))
		return DT_UNKNOWN;
	return (unsigned char)IFTODT(st.st_mode);
}

static int look(void *matcher, struct walk *walk, struct walk_seen *seen)
{
	unsigned char type = type_of(seen);

	(void)matcher;
	seen->enter = true;
	return type == DT_FIFO || type == DT_SOCK ? walk_take(walk, seen, 0)
						  : 0;
}

/* What this user can't read the command can't open either. */
static int blind(void *matcher, struct walk *walk, uint32_t state)
{
	(void)matcher;
	(void)walk;
	(void)state;
	return 0;
}

int walk_special(const char *root, struct walk_limits *limits,
		 struct walk_result *result)
{
	static const struct walk_rules rules = { look, blind };

	return walk_tree(root, &rules, NULL, 0, limits, result);
}
