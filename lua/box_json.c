/* SPDX-License-Identifier: Apache-2.0 */
/* Strict JSON decoding for the box. */
#include "lua/box_json.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lua/box_srt.h"
#include "lua/box_state.h"
#include "lua/box_view.h"

#define NUMBER_MAX 320

struct json {
	lua_State *B;
	const char *start, *p, *end;
	const char *error;
	int depth;
};

static bool value(struct json *j);

static bool fail(struct json *j, const char *why)
{
	if (!j->error)
		j->error = why;
	return false;
}

static void skip_space(struct json *j)
{
	while (j->p < j->end && (*j->p == ' ' || *j->p == '\t' ||
				 *j->p == '\n' || *j->p == '\r'))
		j->p++;
}

static bool take(struct json *j, char c)
{
	if (j->p == j->end || *j->p != c)
		return false;
	j->p++;
	return true;
}

size_t box_utf8_length(const char *s, size_t left)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t size = u[0] < 0x80   ? 1
		      : u[0] < 0xc2 ? 0
		      : u[0] < 0xe0 ? 2
		      : u[0] < 0xf0 ? 3
		      : u[0] < 0xf5 ? 4
				    : 0;

	if (size == 0 || size > left)
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
	    (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	return size;
}

static bool hex4(struct json *j, uint32_t *out)
{
	uint32_t code = 0;

	if (j->end - j->p < 4)
		return fail(j, "bad \\u escape");
	for (int i = 0; i < 4; i++) {
		char c = *j->p++;
		int digit = c >= '0' && c <= '9'   ? c - '0'
			    : c >= 'a' && c <= 'f' ? c - 'a' + 10
			    : c >= 'A' && c <= 'F' ? c - 'A' + 10
						   : -1;

		if (digit < 0)
			return fail(j, "bad \\u escape");
		code = code << 4 | (uint32_t)digit;
	}
	*out = code;
	return true;
}

static void add_code(luaL_Buffer *out, uint32_t code)
{
	if (code < 0x80) {
		luaL_addchar(out, (char)code);
		return;
	}
	if (code < 0x800) {
		luaL_addchar(out, (char)(0xc0 | code >> 6));
	} else {
		if (code < 0x10000) {
			luaL_addchar(out, (char)(0xe0 | code >> 12));
		} else {
			luaL_addchar(out, (char)(0xf0 | code >> 18));
			luaL_addchar(out, (char)(0x80 | (code >> 12 & 63)));
		}
		luaL_addchar(out, (char)(0x80 | (code >> 6 & 63)));
	}
	luaL_addchar(out, (char)(0x80 | (code & 63)));
}

static bool unicode_escape(struct json *j, luaL_Buffer *out)
{
	uint32_t code, low;

	if (!hex4(j, &code))
		return false;
	if (code >= 0xdc00 && code < 0xe000)
		return fail(j, "lone surrogate");
	if (code >= 0xd800 && code < 0xdc00) {
		if (!take(j, '\\') || !take(j, 'u') || !hex4(j, &low) ||
		    low < 0xdc00 || low >= 0xe000)
			return fail(j, "lone surrogate");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	}
	add_code(out, code);
	return true;
}

static bool escape(struct json *j, luaL_Buffer *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = j->p < j->end ? *j->p++ : 0;
	const char *at = c ? strchr(from, c) : NULL;

	if (c == 'u')
		return unicode_escape(j, out);
	if (!at)
		return fail(j, "bad escape");
	luaL_addchar(out, to[at - from]);
	return true;
}

/* After the opening quote; pushes the string. */
static bool string_rest(struct json *j)
{
	luaL_Buffer out;

	luaL_buffinit(j->B, &out);
	while (j->p < j->end && *j->p != '"') {
		size_t size = box_utf8_length(j->p, (size_t)(j->end - j->p));

		if (size == 0)
			return fail(j, "bad UTF-8");
		if ((unsigned char)*j->p < ' ')
			return fail(j, "control byte in a string");
		if (*j->p == '\\') {
			j->p++;
			if (!escape(j, &out))
				return false;
			continue;
		}
		luaL_addlstring(&out, j->p, size);
		j->p += size;
	}
	if (!take(j, '"'))
		return fail(j, "unfinished string");
	luaL_pushresult(&out);
	return true;
}

static bool digits(struct json *j)
{
	const char *start = j->p;

	while (j->p < j->end && *j->p >= '0' && *j->p <= '9')
		j->p++;
	return j->p > start;
}

/* The grammar is checked here; Lua's own conversion does the rest. */
static bool number(struct json *j)
{
	const char *start = j->p;
	char text[NUMBER_MAX + 1];
	size_t size;
	lua_Number n;

	take(j, '-');
	if (!take(j, '0') && !digits(j))
		return fail(j, "bad value");
	if (take(j, '.') && !digits(j))
		return fail(j, "bad number");
	if (take(j, 'e') || take(j, 'E')) {
		if (!take(j, '+'))
			take(j, '-');
		if (!digits(j))
			return fail(j, "bad number");
	}
	size = (size_t)(j->p - start);
	if (size > NUMBER_MAX)
		return fail(j, "number too long");
	memcpy(text, start, size);
	text[size] = 0;
	if (!lua_stringtonumber(j->B, text))
		return fail(j, "bad number");
	n = lua_tonumber(j->B, -1);
	return n - n == 0 || fail(j, "number too large");
}

static bool word(struct json *j, const char *text)
{
	size_t size = strlen(text);

	if ((size_t)(j->end - j->p) < size || memcmp(j->p, text, size) != 0)
		return false;
	j->p += size;
	return true;
}

static bool array(struct json *j)
{
	lua_Integer n = 0;

	lua_newtable(j->B);
	skip_space(j);
	if (take(j, ']'))
		return true;
	do {
		if (!value(j))
			return false;
		lua_rawseti(j->B, -2, ++n);
		skip_space(j);
	} while (take(j, ','));
	return take(j, ']') || fail(j, "expected ',' or ']'");
}

/* One member into the table on top. */
static bool member(struct json *j)
{
	skip_space(j);
	if (!take(j, '"'))
		return fail(j, "expected a key");
	if (!string_rest(j))
		return false;
	lua_pushvalue(j->B, -1);
	if (lua_rawget(j->B, -3) != LUA_TNIL)
		return fail(j, "the same key twice");
	lua_pop(j->B, 1);
	skip_space(j);
	if (!take(j, ':'))
		return fail(j, "expected ':'");
	if (!value(j))
		return false;
	lua_rawset(j->B, -3);
	skip_space(j);
	return true;
}

/* null keeps its key until here, so that it counts as the key's first. */
static void drop_nulls(struct json *j)
{
	lua_pushnil(j->B);
	while (lua_next(j->B, -2)) {
		bool null = lua_rawequal(j->B, -1, lua_upvalueindex(1));

		lua_pop(j->B, 1);
		if (!null)
			continue;
		lua_pushvalue(j->B, -1);
		lua_pushnil(j->B);
		lua_rawset(j->B, -4);
	}
}

static bool object(struct json *j)
{
	lua_newtable(j->B);
	skip_space(j);
	if (take(j, '}'))
		return true;
	do {
		if (!member(j))
			return false;
	} while (take(j, ','));
	if (!take(j, '}'))
		return fail(j, "expected ',' or '}'");
	drop_nulls(j);
	return true;
}

static bool nested(struct json *j, bool (*parse)(struct json *j))
{
	bool done;

	j->p++;
	if (j->depth == JSON_MAX_DEPTH)
		return fail(j, "nested too deeply");
	luaL_checkstack(j->B, 8, NULL);
	j->depth++;
	done = parse(j);
	j->depth--;
	return done;
}

/* Pushes one value. */
static bool value(struct json *j)
{
	skip_space(j);
	if (j->p == j->end)
		return fail(j, "unexpected end");
	switch (*j->p) {
	case '{':
		return nested(j, object);
	case '[':
		return nested(j, array);
	case '"':
		j->p++;
		return string_rest(j);
	}
	if (word(j, "true"))
		lua_pushboolean(j->B, 1);
	else if (word(j, "false"))
		lua_pushboolean(j->B, 0);
	else if (word(j, "null"))
		lua_pushvalue(j->B, lua_upvalueindex(1));
	else
		return number(j);
	return true;
}

int box_json_decode(lua_State *B)
{
	size_t size;
	const char *text = luaL_checklstring(B, 1, &size);
	struct json j = {
		.B = B, .start = text, .p = text, .end = text + size
	};

	box_charge(B, size / 2);
	if (value(&j)) {
		skip_space(&j);
		if (j.p == j.end)
			return 1;
		fail(&j, "something after the value");
	}
	lua_pushnil(B);
	lua_pushfstring(B, "no JSON: %s at byte %I", j.error,
			(LUAI_UACINT)(j.p - j.start + 1));
	return 2;
}

void box_json_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "decode", box_json_decode },
		{ "encode", box_json_encode },
		{ NULL, NULL },
	};

	lua_newtable(B);
	lua_newtable(B);
	box_view_new(B, "srt.json.null", 0, NULL);
	lua_pushvalue(B, -1);
	lua_setfield(B, -3, "null");
	luaL_setfuncs(B, functions, 1);
}
