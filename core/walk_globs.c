/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matcher of core/glob.c, cut at the slashes. All patterns are one row of
 * tokens; the state of a directory is the set of those that can come next in
 * it. Equal sets are one state, which also knows what is said of a name by its
 * first byte alone: with two stars and "/.env" a whole tree has one state, and
 * most names cost one look at a bit.
 */
#include "core/walk_globs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/glob_token.h"
#include "core/util.h"

#define NAME_SIZE 1024 /* longer than what any file system gives */
#define BUCKETS 4096
#define NONE UINT32_MAX

/* A token in the row; the last of each pattern is its end. */
struct place {
	struct glob_token token;
	uint32_t pattern;
	bool end;
};

/* What a state says of one pattern. */
struct part {
	uint32_t pattern;
	uint32_t from, to; /* in globs.live: the tokens that can come next */
	uint32_t kept;	   /* up to here those that can come next in a */
			   /* directory whose name has none of the heads */
	uint64_t heads[4]; /* first bytes of names to be looked at closely */
};

struct state {
	uint32_t from, to; /* in globs.parts */
	uint32_t next;	   /* with the same hash */
	uint32_t other;	   /* of directories with none of all heads */
};

struct globs {
	struct walk_limits *limits;
	struct place *places;
	struct part *parts;
	struct state *states;
	uint32_t *live;
	size_t place_count, part_count, state_count, live_count;
	size_t parts_size, states_size, live_size; /* in bytes */
	uint32_t buckets[BUCKETS];
	/* The state in the making: tokens in order. */
	uint32_t *next;
	size_t next_count;
	uint32_t last; /* the last token that was live, in next or implied */
	/* The name at hand with a slash, and where the pattern can be in it. */
	unsigned char positions[NAME_SIZE + 2];
	char text[NAME_SIZE + 1];
};

static bool may_be_empty(const struct place *place)
{
	return !place->end && place->token.kind >= GLOB_STAR;
}

/* A token after one that may be empty goes without saying. */
static void add_next(struct globs *g, uint32_t token)
{
	bool implied = token && g->last == token - 1 &&
		       may_be_empty(&g->places[token - 1]);

	g->last = token;
	if (!implied)
		g->next[g->next_count++] = token;
}

static void start_next(struct globs *g)
{
	g->next_count = 0;
	g->last = NONE;
}

static void set_heads(struct part *part, const struct glob_token *token)
{
	for (unsigned int byte = 0; byte < 256; byte++) {
		/* Of what is not ASCII the first byte says little. */
		bool set = token->kind == GLOB_BYTE
				   ? byte == (unsigned char)token->byte
			   : token->kind == GLOB_SET
				   ? byte >= 0x80 || glob_set_has(token, byte)
				   : token->kind != GLOB_DIRS;

		if (set)
			part->heads[byte / 64] |= 1ULL << byte % 64;
	}
}

static bool has_head(const struct part *part, unsigned char byte)
{
	return part->heads[byte / 64] >> byte % 64 & 1;
}

static int add_live(struct globs *g, const uint32_t *tokens, size_t count)
{
	int error = walk_grow(g->limits, &g->live, &g->live_size,
			      (g->live_count + count) * sizeof(*tokens));

	if (!error && count)
		memcpy(g->live + g->live_count, tokens,
		       count * sizeof(*tokens));
	g->live_count += error ? 0 : count;
	return error;
}

/* The tokens of a set one by one, with those that go without saying. */
static uint32_t follow(const struct globs *g, const uint32_t **p,
		       const uint32_t *end, uint32_t at)
{
	if (at != NONE && may_be_empty(&g->places[at]))
		return at + 1;
	return *p < end ? *(*p)++ : NONE;
}

static int fill_part(struct globs *g, struct part *part, const uint32_t *tokens,
		     size_t count)
{
	const uint32_t *p = tokens, *end = tokens + count;
	uint32_t kept = NONE, at = NONE;
	int error = add_live(g, tokens, count);

	part->to = (uint32_t)g->live_count;
	while (!error && (at = follow(g, &p, end, at)) != NONE) {
		const struct place *place = &g->places[at];

		if (place->end)
			continue;
		set_heads(part, &place->token);
		if (place->token.kind != GLOB_DIRS)
			continue;
		if (kept == NONE || kept != at - 1)
			error = add_live(g, &at, 1);
		kept = at;
	}
	part->kept = (uint32_t)g->live_count;
	return error;
}

static int add_part(struct globs *g, const uint32_t *tokens, size_t count)
{
	struct part part = { .pattern = g->places[*tokens].pattern,
			     .from = (uint32_t)g->live_count };
	int error = fill_part(g, &part, tokens, count);

	if (!error)
		error = walk_grow(g->limits, &g->parts, &g->parts_size,
				  (g->part_count + 1) * sizeof(part));
	if (!error)
		g->parts[g->part_count++] = part;
	return error;
}

static bool is_next(const struct globs *g, const struct state *state)
{
	size_t at = 0;

	for (uint32_t i = state->from; i < state->to; i++) {
		const struct part *part = &g->parts[i];
		size_t count = part->to - part->from;

		if (count > g->next_count - at ||
		    memcmp(g->live + part->from, g->next + at,
			   count * sizeof(*g->next)) != 0)
			return false;
		at += count;
	}
	return at == g->next_count;
}

static int add_state(struct globs *g, uint32_t *bucket)
{
	struct state state = { .from = (uint32_t)g->part_count,
			       .next = *bucket,
			       .other = NONE };
	int error = walk_grow(g->limits, &g->states, &g->states_size,
			      (g->state_count + 1) * sizeof(state));

	for (size_t i = 0, from; !error && i < g->next_count;) {
		uint32_t pattern = g->places[g->next[i]].pattern;

		for (from = i; i < g->next_count; i++)
			if (g->places[g->next[i]].pattern != pattern)
				break;
		error = add_part(g, g->next + from, i - from);
	}
	if (error)
		return error;
	state.to = (uint32_t)g->part_count;
	*bucket = (uint32_t)g->state_count;
	g->states[g->state_count++] = state;
	return 0;
}

/* The state that g->next is. */
static int intern(struct globs *g, uint32_t *id)
{
	uint32_t hash = 2166136261U;

	for (size_t i = 0; i < g->next_count; i++)
		hash = (hash ^ g->next[i]) * 16777619U;
	hash = (hash ^ hash >> 15) % BUCKETS;
	for (*id = g->buckets[hash]; *id != NONE; *id = g->states[*id].next)
		if (is_next(g, &g->states[*id]))
			return 0;
	*id = (uint32_t)g->state_count;
	return add_state(g, &g->buckets[hash]);
}

/* Does the pattern end with the name? What can come after it is in g->next. */
static bool run_part(struct globs *g, const struct part *part, size_t size)
{
	struct glob_front f = { .text = g->text,
				.size = size + 1,
				.path = true,
				.live = g->positions,
				.first = 1 };
	const uint32_t *p = g->live + part->from, *end = g->live + part->to;
	bool found = false;

	for (uint32_t at = *p; p < end || f.first <= f.last; at++) {
		const struct place *place;

		if (f.first > f.last)
			at = *p;
		if (p < end && *p == at) {
			p++;
			f.live[0] = 1;
			f.last = f.first > f.last ? 0 : f.last;
			f.first = 0;
		}
		place = &g->places[at];
		if (place->end) {
			found = f.live[size];
			break;
		}
		if (f.live[size + 1] || place->token.kind >= GLOB_ANY)
			add_next(g, at);
		glob_step(&f, &place->token);
	}
	memset(g->positions, 0, size + 2);
	return found;
}

static int look_closely(struct globs *g, const struct part *part,
			struct walk *walk, struct walk_seen *seen)
{
	return run_part(g, part, seen->size)
		       ? walk_take(walk, seen, part->pattern)
		       : 0;
}

static bool may_be_dir(const struct walk_seen *seen)
{
	return seen->type == DT_DIR || seen->type == DT_UNKNOWN;
}

/* Asks all patterns; *other: none of them had to look closely. */
static int ask(struct globs *g, struct walk *walk, struct walk_seen *seen,
	       bool *other)
{
	const struct state *state = &g->states[seen->state];
	unsigned char head = (unsigned char)*seen->name;
	bool keep = may_be_dir(seen);
	int error = 0;

	*other = true;
	for (uint32_t i = state->from; !error && i < state->to; i++) {
		const struct part *part = &g->parts[i];

		if (has_head(part, head)) {
			*other = false;
			error = look_closely(g, part, walk, seen);
			continue;
		}
		for (uint32_t k = part->to; keep && k < part->kept; k++)
			add_next(g, g->live[k]);
	}
	return error;
}

static int look(void *matcher, struct walk *walk, struct walk_seen *seen)
{
	struct globs *g = matcher;
	uint32_t here = seen->state;
	bool other;
	int error;

	if (seen->size > NAME_SIZE)
		return -ENAMETOOLONG;
	memcpy(g->text, seen->name, seen->size);
	g->text[seen->size] = '/';
	start_next(g);
	error = ask(g, walk, seen, &other);
	if (error || !may_be_dir(seen))
		return error;
	if (other && g->states[here].other != NONE) {
		seen->child = g->states[here].other;
	} else {
		error = intern(g, &seen->child);
		if (other && !error)
			g->states[here].other = seen->child;
	}
	/* A state without parts: nothing can match any more. */
	seen->enter = !error &&
		      g->states[seen->child].from != g->states[seen->child].to;
	return error;
}

static int blind(void *matcher, struct walk *walk, uint32_t id)
{
	const struct globs *g = matcher;
	const struct state *state = &g->states[id];
	int error = 0;

	for (uint32_t i = state->from; !error && i < state->to; i++)
		error = walk_blind(walk, g->parts[i].pattern);
	return error;
}

static void compile(struct globs *g, const char *pattern, uint32_t number)
{
	const char *end = pattern + strlen(pattern);

	add_next(g, (uint32_t)g->place_count);
	while (pattern < end)
		g->places[g->place_count++] = (struct place){
			.token = glob_take(&pattern, end, true),
			.pattern = number,
		};
	g->places[g->place_count++] =
		(struct place){ .pattern = number, .end = true };
}

static int walk_compiled(const char *root, struct globs *g,
			 const char *const *patterns, size_t count,
			 struct walk_result *result)
{
	static const struct walk_rules rules = { look, blind };
	uint32_t first;
	int error;

	memset(g->buckets, 0xff, sizeof(g->buckets)); /* NONE */
	start_next(g);
	for (size_t i = 0; i < count; i++)
		compile(g, patterns[i], (uint32_t)i);
	error = intern(g, &first);
	return error ? error
		     : walk_tree(root, &rules, g, first, g->limits, result);
}

int walk_globs(const char *root, const char *const *patterns, size_t count,
	       struct walk_limits *limits, struct walk_result *result)
{
	owned_ptr struct globs *g = calloc(1, sizeof(*g));
	size_t most = count + 1;
	int error = -ENOMEM;

	for (size_t i = 0; i < count; i++)
		most += strlen(patterns[i]);
	if (!g)
		return error;
	g->limits = limits;
	g->places = calloc(most, sizeof(*g->places));
	g->next = calloc(most, sizeof(*g->next));
	if (g->places && g->next)
		error = walk_compiled(root, g, patterns, count, result);
	limits->bytes += g->parts_size + g->states_size + g->live_size;
	free(g->places);
	free(g->next);
	free(g->parts);
	free(g->states);
	free(g->live);
	return error;
}
