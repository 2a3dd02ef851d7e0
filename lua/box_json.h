/* SPDX-License-Identifier: Apache-2.0 */
/* srt.json: the two halves. */
#ifndef SRT_LUA_BOX_JSON_H
#define SRT_LUA_BOX_JSON_H

#include <lua.h>

#define JSON_MAX_DEPTH 64

/**
 * box_json_decode - srt.json.decode(s): value, or nil and a message
 *
 * RFC 8259, strict: UTF-8, no duplicate keys, no lone surrogates, nothing
 * after the value. null is upvalue 1 in arrays and at the top; in objects the
 * key is left out.
 */
int box_json_decode(lua_State *B);

/**
 * box_json_encode - srt.json.encode(v): text with sorted keys
 *
 * A table with values at 1 to n only is an array, an empty one too. Upvalue 1
 * is null. Throws for what JSON can't hold.
 */
int box_json_encode(lua_State *B);

/** box_utf8_length - bytes of the well-formed UTF-8 sequence at @s, or 0 */
size_t box_utf8_length(const char *s, size_t left);

#endif
