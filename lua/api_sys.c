/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.sys: what Lua asks of the operating system; see api_sys.md. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/nss.h"
#include "core/system.h"
#include "core/util.h"
#include "lua/api.h"

extern char **environ;

const char *api_error_name(int error)
{
	const char *name = strerrorname_np(error);

	return name ? name : "EUNKNOWN";
}

void api_class(lua_State *L, const char *name, const luaL_Reg *methods,
	       lua_CFunction collect)
{
	luaL_newmetatable(L, name);
	if (collect) {
		lua_pushcfunction(L, collect);
		lua_setfield(L, -2, "__gc");
	}
	lua_newtable(L);
	luaL_setfuncs(L, methods, 0);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
}

int api_fail(lua_State *L, int error)
{
	lua_pushnil(L);
	lua_pushstring(L, strerror(error));
	lua_pushstring(L, api_error_name(error));
	return 3;
}

/* A path argument: NUL bytes in it are a caller's fault. */
static const char *check_path(lua_State *L, int index)
{
	size_t size;
	const char *path = luaL_checklstring(L, index, &size);

	luaL_argcheck(L, strlen(path) == size, index, "NUL byte in a path");
	return path;
}

const char *api_absolute(lua_State *L, int index)
{
	const char *path = check_path(L, index);

	luaL_argcheck(L, *path == '/', index, "an absolute path expected");
	return path;
}

int api_done(lua_State *L, int error)
{
	if (error)
		return api_fail(L, -error);
	lua_pushboolean(L, 1);
	return 1;
}

int api_number(lua_State *L, int value)
{
	if (value < 0)
		return api_fail(L, -value);
	lua_pushinteger(L, value);
	return 1;
}

void api_argv(lua_State *L, int index, const char **argv, size_t most)
{
	size_t count;

	luaL_checktype(L, index, LUA_TTABLE);
	count = lua_rawlen(L, index);
	luaL_argcheck(L, count > 0 && count <= most, index, "no command");
	luaL_checkstack(L, (int)count + 8, NULL);
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, index, (lua_Integer)i + 1);
		argv[i] = luaL_checkstring(L, -1);
	}
	argv[count] = NULL;
}

static int sys_lua_realpath(lua_State *L)
{
	char real[PATH_MAX];

	if (!realpath(check_path(L, 1), real))
		return api_fail(L, errno);
	lua_pushstring(L, real);
	return 1;
}

const char *api_type_name(mode_t mode)
{
	static const struct {
		mode_t type;
		const char *name;
	} types[] = { { S_IFREG, "file" },  { S_IFDIR, "dir" },
		      { S_IFLNK, "link" },  { S_IFCHR, "char" },
		      { S_IFBLK, "block" }, { S_IFIFO, "fifo" },
		      { S_IFSOCK, "sock" } };

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((mode & S_IFMT) == types[i].type)
			return types[i].name;
	return "other";
}

static void set_integer(lua_State *L, const char *name, lua_Integer value)
{
	lua_pushinteger(L, value);
	lua_setfield(L, -2, name);
}

static void push_stat(lua_State *L, const struct stat *st)
{
	lua_createtable(L, 0, 10);
	lua_pushstring(L, api_type_name(st->st_mode));
	lua_setfield(L, -2, "type");
	set_integer(L, "size", st->st_size);
	set_integer(L, "mode", st->st_mode & 07777);
	set_integer(L, "uid", st->st_uid);
	set_integer(L, "gid", st->st_gid);
	set_integer(L, "dev", (lua_Integer)st->st_dev);
	set_integer(L, "ino", (lua_Integer)st->st_ino);
	set_integer(L, "nlink", (lua_Integer)st->st_nlink);
	set_integer(L, "mtime", st->st_mtim.tv_sec);
}

static int sys_lua_stat(lua_State *L)
{
	struct stat st;

	if (stat(check_path(L, 1), &st))
		return api_fail(L, errno);
	push_stat(L, &st);
	return 1;
}

static int sys_lua_lstat(lua_State *L)
{
	struct stat st;

	if (lstat(check_path(L, 1), &st))
		return api_fail(L, errno);
	push_stat(L, &st);
	return 1;
}

/*
 * plain(path) -> type, number of hard links, where no link is on the way to it
 * or in its place; else nothing, also where that can't be told fast
 */
static int sys_lua_plain(lua_State *L)
{
	owned_fd int fd = sys_open_plain(check_path(L, 1), O_PATH);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || S_ISLNK(st.st_mode))
		return 0;
	lua_pushstring(L, api_type_name(st.st_mode));
	lua_pushinteger(L, (lua_Integer)st.st_nlink);
	return 2;
}

static int sys_lua_readlink(lua_State *L)
{
	char target[4096];
	ssize_t size = readlink(check_path(L, 1), target, sizeof(target));

	if (size < 0)
		return api_fail(L, errno);
	lua_pushlstring(L, target, (size_t)size);
	return 1;
}

static int close_dir(lua_State *L)
{
	DIR **dir = lua_touserdata(L, 1);

	if (*dir)
		closedir(*dir);
	*dir = NULL;
	return 0;
}

static int sys_lua_readdir(lua_State *L)
{
	const char *path = check_path(L, 1);
	DIR **dir = lua_newuserdatauv(L, sizeof(*dir), 0);
	struct dirent *entry;
	lua_Integer count = 0;

	*dir = NULL;
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, close_dir);
	lua_setfield(L, -2, "__gc");
	lua_setmetatable(L, -2);
	*dir = opendir(path);
	if (!*dir)
		return api_fail(L, errno);
	lua_newtable(L);
	while ((entry = readdir(*dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		lua_pushstring(L, entry->d_name);
		lua_rawseti(L, -2, ++count);
	}
	closedir(*dir);
	*dir = NULL;
	return 1;
}

/* readfile(path, max) -> text: at most max bytes, more is EFBIG */
static int sys_lua_readfile(lua_State *L)
{
	const char *path = check_path(L, 1);
	size_t max = (size_t)luaL_optinteger(L, 2, 16 << 20), used = 0;
	luaL_Buffer buffer;
	ssize_t size;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int error = 0;

	if (fd < 0)
		return api_fail(L, errno);
	/* prepbuffsize can throw only when out of memory, which ends us. */
	luaL_buffinit(L, &buffer);
	for (;;) {
		/* A larger buffer is copied as a whole when it grows. */
		size_t piece = used < 65536 ? 4096 : 65536;
		char *room = luaL_prepbuffsize(&buffer, piece);

		size = read(fd, room, piece);
		if (size <= 0)
			break;
		used += (size_t)size;
		luaL_addsize(&buffer, (size_t)size);
		if (used > max)
			break;
	}
	error = size < 0 ? errno : used > max ? EFBIG : 0;
	close(fd);
	if (error)
		return api_fail(L, error);
	luaL_pushresult(&buffer);
	return 1;
}

static int sys_lua_cwd(lua_State *L)
{
	char path[16384];

	/* "(unreachable)" in front: a directory outside our root. */
	if (!getcwd(path, sizeof(path)) || *path != '/')
		return api_fail(L, errno ? errno : ENOENT);
	lua_pushstring(L, path);
	return 1;
}

static int sys_lua_getenv(lua_State *L)
{
	lua_pushstring(L, getenv(luaL_checkstring(L, 1)));
	return 1;
}

static int sys_lua_environ(lua_State *L)
{
	lua_newtable(L);
	for (char **entry = environ; entry && *entry; entry++) {
		const char *equals = strchr(*entry, '=');

		if (!equals)
			continue;
		lua_pushlstring(L, *entry, (size_t)(equals - *entry));
		lua_pushstring(L, equals + 1);
		lua_rawset(L, -3);
	}
	return 1;
}

static int sys_lua_homeof(lua_State *L)
{
	struct account account;
	bool found =
		nss_account(luaL_optstring(L, 1, NULL), geteuid(), &account);

	lua_pushstring(L, found ? account.home : NULL);
	return 1;
}

static int sys_lua_ids(lua_State *L)
{
	lua_pushinteger(L, geteuid());
	lua_pushinteger(L, getegid());
	return 2;
}

static int sys_lua_write(lua_State *L)
{
	int fd = (int)luaL_checkinteger(L, 1);
	size_t size, done = 0;
	const char *text = luaL_checklstring(L, 2, &size);

	while (done < size) {
		ssize_t n = write(fd, text + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return api_fail(L, errno);
		done += (size_t)n;
	}
	lua_pushboolean(L, 1);
	return 1;
}

/* writable(path) -> may the caller create entries in, or write to, path? */
static int sys_lua_writable(lua_State *L)
{
	lua_pushboolean(L, faccessat(AT_FDCWD, check_path(L, 1), W_OK,
				     AT_EACCESS) == 0);
	return 1;
}

static int sys_lua_isatty(lua_State *L)
{
	lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
	return 1;
}

static int sys_lua_pton(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	unsigned char bytes[16];

	if (strlen(text) != lua_rawlen(L, 1))
		return 0;
	if (inet_pton(AF_INET, text, bytes) == 1)
		lua_pushlstring(L, (char *)bytes, 4);
	else if (inet_pton(AF_INET6, text, bytes) == 1)
		lua_pushlstring(L, (char *)bytes, 16);
	else
		lua_pushnil(L);
	return 1;
}

static int sys_lua_ntop(lua_State *L)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);
	char text[INET6_ADDRSTRLEN];

	luaL_argcheck(L, size == 4 || size == 16, 1, "4 or 16 bytes expected");
	inet_ntop(size == 4 ? AF_INET : AF_INET6, bytes, text, sizeof(text));
	lua_pushstring(L, text);
	return 1;
}

static int free_addresses(lua_State *L)
{
	struct ifaddrs **list = lua_touserdata(L, 1);

	if (*list)
		freeifaddrs(*list);
	*list = NULL;
	return 0;
}

/* addresses() -> list of this host's own addresses as text */
static int sys_lua_addresses(lua_State *L)
{
	struct ifaddrs **list = lua_newuserdatauv(L, sizeof(*list), 0);
	lua_Integer count = 0;
	char text[INET6_ADDRSTRLEN];

	*list = NULL;
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, free_addresses);
	lua_setfield(L, -2, "__gc");
	lua_setmetatable(L, -2);
	if (getifaddrs(list))
		return api_fail(L, errno);
	lua_newtable(L);
	for (struct ifaddrs *at = *list; at; at = at->ifa_next) {
		int family = at->ifa_addr ? at->ifa_addr->sa_family : 0;
		const void *address = NULL;

		if (family == AF_INET)
			address = &((struct sockaddr_in *)(void *)at->ifa_addr)
					   ->sin_addr;
		else if (family == AF_INET6)
			address = &((struct sockaddr_in6 *)(void *)at->ifa_addr)
					   ->sin6_addr;
		if (!address || !inet_ntop(family, address, text, sizeof(text)))
			continue;
		lua_pushstring(L, text);
		lua_rawseti(L, -2, ++count);
	}
	freeifaddrs(*list);
	*list = NULL;
	return 1;
}

/* clock() -> seconds of a clock that only goes forward, clock_gettime(2) */
static int sys_lua_clock(lua_State *L)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	lua_pushnumber(L, (lua_Number)t.tv_sec + (lua_Number)t.tv_nsec / 1e9);
	return 1;
}

/* time() -> seconds of the day's clock, clock_gettime(2) */
static int sys_lua_time(lua_State *L)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	lua_pushnumber(L, (lua_Number)t.tv_sec + (lua_Number)t.tv_nsec / 1e9);
	return 1;
}

/* sleep(seconds), nanosleep(2): at most an hour; a signal ends it */
static int sys_lua_sleep(lua_State *L)
{
	lua_Number seconds = luaL_checknumber(L, 1);
	struct timespec t;

	luaL_argcheck(L, seconds >= 0 && seconds <= 3600, 1, "0 to 3600");
	t.tv_sec = (time_t)seconds;
	t.tv_nsec = (long)((seconds - (lua_Number)t.tv_sec) * 1e9);
	(void)nanosleep(&t, NULL);
	return 0;
}

/* random(bytes) -> lower-case hex */
static int sys_lua_random(lua_State *L)
{
	unsigned char bytes[64];
	char text[2 * sizeof(bytes) + 1];
	size_t count = (size_t)luaL_checkinteger(L, 1);

	if (count == 0 || count > sizeof(bytes))
		return luaL_argerror(L, 1, "1 to 64 expected");
	if (getrandom(bytes, count, 0) != (ssize_t)count)
		return api_fail(L, errno);
	for (size_t i = 0; i < count; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	lua_pushlstring(L, text, 2 * count);
	return 1;
}

static void push_socket(lua_State *L, int fd)
{
	int type = 0;
	socklen_t size = sizeof(type);
	struct sockaddr_storage own, peer;
	socklen_t own_size = sizeof(own), peer_size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size))
		return;
	if (getsockname(fd, (struct sockaddr *)&own, &own_size))
		return;
	lua_pushstring(L, own.ss_family == AF_UNIX ? "unix" : "other");
	lua_setfield(L, -2, "family");
	lua_pushstring(L, type == SOCK_STREAM	   ? "stream"
			  : type == SOCK_SEQPACKET ? "seqpacket"
						   : "other");
	lua_setfield(L, -2, "kind");
	lua_pushboolean(
		L, getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0);
	lua_setfield(L, -2, "connected");
}

/*
 * fdinfo(fd) -> what a descriptor is: as stat, plus access ("r", "w", "rw"),
 * opath, path (its link in /proc, but of a character device), and for sockets
 * family, kind, connected
 */
static int sys_lua_fdinfo(lua_State *L)
{
	static const char *const access_names[] = { "r", "w", "rw", "" };
	int fd = (int)luaL_checkinteger(L, 1);
	int flags = fcntl(fd, F_GETFL);
	char path[4096];
	struct stat st;
	ssize_t size;

	if (flags < 0 || fstat(fd, &st))
		return api_fail(L, errno);
	push_stat(L, &st);
	lua_pushstring(L, access_names[flags & O_ACCMODE]);
	lua_setfield(L, -2, "access");
	lua_pushboolean(L, (flags & O_PATH) != 0);
	lua_setfield(L, -2, "opath");
	lua_pushboolean(L, fcntl(fd, F_GETFD) & FD_CLOEXEC);
	lua_setfield(L, -2, "cloexec");
	size = S_ISCHR(st.st_mode) ? 0 : sys_fd_path(fd, path, sizeof(path));
	lua_pushlstring(L, path, size > 0 ? (size_t)size : 0);
	lua_setfield(L, -2, "path");
	if (S_ISSOCK(st.st_mode))
		push_socket(L, fd);
	return 1;
}

/* features() -> what this kernel has */
static int sys_lua_features(lua_State *L)
{
	struct utsname name;

	lua_createtable(L, 0, 2);
	set_integer(L, "landlock", sys_landlock_abi());
	if (!uname(&name)) {
		lua_pushstring(L, name.release);
		lua_setfield(L, -2, "kernel");
		lua_pushstring(L, sys_missing("machine") ? "another"
							 : name.machine);
		lua_setfield(L, -2, "machine");
	}
	return 1;
}

static int sys_lua_strerror(lua_State *L)
{
	int error = (int)luaL_checkinteger(L, 1);

	lua_pushstring(L, strerror(error));
	lua_pushstring(L, api_error_name(error));
	return 2;
}

int luaopen_srt_c_sys(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "realpath", sys_lua_realpath },
		{ "stat", sys_lua_stat },
		{ "lstat", sys_lua_lstat },
		{ "plain", sys_lua_plain },
		{ "plainall", api_sys_plain_all },
		{ "parent", api_sys_parent },
		{ "mounts", api_sys_mounts },
		{ "program", api_sys_program },
		{ "sized", api_sys_sized },
		{ "treesort", api_sys_tree_sort },
		{ "readlink", sys_lua_readlink },
		{ "readdir", sys_lua_readdir },
		{ "readfile", sys_lua_readfile },
		{ "cwd", sys_lua_cwd },
		{ "getenv", sys_lua_getenv },
		{ "environ", sys_lua_environ },
		{ "homeof", sys_lua_homeof },
		{ "ids", sys_lua_ids },
		{ "write", sys_lua_write },
		{ "writable", sys_lua_writable },
		{ "isatty", sys_lua_isatty },
		{ "pton", sys_lua_pton },
		{ "ntop", sys_lua_ntop },
		{ "addresses", sys_lua_addresses },
		{ "random", sys_lua_random },
		{ "clock", sys_lua_clock },
		{ "time", sys_lua_time },
		{ "sleep", sys_lua_sleep },
		{ "fdinfo", sys_lua_fdinfo },
		{ "features", sys_lua_features },
		{ "strerror", sys_lua_strerror },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	lua_pushstring(L, host_system);
	lua_setfield(L, -2, "system");
	return 1;
}
