/* SPDX-License-Identifier: Apache-2.0 */
/* What walks find: in order, and freed. Pure. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "core/walk.h"

static int by_path(const void *a, const void *b, void *text)
{
	const struct walk_record *left = a, *right = b;
	size_t size = left->size < right->size ? left->size : right->size;
	int order =
		memcmp((char *)text + left->at, (char *)text + right->at, size);

	if (order)
		return order;
	if (left->size != right->size)
		return left->size < right->size ? -1 : 1;
	return (left->tag > right->tag) - (left->tag < right->tag);
}

static void sort(struct walk_list *list)
{
	if (list->count > 1)
		qsort_r(list->records, list->count, sizeof(*list->records),
			by_path, list->text);
}

void walk_result_sort(struct walk_result *result)
{
	sort(&result->taken);
	sort(&result->blind);
}

void walk_result_free(struct walk_result *result)
{
	free(result->taken.records);
	free(result->taken.text);
	free(result->blind.records);
	free(result->blind.text);
	*result = (struct walk_result){ 0 };
}

const char *walk_type_name(unsigned char type)
{
	static const char *const names[] = {
		[DT_REG] = "file",  [DT_DIR] = "dir",	[DT_LNK] = "link",
		[DT_CHR] = "char",  [DT_BLK] = "block", [DT_FIFO] = "fifo",
		[DT_SOCK] = "sock",
	};

	return type < ARRAY_SIZE(names) && names[type] ? names[type] : "other";
}
