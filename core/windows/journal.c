/* SPDX-License-Identifier: Apache-2.0 */
/* A line a hold, numbers first, the path last. */
#include "core/windows/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBERS = 7, LINE_HEAD = 120, LONGEST_PATH = 32767 };

/*
 * struct held - what somebody holds: an entry of a path's list
 * @path: of one of the holds, which may have been taken since
 * @count: by so many processes, @ours of them by one that was asked about
 * @made: so many of them have made the path
 */
struct held {
	const char *path;
	struct rule rule;
	size_t count, ours, made;
};

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Windows' names differ in more than the case of ASCII only where nothing of
 * ours folds them: then two holds are counted apart, and each is taken back.
 */
static int by_path_and_rule(const void *left, const void *right)
{
	const struct held *a = left, *b = right;
	int order = strcasecmp(a->path, b->path);

	order = order ? order : compare(a->rule.deny, b->rule.deny);
	order = order ? order : compare(a->rule.trustee, b->rule.trustee);
	order = order ? order : compare(a->rule.flags, b->rule.flags);
	return order ? order : compare(a->rule.mask, b->rule.mask);
}

static bool same_holder(const struct holder *a, const struct holder *b)
{
	return a->pid == b->pid && a->started == b->started;
}

/* Puts the table in order anew. @us: may be NULL */
static void sort(struct journal *journal, const struct holder *us)
{
	struct held *held = journal->held;
	size_t kinds = 0;

	for (size_t i = 0; i < journal->count; i++) {
		const struct hold *hold = &journal->holds[i];

		held[i] = (struct held){
			.path = hold->path,
			.rule = hold->rule,
			.count = 1,
			.ours = us && same_holder(&hold->holder, us),
			.made = hold->made,
		};
	}
	if (journal->count)
		qsort(held, journal->count, sizeof(*held), by_path_and_rule);
	for (size_t i = 0; i < journal->count; i++) {
		if (!kinds || by_path_and_rule(&held[kinds - 1], &held[i])) {
			held[kinds++] = held[i];
			continue;
		}
		held[kinds - 1].count++;
		held[kinds - 1].ours += held[i].ours;
		held[kinds - 1].made += held[i].made;
	}
	journal->held_count = kinds;
	journal->sorted = journal->count;
}

/* The first of what is held at @path; past the end where there is nothing. */
static size_t first_at(struct journal *journal, const char *path)
{
	size_t low = 0, high;

	if (journal->sorted != journal->count)
		sort(journal, NULL);
	high = journal->held_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcasecmp(journal->held[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_at(const struct journal *journal, size_t at, const char *path)
{
	return at < journal->held_count &&
	       strcasecmp(journal->held[at].path, path) == 0;
}

/* Room for one more, in what is there and in what is made of it. */
static bool has_room(struct journal *journal)
{
	size_t room = journal->room;

	return list_room(&journal->holds, journal->total, &room,
			 sizeof(*journal->holds)) &&
	       list_room(&journal->held, journal->total, &journal->room,
			 sizeof(*journal->held));
}

int journal_hold(struct journal *journal, const struct hold *hold)
{
	char *path = has_room(journal) ? strdup(hold->path) : NULL;

	if (!path)
		return -ENOMEM;
	/* In the place of the first that was taken. */
	if (journal->count < journal->total)
		journal->holds[journal->total] = journal->holds[journal->count];
	journal->total++;
	journal->holds[journal->count] = *hold;
	journal->holds[journal->count++].path = path;
	return 0;
}

static bool read_numbers(const char **at, uint64_t numbers[NUMBERS])
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		char *end;

		if (**at < '0' || **at > '9')
			return false;
		errno = 0;
		numbers[i] = strtoull(*at, &end, 10);
		if (errno || *end != ' ')
			return false;
		*at = end + 1;
	}
	return numbers[0] <= UINT32_MAX && numbers[2] <= 1 &&
	       numbers[3] <= TRUSTEE_OWNER_RIGHTS && numbers[4] <= 3 &&
	       numbers[5] <= 0x1fffff && numbers[6] <= 1;
}

static int read_line(struct journal *out, const char *line)
{
	uint64_t n[NUMBERS];
	struct hold hold;

	if (!read_numbers(&line, n) || !*line || strlen(line) > LONGEST_PATH)
		return -EINVAL;
	hold = (struct hold){
		.holder = { (uint32_t)n[0], n[1] },
		.rule = { n[2] == 1, (enum trustee)n[3], (uint8_t)n[4],
			  (uint32_t)n[5] },
		.made = n[6] == 1,
		.path = (char *)line,
	};
	return journal_hold(out, &hold);
}

int journal_parse(struct journal *out, const char *text, size_t size)
{
	owned_ptr char *copy = malloc(size + 1);
	int error = copy ? 0 : -ENOMEM;

	*out = (struct journal){ 0 };
	if (error)
		return error;
	memcpy(copy, text, size);
	copy[size] = '\0';
	if (strlen(copy) != size)
		return -EINVAL;
	for (char *line = copy, *end; !error && *line; line = end + 1) {
		end = strchr(line, '\n');
		/* It is written whole and then renamed: no line is cut. */
		if (!end) {
			error = -EINVAL;
			break;
		}
		*end = '\0';
		error = read_line(out, line);
	}
	if (error)
		journal_free(out);
	return error;
}

char *journal_print(const struct journal *journal)
{
	size_t size = 1, used = 0;
	char *text;

	for (size_t i = 0; i < journal->count; i++)
		size += LINE_HEAD + strlen(journal->holds[i].path);
	text = malloc(size);
	if (!text)
		return NULL;
	*text = '\0';
	for (size_t i = 0; i < journal->count; i++) {
		const struct hold *hold = &journal->holds[i];

		used += (size_t)snprintf(
			text + used, size - used,
			"%" PRIu32 " %" PRIu64 " %d %d %u %" PRIu32 " %d %s\n",
			hold->holder.pid, hold->holder.started, hold->rule.deny,
			(int)hold->rule.trustee, hold->rule.flags,
			hold->rule.mask, hold->made, hold->path);
	}
	return text;
}

static bool grants(const struct rule *rule)
{
	return !rule->deny && rule->trustee == TRUSTEE_ACCOUNT;
}

const char *journal_conflict(struct journal *journal, const struct holder *us)
{
	size_t ours = 0;

	for (size_t i = 0; i < journal->count; i++)
		ours += same_holder(&journal->holds[i].holder, us);
	sort(journal, us);
	/* All that run agree, so the holds of one of them are those of each. */
	for (size_t i = 0; ours < journal->count && i < journal->held_count;
	     i++) {
		const struct held *held = &journal->held[i];

		if (grants(&held->rule) &&
		    (!held->ours || held->ours == held->count))
			return held->path;
	}
	return NULL;
}

bool journal_made(struct journal *journal, const char *path)
{
	for (size_t i = first_at(journal, path); is_at(journal, i, path); i++)
		if (journal->held[i].made)
			return true;
	return false;
}

/* Counts one less; is it held no more? */
static bool let_go(struct journal *journal, const struct hold *hold)
{
	const struct held what = { .path = hold->path, .rule = hold->rule };
	size_t i = first_at(journal, hold->path);

	while (by_path_and_rule(&journal->held[i], &what) != 0)
		i++;
	journal->held[i].made -= hold->made;
	return --journal->held[i].count == 0;
}

bool journal_take(struct journal *journal, gone_fn *gone, void *data,
		  struct hold *out, bool *last)
{
	size_t i = journal->looked;

	/* A process holds many: it is asked for once for those in a row. */
	while (i < journal->count &&
	       ((i > 0 && same_holder(&journal->holds[i].holder,
				      &journal->holds[i - 1].holder)) ||
		!gone(&journal->holds[i].holder, data)))
		i++;
	journal->looked = i == journal->count ? 0 : i;
	if (i == journal->count)
		return false;
	*out = journal->holds[i];
	*last = let_go(journal, out);
	journal->holds[i] = journal->holds[--journal->count];
	journal->holds[journal->count] = *out;
	journal->sorted--;
	return true;
}

void journal_free(struct journal *journal)
{
	for (size_t i = 0; i < journal->total; i++)
		free(journal->holds[i].path);
	free(journal->holds);
	free(journal->held);
	*journal = (struct journal){ 0 };
}
