/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files for the box: regular ones only, bounded, links as said. */
#ifndef SRT_LUA_BOX_FILE_H
#define SRT_LUA_BOX_FILE_H

#include <limits.h>
#include <stddef.h>

#define BOX_SOURCE_MAX ((size_t)1 << 20)

/**
 * box_file_read - read a whole regular file
 * @path: links in it are followed, once, to @real; what is opened is @real
 *	without following any
 * @max: bytes; a longer file is -EFBIG
 * @data: where 0 is returned, the bytes; free() them
 * @real: PATH_MAX bytes, the real path
 *
 * Return: 0 or -errno (-EINVAL: no regular file).
 */
int box_file_read(const char *path, size_t max, char **data, size_t *size,
		  char *real);

/**
 * box_file_read_beneath - read a regular file in a folder
 * @root: O_PATH descriptor of the folder
 * @path: relative; neither links nor ".." are followed (openat2(2))
 *
 * Return: 0 or -errno.
 */
int box_file_read_beneath(int root, const char *path, size_t max, char **data,
			  size_t *size);

/** box_file_root - O_PATH descriptor of a real folder, or -errno */
int box_file_root(const char *path);

#endif
