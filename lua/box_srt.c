/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the srt object together; match, now and the log live here too. */
#include "lua/box_srt.h"

#include <errno.h>
#include <lauxlib.h>
#include <time.h>

#include "core/glob.h"
#include "lua/box_host.h"
#include "lua/box_secret.h"
#include "lua/box_state.h"
#include "lua/box_view.h"
#include "lua/box_wait.h"

#define LOG_LINE_MAX 8192
#define LOG_COST 500

/* srt.match(s, pattern) */
static int srt_match(lua_State *B)
{
	size_t size, pattern_size;
	const char *s = luaL_checklstring(B, 1, &size);
	const char *pattern = luaL_checklstring(B, 2, &pattern_size);
	int found;

	/* Saturated: both are at most the box's memory. */
	box_charge(B, (uint64_t)size * pattern_size / 8 + pattern_size / 8);
	found = glob_string(pattern, pattern_size, s, size);
	if (found < 0)
		return luaL_error(B, "not enough memory");
	lua_pushboolean(B, found);
	return 1;
}

/* srt.now() */
static int srt_now(lua_State *B)
{
	lua_pushnumber(B, box_time(box_of(B), CLOCK_REALTIME));
	return 1;
}

struct log_line {
	const char *level, *text;
	size_t size;
};

/* On the host: (log, line) */
static int log_on_host(lua_State *H)
{
	const struct log_line *line = lua_touserdata(H, 2);

	lua_settop(H, 1);
	lua_pushstring(H, line->level);
	lua_pushlstring(H, line->text, line->size);
	lua_callk(H, 2, 0, 0, NULL);
	return 0;
}

/* The text on top goes to the host's log; what fails there is not heard. */
static void write_line(lua_State *B, const char *level)
{
	struct log_line line = { .level = level };
	lua_State *H = box_of(B)->host;
	int top = lua_gettop(H);

	line.text = lua_tolstring(B, -1, &line.size);
	if (line.size > LOG_LINE_MAX)
		line.size = LOG_LINE_MAX;
	if (!lua_checkstack(H, 6))
		return;
	lua_pushcfunction(H, log_on_host);
	lua_getiuservalue(H, 1, BOX_UV_LOG);
	lua_pushlightuserdata(H, &line);
	if (!lua_isnil(H, -2))
		lua_pcall(H, 2, 0, 0);
	lua_settop(H, top);
}

static int log_values(lua_State *B, const char *level, const char *gap)
{
	int n = lua_gettop(B);
	luaL_Buffer out;

	box_charge(B, LOG_COST);
	luaL_checkstack(B, 6, NULL);
	luaL_buffinit(B, &out);
	for (int i = 1; i <= n; i++) {
		if (i > 1)
			luaL_addstring(&out, gap);
		luaL_tolstring(B, i, NULL);
		box_charge_bytes(B, lua_rawlen(B, -1));
		luaL_addvalue(&out);
	}
	luaL_pushresult(&out);
	write_line(B, level);
	return 0;
}

int box_print(lua_State *B)
{
	return log_values(B, "info", "\t");
}

static int log_debug(lua_State *B)
{
	return log_values(B, "debug", " ");
}

static int log_info(lua_State *B)
{
	return log_values(B, "info", " ");
}

static int log_warn(lua_State *B)
{
	return log_values(B, "warn", " ");
}

static int log_error(lua_State *B)
{
	return log_values(B, "error", " ");
}

void box_log_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "debug", log_debug }, { "info", log_info },
		{ "warn", log_warn },	{ "error", log_error },
		{ NULL, NULL },
	};

	luaL_newlib(B, functions);
}

/* Facts that the host may not have. */
static const char *const facts[] = { "platform", "here", "cwd", "home",
				     "user",	 "env",	 NULL };

static void add_parts(lua_State *B)
{
	static const struct {
		const char *name, *full_name;
		void (*open)(lua_State *B);
	} parts[] = {
		{ "base64", "srt.base64", box_base64_open },
		{ "git", "srt.git", box_git_open },
		{ "json", "srt.json", box_json_open },
		{ "log", "srt.log", box_log_open },
		{ "url", "srt.url", box_url_open },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		parts[i].open(B);
		box_view_new(B, parts[i].full_name, BOX_VIEW_STRICT, NULL);
		lua_setfield(B, -2, parts[i].name);
	}
}

void box_srt_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "match", srt_match },
		{ "now", srt_now },
		{ NULL, NULL },
	};

	luaL_checktype(B, -1, LUA_TTABLE);
	luaL_setfuncs(B, functions, 0);
	if (lua_getfield(B, -1, "env") != LUA_TTABLE) {
		lua_pop(B, 1);
		lua_newtable(B);
	}
	box_view_new(B, "srt.env", 0, NULL);
	lua_setfield(B, -2, "env");
	lua_newtable(B);
	lua_setfield(B, -2, "state");
	box_secret_open(B);
	lua_setfield(B, -2, "secret");
	add_parts(B);
	box_answers_open(B);
	box_files_open(B);
	box_glob_open(B);
	box_hash_open(B);
	box_rate_open(B);
	box_wait_functions(B);
	box_view_new(B, "srt", BOX_VIEW_STRICT | BOX_VIEW_FACTS, facts);
}
