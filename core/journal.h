/* SPDX-License-Identifier: Apache-2.0 */
/* A file that grows by whole lines, of several processes at once. */
#ifndef SRT_JOURNAL_H
#define SRT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * journal_open() - open a file to append to; it is made (mode 0600) if need be
 *
 * Never waits, and follows no link at the end of the path. What may be opened
 * is a regular file with this one name, or a character device.
 * @path: absolute
 * @own: it must be the caller's, and closed to others
 * Return: a descriptor owned by the caller, or -errno (-EPERM for another kind
 * of file or owner).
 */
int journal_open(const char *path, bool own);

/**
 * journal_append() - append @text in one write(2)
 *
 * So lines of several processes don't mix. A limit on the size of files is an
 * error, not a signal.
 * Return: 0 or -errno; -ENOSPC also where a part was written.
 */
int journal_append(int fd, const char *text, size_t size);

/**
 * journal_turn() - begin a new file where this one has got long
 *
 * The long one is renamed to @path with ".1", in place of the one before. Who
 * else has it open learns of it by this call, too.
 * @most: bytes
 * Return: 1 where @fd is @path no longer, so that it is to be opened again; 0
 * where all stays; or -errno.
 */
int journal_turn(const char *path, int fd, off_t most);

#endif
