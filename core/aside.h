/* SPDX-License-Identifier: Apache-2.0 */
/* Puts things aside that a command left behind, and losing none of them. */
#ifndef SRT_ASIDE_H
#define SRT_ASIDE_H

#include <stddef.h>
#include <sys/types.h>

/**
 * aside_move() - rename an entry to a name beside it that is free
 *
 * Follows no link, neither in the folders that lead to it nor at the end, and
 * never overwrites. In a folder that its owner, who is the caller, has closed
 * to writing as well.
 * @path: absolute
 * @suffix: what is added to the name, and a number where that is taken
 * @name: filled with the new name
 * Return: 0 or -errno.
 */
int aside_move(const char *path, const char *suffix, char *name, size_t size);

/**
 * aside_write() - make a file that is not there yet
 *
 * As careful as aside_move().
 * Return: 0 or -errno, -EEXIST where something is in its place.
 */
int aside_write(const char *path, const void *text, size_t size, mode_t mode);

/**
 * aside_replace() - give a plain file another content, at once or not at all
 *
 * As careful as aside_move(). Its owner and mode stay; what else it had, as
 * access lists, is lost. Where the caller could not give a new file that owner
 * and group, the file itself is written, and keeps all it has; should that be
 * cut short (power, a failing disk), the whole content is in a file beside it.
 * Return: 0 or -errno: -EINVAL for what is no plain file, -EMLINK where it has
 * more names, -EPERM where it is another's and can't be written, -EEXIST where
 * a file that was written beside it before is in the way.
 */
int aside_replace(const char *path, const void *text, size_t size);

/**
 * aside_open_up() - change the mode of a folder of the caller's
 * @mode: 0: its owner may list, enter and change it, and keeps what else it has
 * Return: its mode before, or -errno.
 */
int aside_open_up(const char *path, mode_t mode);

#endif
