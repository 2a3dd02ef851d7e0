/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what srt-win.exe reads: plans (p), access lists (a), journals (j); the
 * first byte says which.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "core/windows/acl.h"
#include "core/windows/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void plan(const char *text, size_t size)
{
	struct win_plan plan;
	struct failure failure;

	if (win_plan_read(&plan, text, size, &failure))
		return;
	check(port_range_good(plan.range));
	for (size_t i = 0; i < plan.path_count; i++)
		check(plan.paths[i].path[1] == ':' && plan.paths[i].count);
	win_plan_free(&plan);
}

/* What is added is there, in a list that is one, and comes out again. */
static void list(const uint8_t *bytes, size_t size)
{
	struct ace ace = { .deny = size & 1, .flags = 3, .mask = 0x1301bf };
	struct acl_bytes more, back;
	unsigned had;

	check(sid_parse(&ace.sid, "S-1-5-21-1-2-3-1001"));
	if (!acl_valid(bytes, size) || acl_add(bytes, &ace, &more))
		return;
	had = acl_count(bytes, &ace);
	check(acl_valid(more.bytes, more.size));
	check(acl_count(more.bytes, &ace) == had + 1);
	check(acl_remove(more.bytes, &ace, &back) == 0);
	check(back.size == size && acl_count(back.bytes, &ace) == had);
	free(back.bytes);
	free(more.bytes);
}

static void journal(const char *text, size_t size)
{
	struct journal journal, again;
	char *printed;

	if (journal_parse(&journal, text, size))
		return;
	printed = journal_print(&journal);
	check(printed && journal_parse(&again, printed, strlen(printed)) == 0);
	check(again.count == journal.count);
	free(printed);
	journal_free(&again);
	journal_free(&journal);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	owned_ptr uint8_t *copy = malloc(size ? size : 1);

	if (!size)
		return 0;
	/* Just as long as it is, for the sanitizer to see what is read beyond.
	 */
	check(copy != NULL);
	memcpy(copy, data, size);
	if (*data == 'p')
		plan((const char *)copy + 1, size - 1);
	else if (*data == 'a')
		list(copy + 1, size - 1);
	else if (*data == 'j')
		journal((const char *)copy + 1, size - 1);
	return 0;
}
