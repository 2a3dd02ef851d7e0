/* SPDX-License-Identifier: Apache-2.0 */
/* require() of the box: files beside the policy, policies.* and srt.*. */
#include "lua/box_require.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua/box_file.h"
#include "lua/box_host.h"
#include "lua/box_path.h"
#include "lua/box_state.h"

#define NAME_MAX_SIZE 128

int box_compile(lua_State *B, const char *source, size_t size, const char *name)
{
	if (size >= 3 && memcmp(source, "\xef\xbb\xbf", 3) == 0) {
		source += 3;
		size -= 3;
	}
	/* Its newline stays: line numbers hold. */
	if (size > 0 && *source == '#') {
		const char *line = memchr(source, '\n', size);

		size -= line ? (size_t)(line - source) : size;
		source = line ? line : "";
	}
	return luaL_loadbufferx(B, source, size, name, "t");
}

/* On the host: (preset, name) to (source or nil, chunk name). */
static int ask_host(lua_State *H)
{
	const char *name = lua_touserdata(H, 2);

	lua_settop(H, 1);
	lua_pushstring(H, name);
	lua_callk(H, 1, 2, 0, NULL);
	return 2;
}

static int no_preset(lua_State *B, const char *name, const char *why)
{
	lua_pushfstring(B, "no ready-made policy '%s'%s%s", name,
			*why ? ": " : "", why);
	return -1;
}

/* The host's two answers are on its stack at @top + 1. */
static int compile_answer(lua_State *B, int top, const char *name,
			  char *chunk_name, size_t room)
{
	lua_State *H = box_of(B)->host;
	size_t size;
	const char *source;

	if (lua_isnil(H, top + 1))
		return no_preset(B, name, "");
	if (lua_type(H, top + 1) != LUA_TSTRING)
		return no_preset(B, name, "the host gave no text");
	source = lua_tolstring(H, top + 1, &size);
	snprintf(chunk_name, room, "%s",
		 lua_type(H, top + 2) == LUA_TSTRING ? lua_tostring(H, top + 2)
						     : "=policies");
	return box_compile(B, source, size, chunk_name);
}

int box_preset(lua_State *B, const char *name, char *chunk_name, size_t size)
{
	lua_State *H = box_of(B)->host;
	int top = lua_gettop(H), status;

	*chunk_name = 0;
	if (!lua_checkstack(H, 8))
		return no_preset(B, name, "the host's stack is full");
	lua_pushcfunction(H, ask_host);
	lua_getiuservalue(H, 1, BOX_UV_PRESET);
	lua_pushlightuserdata(H, (void *)name);
	if (lua_isnil(H, -2))
		status = no_preset(B, name, "");
	else if (lua_pcall(H, 2, 2, 0) != LUA_OK)
		status = no_preset(B, name, "the host failed");
	else
		status = compile_answer(B, top, name, chunk_name, size);
	lua_settop(H, top);
	return status;
}

/* [A-Za-z0-9_-]+ joined by single dots, so no name leaves the folder. */
static bool is_name(const char *name, size_t size)
{
	bool start = true;

	if (size == 0 || size > NAME_MAX_SIZE)
		return false;
	for (size_t i = 0; i < size; i++) {
		char c = name[i];

		if (c == '.' && start)
			return false;
		start = c == '.';
		if (c != '.' && c != '_' && c != '-' &&
		    !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') &&
		    !(c >= 'A' && c <= 'Z'))
			return false;
	}
	return !start;
}

/* The name that the require() at this level was called with, or NULL. */
static const char *required_at(lua_State *B, lua_Debug *ar)
{
	const char *name = NULL;

	if (!lua_getinfo(B, "f", ar))
		return NULL;
	if (lua_tocfunction(B, -1) == box_require && lua_getlocal(B, ar, 1)) {
		if (lua_type(B, -1) == LUA_TSTRING)
			name = lua_tostring(B, -1); /* its frame holds it */
		lua_pop(B, 1);
	}
	lua_pop(B, 1);
	return name;
}

/*
 * A module that is being loaded has its require() on the call stack. The
 * stack, not a mark, tells: it is right after errors too.
 */
static void refuse_cycle(lua_State *B, const char *name)
{
	const char *outer;
	lua_Debug ar;

	lua_pushstring(B, name);
	for (int level = 1; lua_getstack(B, level, &ar); level++) {
		outer = required_at(B, &ar);
		if (!outer)
			continue;
		lua_pushfstring(B, "%s -> %s", outer, lua_tostring(B, -1));
		lua_remove(B, -2);
		if (strcmp(outer, name) == 0)
			luaL_error(B, "require goes round: %s",
				   lua_tostring(B, -1));
	}
	lua_pop(B, 1);
}

/* "srt" and "srt.part.part" */
static int require_srt(lua_State *B, const char *name)
{
	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_srt);
	for (name += 3; *name == '.';) {
		size_t size = strcspn(++name, ".");

		lua_pushlstring(B, name, size);
		lua_gettable(B, -2);
		name += size;
	}
	return 1;
}

/*
 * What is looked for and not there is noted like what is read: whoever made it
 * would decide what the next run does. A directory in its place is no module
 * either: it may be what a run at the same time holds the place with.
 */
static int note_missing(struct box *b, const char *rel)
{
	char path[PATH_MAX + NAME_MAX_SIZE + 32];

	snprintf(path, sizeof(path), "%s%s%s", b->root_path,
		 strcmp(b->root_path, "/") == 0 ? "" : "/", rel);
	return box_add_file(b, path);
}

/* ROOT/a/b.lua, or ROOT/a/b/init.lua, into @rel. */
static int read_module(struct box *b, const char *name, char *rel, size_t room,
		       char **data, size_t *size)
{
	static const char *const ends[] = { ".lua", "/init.lua" };
	int err, missing = -ENOENT;

	for (size_t i = 0; i < 2; i++) {
		snprintf(rel, room, "%s%s", name, ends[i]);
		for (char *p = rel; p < rel + strlen(name); p++)
			if (*p == '.')
				*p = '/';
		err = box_file_read_beneath(b->root, rel, BOX_SOURCE_MAX, data,
					    size);
		if (err != -ENOENT && err != -EINVAL && err != -ENOTDIR)
			return err;
		if (err == -EINVAL)
			missing = err;
		if (note_missing(b, rel))
			return -ENOMEM;
	}
	return missing;
}

static int module_error(lua_State *B, const char *name, int err)
{
	const char *why = err == -ELOOP	   ? "a symbolic link is in its path"
			  : err == -EXDEV  ? "it lies outside the folder"
			  : err == -EFBIG  ? "it is larger than 1 MiB"
			  : err == -EINVAL ? "it is no regular file"
			  : err == -ENOSYS ? "this kernel has no openat2"
					   : strerror(-err);

	return luaL_error(B, "module '%s' in %s: %s", name,
			  box_of(B)->root_path, why);
}

static void push_file_chunk(lua_State *B, const char *name)
{
	struct box *b = box_of(B);
	char rel[NAME_MAX_SIZE + 16], *data = NULL;
	char path[PATH_MAX + sizeof(rel) + 2];
	size_t size;
	int err = read_module(b, name, rel, sizeof(rel), &data, &size), status;

	if (err)
		module_error(B, name, err);
	snprintf(path, sizeof(path), "@%s%s%s", b->root_path,
		 strcmp(b->root_path, "/") == 0 ? "" : "/", rel);
	err = box_add_file(b, path + 1);
	/* Neither of the two throws, so the text can be freed after them. */
	status = err ? LUA_OK : box_compile(B, data, size, path);
	free(data);
	if (err)
		luaL_error(B, "not enough memory");
	if (status != LUA_OK)
		lua_error(B);
	lua_pushstring(B, path + 1);
}

/* Of boxes that ask: the host has its text, which gets the way to ask. */
static bool is_test(lua_State *B, const char *name)
{
	return box_host_asked(B) && strcmp(name, "srt.test") == 0;
}

/* Pushes the chunk and the second value that require returns. */
static void push_chunk(lua_State *B, const char *name)
{
	char chunk_name[BOX_CHUNK_NAME];

	bool own = is_test(B, name);

	if (!own && strncmp(name, "policies.", 9) != 0) {
		push_file_chunk(B, name);
		return;
	}
	if (box_preset(B, own ? name : name + 9, chunk_name,
		       sizeof(chunk_name)) != LUA_OK)
		lua_error(B);
	if (own)
		lua_pushcfunction(B, box_host_question);
	else
		lua_pushstring(B, name);
}

int box_require(lua_State *B)
{
	size_t size;
	const char *name = luaL_checklstring(B, 1, &size);

	lua_settop(B, 1);
	if (!is_name(name, size))
		return luaL_error(B,
				  "bad module name '%s'; names are like "
				  "'rules' or 'lib.rules'",
				  name);
	box_charge(B, 100);
	if (!is_test(B, name) &&
	    (strcmp(name, "srt") == 0 || strncmp(name, "srt.", 4) == 0))
		return require_srt(B, name);
	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_loaded);
	lua_pushvalue(B, 1);
	if (lua_rawget(B, 2) != LUA_TNIL)
		return 1;
	lua_settop(B, 2);
	box_check_loading(B, "require of a module that is not loaded yet");
	refuse_cycle(B, name);
	push_chunk(B, name);
	lua_pushvalue(B, 3);
	lua_pushvalue(B, 1);
	lua_pushvalue(B, 4);
	box_callf(B, 2, 1);
	if (lua_isnil(B, -1)) {
		lua_pop(B, 1);
		lua_pushboolean(B, 1);
	}
	lua_pushvalue(B, 1);
	lua_pushvalue(B, -2);
	lua_rawset(B, 2);
	lua_pushvalue(B, 4);
	return 2;
}
