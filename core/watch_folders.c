/* SPDX-License-Identifier: Apache-2.0 */
/* Folders that were writable a moment ago. Pure but for the clock. */
#include "core/watch_folders.h"

#include <stdint.h>
#include <string.h>

#include "core/system.h"

/* What the host does to a folder shows so much later. */
#define KEPT_MS 100

static size_t place_of(const char *path, size_t size)
{
	uint32_t hash = UINT32_C(0x811c9dc5);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)path[i]) * UINT32_C(0x01000193);
	return (hash ^ hash >> 16) % WATCH_FOLDERS;
}

bool watch_folders_know(const struct watch_folders *folders, const char *path,
			size_t size)
{
	const struct watch_folder *folder =
		&folders->kept[place_of(path, size)];

	return size && folder->size == size &&
	       !memcmp(folder->path, path, size) &&
	       sys_now_ms() < folder->until;
}

void watch_folders_keep(struct watch_folders *folders, const char *path,
			size_t size)
{
	struct watch_folder *folder = &folders->kept[place_of(path, size)];

	if (size > sizeof(folder->path))
		return;
	folder->until = sys_now_ms() + KEPT_MS;
	folder->size = size;
	memcpy(folder->path, path, size);
}

void watch_folders_forget(struct watch_folders *folders)
{
	for (size_t i = 0; i < WATCH_FOLDERS; i++)
		folders->kept[i].size = 0;
}
