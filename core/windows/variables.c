/* SPDX-License-Identifier: Apache-2.0 */
/* Environments: names differ by more than case. Command lines: backslashes
 * count only before a quote.
 */
#include "core/windows/variables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static size_t name_size(const char *text)
{
	return strcspn(text, "=");
}

static bool named(const char *text, const char *name, size_t size)
{
	return name_size(text) == size && strncasecmp(text, name, size) == 0;
}

static size_t find(const struct variables *variables, const char *name,
		   size_t size)
{
	size_t i = 0;

	while (i < variables->count && !named(variables->list[i], name, size))
		i++;
	return i;
}

int variables_put(struct variables *variables, const char *text)
{
	size_t at = find(variables, text, name_size(text));
	char *copy, **list = variables->list;

	if (!name_size(text) || !text[name_size(text)])
		return 0;
	copy = strdup(text);
	if (copy && at == variables->count)
		list = realloc(list, (at + 1) * sizeof(*list));
	if (!copy || !list) {
		free(copy);
		return -ENOMEM;
	}
	if (at < variables->count)
		free(list[at]);
	else
		variables->count++;
	variables->list = list;
	list[at] = copy;
	return 0;
}

void variables_drop(struct variables *variables, const char *name)
{
	size_t at = find(variables, name, strlen(name));

	if (at == variables->count)
		return;
	free(variables->list[at]);
	variables->list[at] = variables->list[--variables->count];
}

static bool listed(const struct json *list, const char *text)
{
	for (const struct json *at = list ? list->child : NULL; at;
	     at = at->next)
		if (at->text && named(text, at->text, strlen(at->text)))
			return true;
	return false;
}

/* Without it hardly anything starts. */
static bool needed(const char *text)
{
	return named(text, "SystemRoot", strlen("SystemRoot"));
}

static int put_pair(struct variables *out, const struct json *pair)
{
	size_t size = strlen(pair->key) + strlen(pair->text) + 2;
	owned_ptr char *text = malloc(size);

	if (!text)
		return -ENOMEM;
	snprintf(text, size, "%s=%s", pair->key, pair->text);
	return variables_put(out, text);
}

int variables_plan(struct variables *out, char *const *caller,
		   const struct win_plan *plan)
{
	bool some = plan->pass && plan->pass->type == JSON_ARRAY;
	int error = 0;

	for (; !error && *caller; caller++)
		if (needed(*caller) || (!listed(plan->account_names, *caller) &&
					(!some || listed(plan->pass, *caller))))
			error = variables_put(out, *caller);
	for (const struct json *at = plan->unset->child; at; at = at->next)
		if (at->text)
			variables_drop(out, at->text);
	for (const struct json *at = plan->set->child; !error && at;
	     at = at->next)
		if (at->text)
			error = put_pair(out, at);
	return error;
}

static int by_name(const void *a, const void *b)
{
	return strcasecmp(*(char *const *)a, *(char *const *)b);
}

void variables_sort(struct variables *variables)
{
	if (variables->count)
		qsort(variables->list, variables->count,
		      sizeof(*variables->list), by_name);
}

void variables_free(struct variables *variables)
{
	for (size_t i = 0; i < variables->count; i++)
		free(variables->list[i]);
	free(variables->list);
	*variables = (struct variables){ 0 };
}

static char *repeat(char *to, char c, size_t count)
{
	memset(to, c, count);
	return to + count;
}

/* cmd.exe takes a word in quotes for no command of its own. */
static bool is_plain(const char *word)
{
	return *word && !strpbrk(word, " \t\n\v\"");
}

static char *quoted(char *to, const char *word)
{
	if (is_plain(word)) {
		memcpy(to, word, strlen(word));
		return to + strlen(word);
	}
	*to++ = '"';
	while (*word) {
		size_t slashes = strspn(word, "\\");
		char next = word[slashes];

		/* Those before a quote, ours at the end too, count double. */
		to = repeat(to, '\\',
			    next == '"' || !next ? 2 * slashes : slashes);
		word += slashes;
		if (next == '"')
			*to++ = '\\';
		if (next) {
			*to++ = next;
			word++;
		}
	}
	*to++ = '"';
	return to;
}

char *command_line(char *const *argv)
{
	size_t size = 1;
	char *line, *to;

	for (char *const *word = argv; *word; word++)
		size += 2 * strlen(*word) + 3;
	line = to = malloc(size);
	if (!line)
		return NULL;
	for (char *const *word = argv; *word; word++) {
		if (word != argv)
			*to++ = ' ';
		to = quoted(to, *word);
	}
	*to = '\0';
	return line;
}
