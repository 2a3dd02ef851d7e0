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

static bool same_rule(const struct rule *a, const struct rule *b)
{
	return a->deny == b->deny && a->trustee == b->trustee &&
	       a->flags == b->flags && a->mask == b->mask;
}

/* Windows' names differ in more than the case of ASCII only where nothing of
 * ours folds them: then two holds are counted apart, and each is taken back.
 */
static bool same_hold(const struct hold *hold, const char *path,
		      const struct rule *rule)
{
	return same_rule(&hold->rule, rule) &&
	       strcasecmp(hold->path, path) == 0;
}

int journal_hold(struct journal *journal, const struct hold *hold)
{
	struct hold *holds =
		realloc(journal->holds, (journal->count + 1) * sizeof(*holds));
	char *path = strdup(hold->path);

	if (holds)
		journal->holds = holds;
	if (!holds || !path) {
		free(path);
		return -ENOMEM;
	}
	holds[journal->count] = *hold;
	holds[journal->count++].path = path;
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

static bool plan_grants(const struct win_plan *plan, const struct hold *hold)
{
	for (size_t i = 0; i < plan->path_count; i++)
		for (unsigned j = 0; j < plan->paths[i].count; j++)
			if (same_hold(hold, plan->paths[i].path,
				      &plan->paths[i].rules[j]))
				return true;
	return false;
}

static bool held(const struct journal *journal, const char *path,
		 const struct rule *rule)
{
	for (size_t i = 0; i < journal->count; i++)
		if (same_hold(&journal->holds[i], path, rule))
			return true;
	return false;
}

const char *journal_conflict(const struct journal *journal,
			     const struct win_plan *plan)
{
	for (size_t i = 0; i < journal->count; i++)
		if (grants(&journal->holds[i].rule) &&
		    !plan_grants(plan, &journal->holds[i]))
			return journal->holds[i].path;
	/* All that run agree, so the holds of one of them are those of each. */
	for (size_t i = 0; journal->count && i < plan->path_count; i++)
		for (unsigned j = 0; j < plan->paths[i].count; j++)
			if (grants(&plan->paths[i].rules[j]) &&
			    !held(journal, plan->paths[i].path,
				  &plan->paths[i].rules[j]))
				return plan->paths[i].path;
	return NULL;
}

bool journal_made(const struct journal *journal, const char *path)
{
	for (size_t i = 0; i < journal->count; i++)
		if (journal->holds[i].made &&
		    strcasecmp(journal->holds[i].path, path) == 0)
			return true;
	return false;
}

static bool same_holder(const struct holder *a, const struct holder *b)
{
	return a->pid == b->pid && a->started == b->started;
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
	journal->holds[i] = journal->holds[--journal->count];
	*last = !held(journal, out->path, &out->rule);
	return true;
}

void journal_free(struct journal *journal)
{
	for (size_t i = 0; i < journal->count; i++)
		free(journal->holds[i].path);
	free(journal->holds);
	*journal = (struct journal){ 0 };
}
