/* SPDX-License-Identifier: Apache-2.0 */
/* How much was sent to where nothing leads, by the kernel's own count. */
#include "core/unreached.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util.h"

/* All that is wanted comes early in these files. */
#define TEXT_SIZE 8192

void unreached_open(struct unreached *unreached)
{
	unreached->v4 = open("/proc/self/net/snmp", O_RDONLY | O_CLOEXEC);
	unreached->v6 = open("/proc/self/net/snmp6", O_RDONLY | O_CLOEXEC);
}

static bool read_file(int fd, char text[TEXT_SIZE])
{
	ssize_t size = fd < 0 ? -1 : pread(fd, text, TEXT_SIZE - 1, 0);

	text[size > 0 ? size : 0] = '\0';
	return size > 0;
}

static bool is_wanted(const char *name)
{
	return !strcmp(name, "OutNoRoutes") || !strcmp(name, "OutDiscards");
}

/* A line of names, then one of their values; those of IP come first. */
static uint64_t count_v4(char *text)
{
	char *names = text, *values = strchr(text, '\n'), *name, *value;
	char *more_names = NULL, *more_values = NULL;
	uint64_t count = 0;

	if (!values)
		return 0;
	*values++ = '\0';
	values[strcspn(values, "\n")] = '\0';
	name = strtok_r(names, " ", &more_names);
	value = strtok_r(values, " ", &more_values);
	while (name && value) {
		if (is_wanted(name))
			count += strtoull(value, NULL, 10);
		name = strtok_r(NULL, " ", &more_names);
		value = strtok_r(NULL, " ", &more_values);
	}
	return count;
}

/* A line for each, of name and value. */
static uint64_t count_v6(char *text)
{
	char *more = NULL, *word = strtok_r(text, " \t\n", &more);
	uint64_t count = 0;

	for (; word; word = strtok_r(NULL, " \t\n", &more)) {
		bool wanted = !strncmp(word, "Ip6", 3) && is_wanted(word + 3);

		word = strtok_r(NULL, " \t\n", &more);
		if (word && wanted)
			count += strtoull(word, NULL, 10);
	}
	return count;
}

uint32_t unreached_count(const struct unreached *unreached)
{
	char text[TEXT_SIZE];
	uint64_t count = 0;

	if (read_file(unreached->v4, text))
		count += count_v4(text);
	if (read_file(unreached->v6, text))
		count += count_v6(text);
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}
