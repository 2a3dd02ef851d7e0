/* SPDX-License-Identifier: Apache-2.0 */
/* The line hook's notes: a byte for each line that was run. */
#include "lua/box_cover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lua/box_state.h"

#define MOST_FILES 256
#define MOST_LINES (1 << 20) /* a source has at most 1 MiB */

int box_cover_start(struct box *b)
{
	if (!b->cover)
		b->cover = calloc(1, sizeof(*b->cover));
	return b->cover ? 0 : -ENOMEM;
}

void box_cover_free(struct box *b)
{
	struct box_cover *cover = b->cover;

	for (size_t i = 0; cover && i < cover->count; i++) {
		free(cover->files[i].name);
		free(cover->files[i].lines);
	}
	if (cover)
		free(cover->files);
	free(cover);
	b->cover = NULL;
}

static struct box_covered *add_file(struct box_cover *cover, const char *name)
{
	struct box_covered *files;
	char *copy;

	if (cover->count == MOST_FILES)
		return NULL;
	files = realloc(cover->files, (cover->count + 1) * sizeof(*files));
	if (!files)
		return NULL;
	cover->files = files;
	copy = strdup(name);
	if (!copy)
		return NULL;
	files[cover->count] = (struct box_covered){ .name = copy };
	return &files[cover->count++];
}

static struct box_covered *file_of(struct box_cover *cover, const char *name)
{
	for (size_t i = 0; i < cover->count; i++)
		if (strcmp(cover->files[i].name, name) == 0)
			return &cover->files[i];
	return add_file(cover, name);
}

void box_cover_line(lua_State *B, lua_Debug *ar)
{
	struct box_covered *file;
	size_t line;

	lua_getinfo(B, "Sl", ar);
	if (ar->currentline <= 0 || ar->currentline > MOST_LINES)
		return;
	line = (size_t)ar->currentline;
	file = file_of(box_of(B)->cover, ar->source);
	if (!file)
		return;
	if (line >= file->size) {
		size_t size = 2 * line + 64;
		unsigned char *lines = realloc(file->lines, size);

		if (!lines)
			return;
		memset(lines + file->size, 0, size - file->size);
		file->lines = lines;
		file->size = size;
	}
	file->lines[line] = 1;
}
