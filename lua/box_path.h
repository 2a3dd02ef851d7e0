/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as policies write them. */
#ifndef SRT_LUA_BOX_PATH_H
#define SRT_LUA_BOX_PATH_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * box_check_loading - throw in a callback: @name works at load time only
 *
 * What is read makes up the policy, and is kept from the command; what would
 * be read later the command may have written, and it stalls the proxy.
 */
void box_check_loading(lua_State *B, const char *name);

/**
 * box_push_path - push the absolute form of the path at @arg
 *
 * "~" is the home directory, other relative paths start at the working
 * directory. Pays for the system call that is to follow. Throws for an empty
 * path, a zero byte, and what is no string.
 */
const char *box_push_path(lua_State *B, int arg);

/**
 * box_push_file - push the content of a file, and note that it was read
 * @max: bytes
 *
 * Three stack slots must be free. Throws for lack of memory only.
 *
 * Return: 0 or -errno, as box_file_read().
 */
int box_push_file(lua_State *B, const char *path, size_t max);

/** box_file_error - a message for what the box_file_*() functions return */
const char *box_file_error(int err);

#endif
