/* SPDX-License-Identifier: Apache-2.0 */
/* srt.exists, srt.isdir and srt.read. */
#include <errno.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lua/box_file.h"
#include "lua/box_path.h"
#include "lua/box_srt.h"
#include "lua/box_state.h"

#define READ_STANDARD ((lua_Integer)1 << 20)
#define READ_MOST ((lua_Integer)16 << 20)
#define SYSTEM_CALL_COST 1000 /* no flood of them within one callback */

void box_check_loading(lua_State *B, const char *name)
{
	if (!box_of(B)->loading)
		luaL_error(B,
			   "%s works while the policy is loaded only; keep "
			   "what it gives",
			   name);
}

const char *box_push_path(lua_State *B, int arg)
{
	const struct box *b = box_of(B);
	size_t size;
	const char *path = luaL_checklstring(B, arg, &size);

	luaL_argcheck(B, size > 0 && strlen(path) == size, arg,
		      "an empty path, or one with a zero byte");
	luaL_argcheck(B, size < PATH_MAX, arg, "path too long");
	box_charge(B, SYSTEM_CALL_COST);
	if (path[0] == '~' && (path[1] == '/' || path[1] == 0) && b->home)
		return lua_pushfstring(B, "%s%s", b->home, path + 1);
	if (path[0] != '/' && b->cwd)
		return lua_pushfstring(B, "%s/%s", b->cwd, path);
	luaL_argcheck(B, path[0] == '/', arg, "no directory to start from");
	lua_pushvalue(B, arg);
	return path;
}

static int srt_exists(lua_State *B)
{
	struct stat st;

	box_check_loading(B, "srt.exists");
	lua_pushboolean(B, stat(box_push_path(B, 1), &st) == 0);
	return 1;
}

static int srt_isdir(lua_State *B)
{
	struct stat st;

	box_check_loading(B, "srt.isdir");
	lua_pushboolean(B, stat(box_push_path(B, 1), &st) == 0 &&
				   S_ISDIR(st.st_mode));
	return 1;
}

const char *box_file_error(int err)
{
	return err == -EFBIG	? "larger than asked for"
	       : err == -EINVAL ? "no regular file"
	       : err == -ENOSYS ? "this kernel has no openat2"
				: strerror(-err);
}

/* (light userdata, size) to a string; may throw, so it is called protected */
static int make_string(lua_State *B)
{
	lua_pushlstring(B, lua_touserdata(B, 1), (size_t)lua_tointeger(B, 2));
	return 1;
}

int box_push_file(lua_State *B, const char *path, size_t max)
{
	char real[PATH_MAX], *data = NULL;
	size_t size;
	int err = box_file_read(path, max, &data, &size, real), status;

	/* By its own name as well: a link on the way decides, too. */
	if (!err)
		err = box_add_file(box_of(B), real);
	if (!err && strcmp(path, real) != 0)
		err = box_add_file(box_of(B), path);
	if (err) {
		free(data);
		return err;
	}
	lua_pushcfunction(B, make_string);
	lua_pushlightuserdata(B, data);
	lua_pushinteger(B, (lua_Integer)size);
	status = lua_pcall(B, 2, 1, 0);
	free(data);
	if (status != LUA_OK)
		lua_error(B);
	return 0;
}

/* srt.read(path, max): text, or nil and a message */
static int srt_read(lua_State *B)
{
	lua_Integer max = luaL_optinteger(B, 2, READ_STANDARD);
	const char *path;
	int err;

	box_check_loading(B, "srt.read");
	luaL_argcheck(B, max >= 0 && max <= READ_MOST, 2,
		      "must be 0 to 16 MiB");
	lua_settop(B, 1);
	path = box_push_path(B, 1);
	luaL_checkstack(B, 6, NULL);
	err = box_push_file(B, path, (size_t)max);
	if (!err) {
		box_charge_bytes(B, lua_rawlen(B, -1));
		return 1;
	}
	lua_pushnil(B);
	lua_pushfstring(B, "cannot read %s: %s", path, box_file_error(err));
	return 2;
}

void box_files_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "exists", srt_exists },
		{ "isdir", srt_isdir },
		{ "read", srt_read },
		{ NULL, NULL },
	};

	luaL_setfuncs(B, functions, 0);
}
