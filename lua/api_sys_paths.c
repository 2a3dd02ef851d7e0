/* SPDX-License-Identifier: Apache-2.0 */
/* Of srt.c.sys: what is asked of many paths at once; see api_sys.md. */
#include <fcntl.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/system.h"
#include "core/util.h"
#include "lua/api.h"

/* One path of a list; borrowed from there. */
struct item {
	const char *path;
	size_t size;
	lua_Integer index;
	mode_t mode; /* 0: not plain */
	nlink_t names;
};

/* The paths of the list at @index, in a new userdata at the top. */
static struct item *items_of(lua_State *L, int index, size_t *count)
{
	struct item *items;

	luaL_checktype(L, index, LUA_TTABLE);
	*count = (size_t)lua_rawlen(L, index);
	items = lua_newuserdatauv(L, (*count + 1) * sizeof(*items), 0);
	memset(items, 0, (*count + 1) * sizeof(*items));
	for (size_t i = 0; i < *count; i++) {
		items[i].index = (lua_Integer)i + 1;
		if (lua_rawgeti(L, index, items[i].index) != LUA_TSTRING)
			luaL_argerror(L, index, "list of strings expected");
		/* The list keeps it. */
		items[i].path = lua_tolstring(L, -1, &items[i].size);
		luaL_argcheck(L, strlen(items[i].path) == items[i].size, index,
			      "NUL byte in a path");
		lua_pop(L, 1);
	}
	return items;
}

/* A folder that stays open for the next path; @size bytes of @path. */
struct folder {
	int fd;
	size_t size;
	const char *path;
};

static void enter(struct folder *folder, const char *path, size_t size)
{
	owned_ptr char *name = NULL;

	if (folder->size == size && !memcmp(folder->path, path, size))
		return;
	name = strndup(path, size);
	if (folder->fd >= 0)
		close(folder->fd);
	folder->fd = name ? sys_open_plain(name, O_PATH | O_DIRECTORY) : -1;
	folder->size = size;
	folder->path = path;
}

/* One call a path, where those of one folder follow each other. */
static void look(struct item *items, size_t count)
{
	struct folder folder = { .fd = -1 };
	struct stat st;

	for (size_t i = 0; i < count; i++) {
		const char *path = items[i].path;
		const char *slash = strrchr(path, '/');

		if (!slash)
			continue;
		enter(&folder, path, (size_t)(slash - path) + 1);
		if (folder.fd < 0 ||
		    fstatat(folder.fd, slash[1] ? slash + 1 : ".", &st,
			    AT_SYMLINK_NOFOLLOW) ||
		    S_ISLNK(st.st_mode))
			continue;
		items[i].mode = st.st_mode;
		items[i].names = st.st_nlink;
	}
	if (folder.fd >= 0)
		close(folder.fd);
}

int api_sys_plain_all(lua_State *L)
{
	size_t count;
	struct item *items = items_of(L, 1, &count);

	lua_createtable(L, (int)count, 0);
	lua_createtable(L, (int)count, 0);
	look(items, count);
	for (size_t i = 0; i < count; i++) {
		if (items[i].mode)
			lua_pushstring(L, api_type_name(items[i].mode));
		else
			lua_pushboolean(L, false);
		lua_rawseti(L, -3, items[i].index);
		lua_pushinteger(L, (lua_Integer)items[i].names);
		lua_rawseti(L, -2, items[i].index);
	}
	return 2;
}

/* The end of a path is before a slash, and that before any other byte. */
static int rank(const char *at)
{
	return *at == '/' ? 1 : *at ? (unsigned char)*at + 1 : 0;
}

/* Most paths begin alike: eight bytes at once. */
static size_t common(const struct item *a, const struct item *b)
{
	size_t size = a->size < b->size ? a->size : b->size, same = 0;

	while (size - same >= 8 && !memcmp(a->path + same, b->path + same, 8))
		same += 8;
	while (same < size && a->path[same] == b->path[same])
		same++;
	return same;
}

static int by_tree(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	size_t same = common(left, right);

	return rank(left->path + same) - rank(right->path + same);
}

int api_sys_tree_sort(lua_State *L)
{
	size_t count;
	struct item *items = items_of(L, 1, &count);
	lua_Integer last = 0;

	qsort(items, count, sizeof(*items), by_tree);
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		if (i && !strcmp(items[i].path, items[i - 1].path))
			continue;
		lua_rawgeti(L, 1, items[i].index);
		lua_rawseti(L, -2, ++last);
	}
	return 1;
}

int api_sys_parent(lua_State *L)
{
	size_t size;
	const char *path = luaL_checklstring(L, 1, &size);
	const char *slash = memrchr(path, '/', size);

	if (slash && slash != path)
		lua_pushlstring(L, path, (size_t)(slash - path));
	else
		lua_pushliteral(L, "/");
	return 1;
}

/* Is it a file that somebody may execute? @file: relative ones from @cwd */
static bool is_program(const char *cwd, const char *file)
{
	char whole[PATH_MAX];
	struct stat st;
	int size = *file == '/'
			   ? snprintf(whole, sizeof(whole), "%s", file)
			   : snprintf(whole, sizeof(whole), "%s/%s", cwd, file);

	return size < (int)sizeof(whole) && !stat(whole, &st) &&
	       S_ISREG(st.st_mode) && st.st_mode & 0111;
}

int api_sys_program(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const char *path = luaL_checkstring(L, 2);
	const char *cwd = luaL_checkstring(L, 3);
	char file[PATH_MAX];

	do {
		size_t size = strcspn(path, ":");
		int whole = snprintf(file, sizeof(file), "%.*s%s%s", (int)size,
				     path, size ? "/" : "", name);

		if (whole < (int)sizeof(file) && is_program(cwd, file)) {
			lua_pushstring(L, file);
			return 1;
		}
		path += size;
	} while (*path++);
	return 0;
}

int api_sys_sized(lua_State *L)
{
	lua_Integer count = luaL_checkinteger(L, 1);

	luaL_argcheck(L, count >= 0 && count <= INT_MAX, 1, "out of range");
	lua_createtable(L, 0, (int)count);
	return 1;
}
