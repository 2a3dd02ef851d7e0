/* SPDX-License-Identifier: Apache-2.0 */
/* The box's bounded string and table libraries. */
#ifndef SRT_LUA_BOX_STRING_H
#define SRT_LUA_BOX_STRING_H

#include <lua.h>

/**
 * box_string_open - push the string table: the library without dump, every
 * function paying for the work that it does
 */
void box_string_open(lua_State *B);

/** box_find_open - add find, match, gmatch and gsub to the table on top */
void box_find_open(lua_State *B);

/** box_table_open - push the table library, paying likewise */
void box_table_open(lua_State *B);

/**
 * box_sort - sort the list at 1 by `<`, or by the function at 2; @n elements
 * from index 1
 */
void box_sort(lua_State *B, lua_Integer n);

#endif
