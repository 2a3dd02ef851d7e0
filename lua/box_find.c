/* SPDX-License-Identifier: Apache-2.0 */
/* find, match, gmatch and gsub of the box, over the budgeted matcher. */
#include <lauxlib.h>
#include <string.h>

#include "lua/box_state.h"
#include "lua/box_string.h"
#include "lua/pattern.h"

#define STEPS_PER_UNIT 10

/* The matcher may use what is left of the budget. */
static uint64_t lend(lua_State *B, struct pattern *m)
{
	int64_t left = box_of(B)->left;

	m->steps = left < 0 ? 0 : (uint64_t)left;
	if (m->steps > UINT64_MAX / STEPS_PER_UNIT)
		m->steps = UINT64_MAX / STEPS_PER_UNIT;
	m->steps *= STEPS_PER_UNIT;
	return m->steps;
}

/* Pays for what the matcher did; throws its error. */
static void settle(lua_State *B, struct pattern *m, uint64_t lent)
{
	box_charge(B, (lent - m->steps) / STEPS_PER_UNIT);
	if (m->error == PATTERN_BUDGET)
		box_charge(B, (uint64_t)INT64_MAX);
	if (m->error)
		luaL_error(B, "%s", pattern_strerror(m->error));
}

static bool find(lua_State *B, struct pattern *m, const char *at,
		 const char **start, const char **end)
{
	uint64_t lent = lend(B, m);
	int found = pattern_find(m, at, start, end);

	settle(B, m, lent);
	return found > 0;
}

static void push_capture(lua_State *B, struct pattern *m, int i,
			 const char *start, const char *end)
{
	struct pattern_capture capture;

	if (!pattern_capture(m, i, start, end, &capture))
		luaL_error(B, "%s", pattern_strerror(m->error));
	if (capture.kind == PATTERN_POSITION)
		lua_pushinteger(B, capture.start - m->subject + 1);
	else
		lua_pushlstring(B, capture.start, capture.size);
}

/* @whole: the match itself where the pattern has no captures. */
static int push_captures(lua_State *B, struct pattern *m, const char *start,
			 const char *end, bool whole)
{
	int count = m->count || !whole ? m->count : 1;

	luaL_checkstack(B, count, "too many captures");
	for (int i = 0; i < count; i++)
		push_capture(B, m, i, start, end);
	return count;
}

/* The offset that a position argument means; may be beyond the end. */
static size_t offset_arg(lua_State *B, int arg, size_t size)
{
	lua_Integer at = luaL_optinteger(B, arg, 1);

	if (at > 0)
		return (size_t)at - 1;
	if (at == 0 || at < -(lua_Integer)size)
		return 0;
	return size - (size_t)-at;
}

static int find_plain(lua_State *B, const char *s, size_t size, size_t offset)
{
	size_t wanted_size;
	const char *wanted = lua_tolstring(B, 2, &wanted_size);
	const char *at;

	box_charge_bytes(B, 8 * (size - offset) + wanted_size);
	at = memmem(s + offset, size - offset, wanted, wanted_size);
	if (!at) {
		lua_pushnil(B);
		return 1;
	}
	lua_pushinteger(B, at - s + 1);
	lua_pushinteger(B, at - s + (lua_Integer)wanted_size);
	return 2;
}

/* As in the library a lone ')' or ']' is text here, and no error. */
static bool is_plain(const char *pattern, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (pattern[i] && strchr("^$*+?.([%-", pattern[i]))
			return false;
	return true;
}

static int find_or_match(lua_State *B, bool positions)
{
	size_t size, pattern_size, offset;
	const char *s = luaL_checklstring(B, 1, &size), *start, *end;
	const char *pattern = luaL_checklstring(B, 2, &pattern_size);
	struct pattern m;

	offset = offset_arg(B, 3, size);
	if (offset > size) {
		lua_pushnil(B);
		return 1;
	}
	if (positions &&
	    (lua_toboolean(B, 4) || is_plain(pattern, pattern_size)))
		return find_plain(B, s, size, offset);
	pattern_init(&m, pattern, pattern_size, s, size, true);
	if (!find(B, &m, s + offset, &start, &end)) {
		lua_pushnil(B);
		return 1;
	}
	if (!positions)
		return push_captures(B, &m, start, end, true);
	lua_pushinteger(B, start - s + 1);
	lua_pushinteger(B, end - s);
	return push_captures(B, &m, start, end, false) + 2;
}

static int str_find(lua_State *B)
{
	return find_or_match(B, true);
}

static int str_match(lua_State *B)
{
	return find_or_match(B, false);
}

/*
 * The next match at or after @at that does not end where the last one did
 * (so that an empty match never follows a match directly).
 */
static bool find_next(lua_State *B, struct pattern *m, const char *at,
		      const char *last, const char **start, const char **end)
{
	while (find(B, m, at, start, end)) {
		if (*end != last)
			return true;
		if (m->anchored || *start == m->subject_end)
			return false;
		at = *start + 1;
	}
	return false;
}

/* Upvalues: subject, pattern, offset of the next try, end of the last. */
static int gmatch_next(lua_State *B)
{
	size_t size, pattern_size;
	const char *s = lua_tolstring(B, lua_upvalueindex(1), &size);
	const char *pattern =
		lua_tolstring(B, lua_upvalueindex(2), &pattern_size);
	lua_Integer offset = lua_tointeger(B, lua_upvalueindex(3));
	lua_Integer last = lua_tointeger(B, lua_upvalueindex(4));
	const char *start, *end;
	struct pattern m;

	if (offset > (lua_Integer)size)
		return 0;
	pattern_init(&m, pattern, pattern_size, s, size, false);
	if (!find_next(B, &m, s + offset, last < 0 ? NULL : s + last, &start,
		       &end)) {
		lua_pushinteger(B, (lua_Integer)size + 1);
		lua_replace(B, lua_upvalueindex(3));
		return 0;
	}
	lua_pushinteger(B, end - s);
	lua_copy(B, -1, lua_upvalueindex(3));
	lua_replace(B, lua_upvalueindex(4));
	return push_captures(B, &m, start, end, true);
}

static int str_gmatch(lua_State *B)
{
	size_t size, offset;

	luaL_checklstring(B, 1, &size);
	luaL_checkstring(B, 2);
	offset = offset_arg(B, 3, size);
	lua_settop(B, 2);
	lua_pushinteger(B, (lua_Integer)(offset > size ? size + 1 : offset));
	lua_pushinteger(B, -1);
	lua_pushcclosure(B, gmatch_next, 4);
	return 1;
}

/* The replacement string at 3, with its captures put in. */
static void add_text(lua_State *B, luaL_Buffer *out, struct pattern *m,
		     const char *start, const char *end)
{
	size_t size;
	const char *p = lua_tolstring(B, 3, &size), *stop = p + size;
	const char *percent;

	box_charge_bytes(B, size);
	while ((percent = memchr(p, '%', (size_t)(stop - p)))) {
		char c = percent + 1 < stop ? percent[1] : 0;

		luaL_addlstring(out, p, (size_t)(percent - p));
		p = percent + 2;
		if (c == '%') {
			luaL_addchar(out, '%');
		} else if (c == '0') {
			box_charge_bytes(B, (size_t)(end - start));
			luaL_addlstring(out, start, (size_t)(end - start));
		} else if (c >= '1' && c <= '9') {
			push_capture(B, m, c - '1', start, end);
			box_charge_bytes(B, lua_rawlen(B, -1));
			luaL_addvalue(out);
		} else {
			luaL_error(B, "invalid use of '%%' in replacement");
		}
	}
	luaL_addlstring(out, p, (size_t)(stop - p));
}

/* What a function or a table at 3 says for this match; false keeps it. */
static bool add_answer(lua_State *B, luaL_Buffer *out, struct pattern *m,
		       const char *start, const char *end)
{
	if (lua_isfunction(B, 3)) {
		lua_pushvalue(B, 3);
		box_callf(B, push_captures(B, m, start, end, true), 1);
	} else {
		push_capture(B, m, 0, start, end);
		lua_gettable(B, 3);
	}
	if (!lua_toboolean(B, -1)) {
		lua_pop(B, 1);
		luaL_addlstring(out, start, (size_t)(end - start));
		return false;
	}
	if (!lua_isstring(B, -1))
		luaL_error(B, "invalid replacement value (a %s)",
			   luaL_typename(B, -1));
	if (lua_type(B, -1) == LUA_TSTRING)
		box_charge_bytes(B, lua_rawlen(B, -1));
	luaL_addvalue(out);
	return true;
}

static bool add_replacement(lua_State *B, luaL_Buffer *out, struct pattern *m,
			    const char *start, const char *end)
{
	box_charge(B, 1);
	if (!lua_isstring(B, 3))
		return add_answer(B, out, m, start, end);
	add_text(B, out, m, start, end);
	return true;
}

static void check_replacement(lua_State *B)
{
	int type = lua_type(B, 3);

	luaL_argexpected(B,
			 type == LUA_TSTRING || type == LUA_TNUMBER ||
				 type == LUA_TFUNCTION || type == LUA_TTABLE,
			 3, "string/function/table");
	if (type == LUA_TNUMBER)
		lua_tostring(B, 3);
}

static int str_gsub(lua_State *B)
{
	size_t size, pattern_size;
	const char *s = luaL_checklstring(B, 1, &size), *start, *end;
	const char *pattern = luaL_checklstring(B, 2, &pattern_size);
	const char *done = s, *last = NULL;
	lua_Integer most, n = 0;
	bool changed = false;
	struct pattern m;
	luaL_Buffer out;

	check_replacement(B);
	most = luaL_optinteger(B, 4, (lua_Integer)size + 1);
	pattern_init(&m, pattern, pattern_size, s, size, true);
	box_charge_bytes(B, size);
	luaL_buffinit(B, &out);
	while (n < most && find_next(B, &m, done, last, &start, &end)) {
		n++;
		luaL_addlstring(&out, done, (size_t)(start - done));
		changed |= add_replacement(B, &out, &m, start, end);
		done = last = end;
		if (m.anchored)
			break;
	}
	if (changed) {
		luaL_addlstring(&out, done, (size_t)(s + size - done));
		luaL_pushresult(&out);
	} else {
		lua_pushvalue(B, 1);
	}
	lua_pushinteger(B, n);
	return 2;
}

void box_find_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "find", str_find },	  { "match", str_match },
		{ "gmatch", str_gmatch }, { "gsub", str_gsub },
		{ NULL, NULL },
	};

	luaL_setfuncs(B, functions, 0);
}
