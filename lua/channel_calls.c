/* SPDX-License-Identifier: Apache-2.0 */
/* What srt.c.channel does without a loop; see api_channel.md. */
#include "lua/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "core/util.h"
#include "lua/api.h"

enum {
	PIECE = 65536,
	BACKLOG = 128,
	MEMORY_MAX = 64 << 20,
	LOCK_TRIES = 100,
	LOCK_PAUSE_NS = 20000000,
	PATIENCE_MS = 30000,
};

/* Of Linux 6.5. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

void channel_push_fds(lua_State *L, const int *fds, size_t count)
{
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		lua_pushinteger(L, fds[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

size_t channel_read_fds(lua_State *L, int index, int fds[SYS_MAX_FDS])
{
	size_t count = 0;

	if (lua_isnoneornil(L, index))
		return 0;
	luaL_checktype(L, index, LUA_TTABLE);
	count = lua_rawlen(L, index);
	luaL_argcheck(L, count <= SYS_MAX_FDS, index, "too many descriptors");
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, index, (lua_Integer)i + 1);
		fds[i] = (int)luaL_checkinteger(L, -1);
		lua_pop(L, 1);
	}
	return count;
}

/*
 * The address of a socket by its folder, so that the path may be longer than
 * an address holds. @folder: of the caller, to be closed after its use.
 */
static int address_of(const char *path, struct sockaddr_un *address,
		      int *folder)
{
	const char *slash = strrchr(path, '/');
	char dir[4096];
	int size;

	if (!slash || !slash[1] || slash - path >= (long)sizeof(dir))
		return -EINVAL;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	*folder = open(*dir ? dir : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*folder < 0)
		return -errno;
	address->sun_family = AF_UNIX;
	size = snprintf(address->sun_path, sizeof(address->sun_path),
			"/proc/self/fd/%d/%s", *folder, slash + 1);
	return size < (int)sizeof(address->sun_path) ? 0 : -ENAMETOOLONG;
}

/* Does nobody listen there any more? Only such a socket is removed. */
static bool is_stale(const struct sockaddr_un *address)
{
	/* One whose places are all taken is not waited for. */
	owned_fd int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	return fd >= 0 && !lstat(address->sun_path, &st) &&
	       S_ISSOCK(st.st_mode) && st.st_uid == geteuid() &&
	       connect(fd, (const struct sockaddr *)address,
		       sizeof(*address)) &&
	       errno == ECONNREFUSED;
}

/*
 * Two that begin at once must not remove each other's. Of a folder like /tmp
 * anybody can hold the lock, so it is not waited for without an end.
 */
static int lock(int folder)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_NS };

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!flock(folder, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { 0 };
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	owned_fd int folder = -1;
	mode_t mask;
	int error;

	if (fd < 0)
		return -errno;
	error = address_of(path, &address, &folder);
	if (!error)
		error = lock(folder);
	if (error)
		return error;
	mask = umask(0177);
	error = bind(fd, (struct sockaddr *)&address, sizeof(address));
	if (error && errno == EADDRINUSE && is_stale(&address) &&
	    !unlink(address.sun_path))
		error = bind(fd, (struct sockaddr *)&address, sizeof(address));
	error = error ? -errno : 0;
	umask(mask);
	if (!error && listen(fd, BACKLOG))
		error = -errno;
	return error ? error : steal_fd(&fd);
}

/* listen(path) -> fd | nil, message, name (EADDRINUSE: another listens) */
static int channel_lua_listen(lua_State *L)
{
	return api_number(L, listen_at(luaL_checkstring(L, 1)));
}

/* sweep(path): a socket that a killed session has left is removed */
static int channel_lua_sweep(lua_State *L)
{
	struct sockaddr_un address = { 0 };
	owned_fd int folder = -1;

	if (!address_of(luaL_checkstring(L, 1), &address, &folder) &&
	    !flock(folder, LOCK_EX | LOCK_NB) && is_stale(&address))
		unlink(address.sun_path);
	return 0;
}

/*
 * lives(fd) -> does the process that connected live? Then its pid is no
 * other's. True where the kernel can't tell.
 */
static int channel_lua_lives(lua_State *L)
{
	owned_fd int pidfd = -1;
	socklen_t size = sizeof(pidfd);
	struct pollfd ended = { .events = POLLIN };
	bool lives;

	if (getsockopt((int)luaL_checkinteger(L, 1), SOL_SOCKET, SO_PEERPIDFD,
		       &pidfd, &size)) {
		lives = errno == ENOPROTOOPT;
	} else {
		ended.fd = pidfd;
		lives = poll(&ended, 1, 0) == 0;
	}
	lua_pushboolean(L, lives);
	return 1;
}

/* files() -> how many descriptors this process may have, from now on */
static int channel_lua_files(lua_State *L)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files))
		return api_fail(L, errno);
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files))
		return api_fail(L, errno);
	lua_pushinteger(L, files.rlim_max > INT_MAX ? INT_MAX
						    : (int)files.rlim_max);
	return 1;
}

static int connect_to(const char *path, lua_Number seconds)
{
	struct sockaddr_un address = { 0 };
	owned_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	owned_fd int folder = -1;
	struct timeval limit = { .tv_sec = (time_t)seconds };
	int error = fd < 0 ? -errno : address_of(path, &address, &folder);

	if (error)
		return error;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	return steal_fd(&fd);
}

/* connect(path, seconds) -> fd, uid, pid | nil, message, name */
static int channel_lua_connect(lua_State *L)
{
	int fd = connect_to(luaL_checkstring(L, 1), luaL_checknumber(L, 2));
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
		close(fd);
		fd = -EPERM;
	}
	if (fd < 0)
		return api_fail(L, -fd);
	lua_pushinteger(L, fd);
	lua_pushinteger(L, peer.uid);
	lua_pushinteger(L, peer.pid);
	return 3;
}

/* A channel had it and left it non-blocking. Return: is it worth a new try? */
static bool wait_for(int fd, short events)
{
	struct pollfd one = { .fd = fd, .events = events };
	int count;

	do {
		count = poll(&one, 1, PATIENCE_MS);
	} while (count < 0 && errno == EINTR);
	return count > 0;
}

/* say(fd, text[, fds]) -> true | nil, message, name: waits until all is sent */
static int channel_lua_say(lua_State *L)
{
	int fd = (int)luaL_checkinteger(L, 1), fds[SYS_MAX_FDS];
	size_t size, count = channel_read_fds(L, 3, fds);
	const char *text = luaL_checklstring(L, 2, &size);

	while (size) {
		ssize_t sent = sys_send_some(fd, text, size, fds, count, 0);

		if (sent == -EAGAIN && wait_for(fd, POLLOUT))
			continue;
		if (sent < 0)
			return api_fail(L, (int)-sent);
		text += sent;
		size -= (size_t)sent;
		count = 0;
	}
	lua_pushboolean(L, 1);
	return 1;
}

/* hear(fd) -> data, fds | nil, message, name: waits; "" at the end of input */
static int channel_lua_hear(lua_State *L)
{
	int fd = (int)luaL_checkinteger(L, 1), fds[SYS_MAX_FDS];
	char data[PIECE];
	size_t count;
	ssize_t size;

	do {
		count = SYS_MAX_FDS;
		size = sys_receive(fd, data, sizeof(data), fds, &count);
	} while (size == -EAGAIN && wait_for(fd, POLLIN));
	if (size < 0)
		return api_fail(L, (int)-size);
	lua_pushlstring(L, data, (size_t)size);
	channel_push_fds(L, fds, count);
	return 2;
}

/* Return: a descriptor of the caller's, or -errno. */
static int memory_of(const char *bytes, size_t size)
{
	owned_fd int fd =
		memfd_create("srt-lua", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return -errno;
	while (size) {
		ssize_t written = write(fd, bytes, size);

		if (written < 0)
			return -errno;
		bytes += written;
		size -= (size_t)written;
	}
	if (fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL))
		return -errno;
	return steal_fd(&fd);
}

/* memory(bytes) -> fd | nil, message, name: a file that nobody can change */
static int channel_lua_memory(lua_State *L)
{
	size_t size;
	const char *bytes = luaL_checklstring(L, 1, &size);

	return api_number(L, memory_of(bytes, size));
}

/*
 * bytes(fd) -> what memory() was given | nil, message, name. Only what can't
 * change is read.
 */
static int channel_lua_bytes(lua_State *L)
{
	int fd = (int)luaL_checkinteger(L, 1);
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st = { 0 };
	luaL_Buffer buffer;
	size_t got = 0;
	char *to;

	if (seals < 0 || !(seals & F_SEAL_WRITE) || !(seals & F_SEAL_SHRINK) ||
	    fstat(fd, &st) || st.st_size > MEMORY_MAX)
		return api_fail(L, EINVAL);
	to = luaL_buffinitsize(L, &buffer, (size_t)st.st_size + 1);
	while (got < (size_t)st.st_size) {
		ssize_t size = pread(fd, to + got, (size_t)st.st_size - got,
				     (off_t)got);

		if (size <= 0)
			return api_fail(L, size ? errno : EIO);
		got += (size_t)size;
	}
	luaL_pushresultsize(&buffer, got);
	return 1;
}

const luaL_Reg channel_calls[] = {
	{ "files", channel_lua_files },	    { "listen", channel_lua_listen },
	{ "lives", channel_lua_lives },	    { "sweep", channel_lua_sweep },
	{ "connect", channel_lua_connect }, { "say", channel_lua_say },
	{ "hear", channel_lua_hear },	    { "memory", channel_lua_memory },
	{ "bytes", channel_lua_bytes },	    { NULL, NULL },
};
