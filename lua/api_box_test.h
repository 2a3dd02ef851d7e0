/* SPDX-License-Identifier: Apache-2.0 */
/* What tests and explanations of policies have of a box beside the others. */
#ifndef SRT_LUA_API_BOX_TEST_H
#define SRT_LUA_API_BOX_TEST_H

#include <lua.h>

/** api_box_test_methods - add them to the box's methods on top */
void api_box_test_methods(lua_State *L);

/** api_box_body - srt.c.box.body(text, most) */
int api_box_body(lua_State *L);

#endif
