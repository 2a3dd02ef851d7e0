/* SPDX-License-Identifier: Apache-2.0 */
/* srt.git: where the repository is, and its remotes. Runs no git. */
#include <ctype.h>
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lua/box_path.h"
#include "lua/box_srt.h"
#include "lua/box_state.h"

#define CONFIG_MAX ((size_t)1 << 20)
#define LINK_MOST ((size_t)8192)
#define STEP_COST 1000

/*
 * Shortens @path to the nearest directory with a .git in it; false where
 * there is none up to the root.
 */
static bool find_toplevel(lua_State *B, char *path)
{
	char entry[PATH_MAX + 8];
	struct stat st;
	char *slash;

	for (;;) {
		box_charge(B, STEP_COST);
		snprintf(entry, sizeof(entry), "%s/.git", path);
		if (stat(entry, &st) == 0)
			return true;
		slash = strrchr(path, '/');
		if (!slash || path[0] == 0)
			return false;
		*slash = 0;
	}
}

/* Copies the directory at @arg, or the working one, without its last '/'. */
static void start_arg(lua_State *B, int arg, char *path)
{
	size_t size;

	if (lua_isnoneornil(B, arg)) {
		lua_settop(B, arg - 1);
		lua_pushliteral(B, ".");
	}
	luaL_checkstring(B, arg);
	if (strcmp(lua_tostring(B, arg), ".") == 0 && box_of(B)->cwd)
		lua_pushstring(B, box_of(B)->cwd);
	else
		box_push_path(B, arg);
	size = lua_rawlen(B, -1);
	if (size >= PATH_MAX)
		luaL_argerror(B, arg, "path too long");
	memcpy(path, lua_tostring(B, -1), size + 1);
	while (size > 0 && path[size - 1] == '/')
		path[--size] = 0;
	lua_pop(B, 1);
}

/* srt.git.toplevel([dir]) */
static int git_toplevel(lua_State *B)
{
	char path[PATH_MAX];

	box_check_loading(B, "srt.git.toplevel");
	start_arg(B, 1, path);
	if (!find_toplevel(B, path))
		return 0;
	lua_pushstring(B, *path ? path : "/");
	return 1;
}

/* The string on top, without @prefix and white space at its end, or NULL. */
static const char *trimmed(lua_State *B, const char *prefix)
{
	size_t size;
	const char *text = lua_tolstring(B, -1, &size);
	size_t skip = strlen(prefix);

	if (size < skip || memcmp(text, prefix, skip) != 0)
		return NULL;
	text += skip;
	size -= skip;
	while (size > 0 && isspace((unsigned char)text[size - 1]))
		size--;
	lua_pushlstring(B, text, size);
	lua_remove(B, -2);
	text = lua_tostring(B, -1);
	return size > 0 && strlen(text) == size ? text : NULL;
}

/*
 * Replaces the directory on top by what the one-line file @name in it says,
 * where there is one: a worktree's .git, its commondir.
 */
static void follow(lua_State *B, const char *name, const char *prefix)
{
	const char *dir = lua_tostring(B, -1), *target;

	lua_pushfstring(B, "%s/%s", dir, name);
	if (box_push_file(B, lua_tostring(B, -1), LINK_MOST) != 0) {
		lua_pop(B, 1);
		return;
	}
	target = trimmed(B, prefix);
	if (!target) {
		lua_pop(B, 2);
		return;
	}
	if (*target == '/')
		lua_pushstring(B, target);
	else
		lua_pushfstring(B, "%s/%s", dir, target);
	lua_replace(B, -4);
	lua_pop(B, 2);
}

/* Pushes the directory with the repository's config. */
static void push_git_dir(lua_State *B, const char *toplevel)
{
	struct stat st;

	lua_pushfstring(B, "%s/.git", toplevel);
	if (stat(lua_tostring(B, -1), &st) == 0 && S_ISDIR(st.st_mode))
		return;
	lua_pop(B, 1);
	lua_pushstring(B, toplevel);
	follow(B, ".git", "gitdir: ");
	follow(B, "commondir", "");
}

struct config {
	lua_State *B;
	const char *p, *end;
	int remotes;
	char remote[256]; /* name of the section, "" where it is another */
};

static char peek(const struct config *c)
{
	return c->p < c->end ? *c->p : '\n';
}

static void skip_blank(struct config *c)
{
	while (c->p < c->end && (*c->p == ' ' || *c->p == '\t'))
		c->p++;
}

static void skip_line(struct config *c)
{
	while (c->p < c->end && *c->p++ != '\n')
		;
}

/* [remote "NAME"]; at the '['. */
static void section(struct config *c)
{
	static const char head[] = "[remote";
	size_t n = 0;

	c->remote[0] = 0;
	if ((size_t)(c->end - c->p) < sizeof(head) ||
	    strncasecmp(c->p, head, sizeof(head) - 1) != 0)
		return;
	c->p += sizeof(head) - 1;
	skip_blank(c);
	if (peek(c) != '"')
		return;
	for (c->p++; peek(c) != '"' && peek(c) != '\n'; c->p++) {
		if (*c->p == '\\' && c->p + 1 < c->end)
			c->p++;
		if (n < sizeof(c->remote) - 1)
			c->remote[n++] = *c->p;
	}
	c->remote[n] = 0;
}

/* One escape of a value; false at the end of the text. */
static bool add_escape(struct config *c, luaL_Buffer *out)
{
	char e = peek(c);

	c->p++;
	if (e == 'n')
		luaL_addchar(out, '\n');
	else if (e == 't')
		luaL_addchar(out, '\t');
	else if (e != '\n')
		luaL_addchar(out, e);
	return c->p < c->end;
}

/* Pushes the value after '=': quotes, escapes, comments, joined lines. */
static void push_value(struct config *c)
{
	bool quoted = false;
	luaL_Buffer out;
	size_t keep = 0;

	skip_blank(c);
	luaL_buffinit(c->B, &out);
	while (peek(c) != '\n') {
		char ch = *c->p++;

		if (ch == '"') {
			quoted = !quoted;
		} else if (ch == '\\') {
			if (!add_escape(c, &out))
				break;
		} else if (!quoted && (ch == '#' || ch == ';')) {
			break;
		} else if (ch != '\r') {
			luaL_addchar(&out, ch);
		}
		if (quoted || !(ch == ' ' || ch == '\t'))
			keep = luaL_bufflen(&out);
	}
	luaL_buffsub(&out, luaL_bufflen(&out) - keep);
	luaL_pushresult(&out);
}

/* name = value */
static void variable(struct config *c)
{
	const char *name = c->p;
	size_t size;

	while (isalnum((unsigned char)peek(c)) || peek(c) == '-')
		c->p++;
	size = (size_t)(c->p - name);
	skip_blank(c);
	if (peek(c) != '=')
		return;
	c->p++;
	push_value(c);
	if (size != 3 || strncasecmp(name, "url", 3) != 0 || !c->remote[0] ||
	    lua_getfield(c->B, c->remotes, c->remote) != LUA_TNIL) {
		lua_settop(c->B, c->remotes);
		return;
	}
	lua_pop(c->B, 1);
	lua_setfield(c->B, c->remotes, c->remote);
}

static void parse_config(struct config *c)
{
	while (c->p < c->end) {
		while (c->p < c->end && isspace((unsigned char)*c->p))
			c->p++;
		if (peek(c) == '[')
			section(c);
		else if (isalpha((unsigned char)peek(c)))
			variable(c);
		skip_line(c);
	}
}

/* srt.git.remotes([dir]): name to URL, the first of each */
static int git_remotes(lua_State *B)
{
	char path[PATH_MAX];
	struct config config = { .B = B };
	size_t size;

	box_check_loading(B, "srt.git.remotes");
	start_arg(B, 1, path);
	lua_settop(B, 0);
	luaL_checkstack(B, 12, NULL);
	if (!find_toplevel(B, path)) {
		lua_newtable(B);
		return 1;
	}
	push_git_dir(B, path);
	lua_pushfstring(B, "%s/config", lua_tostring(B, -1));
	if (box_push_file(B, lua_tostring(B, -1), CONFIG_MAX) != 0)
		lua_pushliteral(B, "");
	config.p = lua_tolstring(B, -1, &size);
	config.end = config.p + size;
	box_charge(B, size / 4);
	lua_newtable(B);
	config.remotes = lua_gettop(B);
	parse_config(&config);
	return 1;
}

void box_git_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "remotes", git_remotes },
		{ "toplevel", git_toplevel },
		{ NULL, NULL },
	};

	luaL_newlib(B, functions);
}
