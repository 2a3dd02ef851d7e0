/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a tree, asking a matcher about each entry. Nothing here decides. */
#ifndef SRT_WALK_H
#define SRT_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct walk_limits - what a walk may cost, and where it may not go */
struct walk_limits {
	/* Both count down. */
	uint64_t entries; /* names read */
	size_t bytes;	  /* memory, results included */
	/* Directories that are not entered; borrowed, absolute. */
	const char *const *avoid;
	size_t avoid_count;
};

/** struct walk_record - an entry that was taken, or a directory unseen */
struct walk_record {
	size_t at, size;    /* its path in walk_list.text, ended by a NUL */
	uint32_t tag;	    /* what the matcher gave */
	int error;	    /* of a directory: why it could not be read */
	unsigned char type; /* DT_* of dirent.h */
};

struct walk_list {
	struct walk_record *records;
	size_t count, records_size;
	char *text;
	size_t used, text_size;
};

/** struct walk_result - owned by the caller, see walk_result_free() */
struct walk_result {
	struct walk_list taken, blind;
};

/** struct walk_seen - an entry that the matcher is asked about */
struct walk_seen {
	const char *name; /* ended by a NUL */
	size_t size;
	unsigned int depth; /* 1: directly in the root */
	uint32_t state;	    /* of the directory it is in */
	/* For the matcher to set: */
	bool enter;	/* look at its own entries, where it is a directory */
	uint32_t child; /* the state of these */
	/* For walk_take(): */
	int dir;
	unsigned char type;
};

struct walk;

/**
 * struct walk_rules - a matcher; both return 0, or -errno to end the walk
 * @look: asked about every entry; may call walk_take()
 * @blind: told that the directory with this state can't be read to its end;
 *	may call walk_blind()
 */
struct walk_rules {
	int (*look)(void *matcher, struct walk *walk, struct walk_seen *seen);
	int (*blind)(void *matcher, struct walk *walk, uint32_t state);
};

/** walk_take() - put the entry at hand on the list of those taken */
int walk_take(struct walk *walk, struct walk_seen *seen, uint32_t tag);

/** walk_blind() - put the directory at hand on the list of those unseen */
int walk_blind(struct walk *walk, uint32_t tag);

/**
 * walk_tree() - look at the entries beneath @root
 * @root: absolute; links on the way to it are followed
 * @state: of @root itself
 * @limits: lowered by what was used
 * @result: added to; may hold what an earlier walk found. To be freed also
 *	where this fails.
 *
 * Beneath @root no link is followed; mounts are crossed, since what counts is
 * the tree that a command would see. A directory that goes away meanwhile is
 * passed over. No path is too long, and a tree may be as deep as the bound on
 * memory lets it.
 *
 * Return: 0, or -errno: that of opening @root (but where reading is refused,
 * it is told to the matcher as any other), -E2BIG when a bound is met,
 * -ESTALE when the tree was moved about so that the way back is lost.
 */
int walk_tree(const char *root, const struct walk_rules *rules, void *matcher,
	      uint32_t state, struct walk_limits *limits,
	      struct walk_result *result);

/**
 * walk_grow() - memory within the limits, for matchers as well
 * @buffer: address of the pointer, which is to memory of malloc(3) or NULL
 * @size: bytes that are there; never less than @need afterwards
 * Return: 0, -ENOMEM, or -E2BIG.
 */
int walk_grow(struct walk_limits *limits, void *buffer, size_t *size,
	      size_t need);

/** walk_result_sort() - by path, then by tag */
void walk_result_sort(struct walk_result *result);

void walk_result_free(struct walk_result *result);

/** walk_type_name() - "file", "dir", "link" ... for DT_*, as in srt.c.sys */
const char *walk_type_name(unsigned char type);

#endif
