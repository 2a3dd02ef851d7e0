/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names as a tree of components in which each node knows the longest other
 * beginning that its end is (Aho and Corasick): one state a directory, whatever
 * names overlap.
 */
#include "core/walk_names.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

#define MOST 0xffffU
#define NO_TAG UINT32_MAX

struct node {
	const char *name; /* borrowed, not ended */
	size_t size;
	unsigned int depth; /* components; 0 for the root */
	unsigned int child, sibling, parent, fail; /* 0: none */
	uint32_t tag;
};

struct matcher {
	const struct walk_names *wanted;
	struct node *nodes; /* the first is the root */
	unsigned int count;
	uint64_t heads[4]; /* first bytes of all components: most names have */
			   /* another, and are done with */
};

/*
 * A directory's state: how much of a name ends there, and how deep the first
 * component of a name may lie.
 */
static uint32_t pack(unsigned int node, unsigned int limit)
{
	return (uint32_t)limit << 16 | node;
}

static unsigned int child_of(const struct matcher *m, unsigned int parent,
			     const char *name, size_t size)
{
	unsigned int at = m->nodes[parent].child;

	while (at && (m->nodes[at].size != size ||
		      memcmp(m->nodes[at].name, name, size) != 0))
		at = m->nodes[at].sibling;
	return at;
}

static int add_component(struct matcher *m, unsigned int *at, const char *name,
			 size_t size)
{
	unsigned int found = child_of(m, *at, name, size);

	if (!size || m->count == MOST)
		return -EINVAL;
	if (!found) {
		unsigned char head = (unsigned char)*name;

		m->heads[head / 64] |= 1ULL << head % 64;
		found = m->count++;
		m->nodes[found] = (struct node){
			.name = name,
			.size = size,
			.depth = m->nodes[*at].depth + 1,
			.sibling = m->nodes[*at].child,
			.parent = *at,
			.tag = NO_TAG,
		};
		m->nodes[*at].child = found;
	}
	*at = found;
	return 0;
}

static int add_name(struct matcher *m, const char *name, uint32_t tag)
{
	unsigned int at = 0;
	int error;

	for (;;) {
		const char *end = strchrnul(name, '/');

		error = add_component(m, &at, name, (size_t)(end - name));
		if (error)
			return error;
		if (!*end)
			break;
		name = end + 1;
	}
	if (m->nodes[at].tag == NO_TAG)
		m->nodes[at].tag = tag;
	return 0;
}

/* The node that the names end in after one more component. */
static unsigned int step(const struct matcher *m, unsigned int at,
			 const char *name, size_t size)
{
	unsigned int found;

	while (!(found = child_of(m, at, name, size)) && at)
		at = m->nodes[at].fail;
	return found;
}

/* Level by level, since a node's link needs those of shorter ones. */
static void link_nodes(struct matcher *m)
{
	unsigned int depth = 2, left = m->count;

	for (; left; depth++) {
		left = 0;
		for (unsigned int i = 1; i < m->count; i++) {
			struct node *node = &m->nodes[i];

			if (node->depth == depth)
				node->fail =
					step(m, m->nodes[node->parent].fail,
					     node->name, node->size);
			left += node->depth > depth;
		}
	}
}

static size_t components(const struct walk_names *wanted)
{
	size_t count = 1;

	for (size_t i = 0; i < wanted->count; i++) {
		count++;
		for (const char *p = wanted->names[i]; *p; p++)
			count += *p == '/';
	}
	return count;
}

static bool is_skipped(const struct walk_names *wanted, const char *name)
{
	for (size_t i = 0; i < wanted->skip_count; i++)
		if (!strcmp(wanted->skip[i], name))
			return true;
	return false;
}

static bool has_head(const struct matcher *m, const char *name)
{
	unsigned char head = (unsigned char)*name;

	return m->heads[head / 64] >> head % 64 & 1;
}

static int look(void *matcher, struct walk *walk, struct walk_seen *seen)
{
	const struct matcher *m = matcher;
	unsigned int limit = seen->state >> 16, node = 0;

	if (has_head(m, seen->name))
		node = step(m, seen->state & MOST, seen->name, seen->size);
	/* The shorter a name's part, the deeper it began. */
	if (node && seen->depth - m->nodes[node].depth + 1 > limit)
		node = 0;
	for (unsigned int at = node; at; at = m->nodes[at].fail) {
		int error = 0;

		if (seen->depth - m->nodes[at].depth + 1 > limit)
			break;
		if (m->nodes[at].tag != NO_TAG)
			error = walk_take(walk, seen, m->nodes[at].tag);
		if (error)
			return error;
		seen->enter |= m->nodes[at].child != 0;
	}
	if (seen->type != DT_DIR && seen->type != DT_UNKNOWN)
		return 0;
	if (limit > seen->depth && is_skipped(m->wanted, seen->name))
		limit = seen->depth;
	seen->enter |= seen->depth < limit;
	seen->child = pack(node, limit);
	return 0;
}

static int blind(void *matcher, struct walk *walk, uint32_t state)
{
	(void)matcher;
	(void)state;
	return walk_blind(walk, 0);
}

int walk_names(const char *root, const struct walk_names *names,
	       struct walk_limits *limits, struct walk_result *result)
{
	static const struct walk_rules rules = { look, blind };
	owned_ptr struct node *nodes =
		calloc(components(names), sizeof(*nodes));
	struct matcher m = { .wanted = names, .nodes = nodes, .count = 1 };
	int error = nodes ? 0 : -ENOMEM;

	if (names->depth > MOST)
		return -EINVAL;
	for (size_t i = 0; !error && i < names->count; i++)
		error = add_name(&m, names->names[i], (uint32_t)i);
	if (error)
		return error;
	nodes[0].tag = NO_TAG;
	link_nodes(&m);
	return walk_tree(root, &rules, &m, pack(0, names->depth), limits,
			 result);
}
