/* SPDX-License-Identifier: Apache-2.0 */
/* Of srt.c.sys: what the kernel says of mounts, in fields; see api_sys.md. */
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "lua/api.h"

struct part {
	const char *at;
	size_t size;
};

/* Of proc_pid_mountinfo(5), without the optional ones and the source. */
enum { ID, PARENT, DEVICE, ROOT, POINT, OPTIONS, KIND, SUPER, PARTS };

static const char *const names[PARTS] = {
	[ID] = "id",	 [PARENT] = "parent", [DEVICE] = "device",
	[ROOT] = "root", [POINT] = "point",   [OPTIONS] = "options",
	[KIND] = "kind", [SUPER] = "super",
};

/* Takes what is before the next space off @rest. */
static struct part next(struct part *rest)
{
	const char *space = memchr(rest->at, ' ', rest->size);
	size_t size = space ? (size_t)(space - rest->at) : rest->size;
	struct part part = { rest->at, size };

	rest->at += size + (space != NULL);
	rest->size -= size + (space != NULL);
	return part;
}

static bool is_dash(struct part part)
{
	return part.size == 1 && *part.at == '-';
}

static bool split(struct part line, struct part parts[PARTS])
{
	struct part optional;

	for (int i = ID; i <= OPTIONS; i++) {
		parts[i] = next(&line);
		if (!parts[i].size)
			return false;
	}
	do
		optional = next(&line);
	while (line.size && !is_dash(optional));
	parts[KIND] = next(&line);
	(void)next(&line); /* the source, which may be empty */
	parts[SUPER] = next(&line);
	return is_dash(optional) && parts[KIND].size;
}

static bool is_octal(const char *at)
{
	for (int i = 0; i < 3; i++)
		if (at[i] < '0' || at[i] > '7')
			return false;
	return true;
}

/* The kernel writes some bytes as a backslash and three octal digits. */
static void push(lua_State *L, struct part part)
{
	luaL_Buffer buffer;

	if (!memchr(part.at, '\\', part.size)) {
		lua_pushlstring(L, part.at, part.size);
		return;
	}
	luaL_buffinit(L, &buffer);
	for (size_t i = 0; i < part.size; i++) {
		const char *at = part.at + i;

		if (*at == '\\' && part.size - i > 3 && is_octal(at + 1)) {
			luaL_addchar(&buffer, (char)((at[1] - '0') << 6 |
						     (at[2] - '0') << 3 |
						     (at[3] - '0')));
			i += 3;
		} else {
			luaL_addchar(&buffer, *at);
		}
	}
	luaL_pushresult(&buffer);
}

static bool is_one_of(lua_State *L, int kinds, struct part kind)
{
	bool is;

	lua_pushlstring(L, kind.at, kind.size);
	is = lua_rawget(L, kinds) != LUA_TNIL;
	lua_pop(L, 1);
	return is;
}

static void push_mount(lua_State *L, const struct part parts[PARTS],
		       const bool given[PARTS])
{
	lua_createtable(L, 0, PARTS);
	for (int i = 0; i < PARTS; i++) {
		if (!given[i])
			continue;
		push(L, parts[i]);
		lua_setfield(L, -2, names[i]);
	}
}

int api_sys_mounts(lua_State *L)
{
	static const bool all[PARTS] = { true, true, true, true,
					 true, true, true, true };
	/* Of those of some kinds few ask for more, and a run waits for it. */
	static const bool place[PARTS] = {
		[ROOT] = true, [POINT] = true, [KIND] = true
	};
	bool chosen = !lua_isnoneornil(L, 2);
	struct part rest, parts[PARTS];
	lua_Integer count = 0;

	rest.at = luaL_checklstring(L, 1, &rest.size);
	if (chosen)
		luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	lua_newtable(L);
	while (rest.size) {
		const char *end = memchr(rest.at, '\n', rest.size);
		size_t size = end ? (size_t)(end - rest.at) : rest.size;
		struct part line = { rest.at, size };

		rest.at += size + (end != NULL);
		rest.size -= size + (end != NULL);
		if (!split(line, parts) ||
		    (chosen && !is_one_of(L, 2, parts[KIND])))
			continue;
		push_mount(L, parts, chosen ? place : all);
		lua_rawseti(L, 3, ++count);
	}
	return 1;
}
