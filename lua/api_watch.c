/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.watch: what the agent inside tells; see api_watch.md. */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <linux/magic.h>
#include <lua.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <uv.h>

#include "core/sandbox.h"
#include "core/system.h"
#include "core/watch_message.h"
#include "lua/api.h"

#define WATCHER "srt.watcher"
/* Records in one turn of the loop. */
#define TURN 64

/* struct watcher - userdata; kept by the registry until it is closed */
struct watcher {
	lua_State *L;
	struct sandbox *sandbox; /* NULL: another process's */
	int fn, self;
	int socket;
	int view;
	bool polled, closed;
	uv_poll_t poll;
};

static void push_message(lua_State *L, const struct watch_message *message)
{
	static const char *const kinds[] = {
		[WATCH_PATH] = "path", [WATCH_CALL] = "call",
		[WATCH_LOST] = "lost", [WATCH_ASK] = "ask",
		[WATCH_NAME] = "name", [WATCH_UNIX] = "unix",
		[WATCH_INET] = "inet"
	};
	static const char *const actions[] = { [WATCH_READ] = "read",
					       [WATCH_WRITE] = "write",
					       [WATCH_CREATE] = "create",
					       [WATCH_DELETE] = "delete",
					       [WATCH_CHANGE] = "chmod" };

	lua_createtable(L, 0, 9);
	lua_pushstring(L, kinds[message->kind]);
	lua_setfield(L, -2, "kind");
	if (message->kind != WATCH_CALL && message->kind != WATCH_LOST) {
		lua_pushstring(L, actions[message->action]);
		lua_setfield(L, -2, "action");
	}
	lua_pushinteger(L, message->pid);
	lua_setfield(L, -2, "pid");
	lua_pushinteger(L, message->count);
	lua_setfield(L, -2, "count");
	lua_pushinteger(L, (lua_Integer)message->id);
	lua_setfield(L, -2, "id");
	if (message->exe[0]) {
		lua_pushstring(L, message->exe);
		lua_setfield(L, -2, "exe");
	}
	lua_pushstring(L, message->text);
	lua_setfield(L, -2, "text");
	lua_createtable(L, 3, 0);
	for (int i = 0; i < 3; i++) {
		lua_pushinteger(L, (lua_Integer)message->args[i]);
		lua_rawseti(L, -2, i + 1);
	}
	lua_setfield(L, -2, "args");
}

struct telling {
	const struct watcher *watcher;
	const struct watch_message *message;
};

/* Protected: (telling) */
static int tell_lua(lua_State *L)
{
	const struct telling *telling = lua_touserdata(L, 1);

	lua_rawgeti(L, LUA_REGISTRYINDEX, telling->watcher->fn);
	push_message(L, telling->message);
	lua_call(L, 1, 0); /* protected */
	return 0;
}

static bool writes(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* What it says has been inside: only its form is relied on. */
static bool is_sound(struct watch_message *message, ssize_t size)
{
	if (size <= (ssize_t)WATCH_HEAD || message->kind > WATCH_INET ||
	    message->action > WATCH_CHANGE)
		return false;
	/* What is decided on is what will be opened. */
	if (message->kind == WATCH_ASK &&
	    message->action !=
		    (writes((int)message->args[0]) ? WATCH_WRITE : WATCH_READ))
		return false;
	message->exe[sizeof(message->exe) - 1] = '\0';
	message->text[(size_t)size - WATCH_HEAD - 1] = '\0';
	return true;
}

/* One record. Return: false where there is none now. */
static bool take(struct watcher *watcher)
{
	struct watch_message message;
	struct telling telling = { watcher, &message };
	lua_State *L = watcher->L;
	int top = lua_gettop(L);
	ssize_t size = sys_receive(watcher->socket, &message, sizeof(message),
				   NULL, NULL);

	if (size <= 0) {
		/* The agent is gone. */
		if (size != -EAGAIN && watcher->polled)
			uv_poll_stop(&watcher->poll);
		return false;
	}
	if (!is_sound(&message, size) || !lua_checkstack(L, 20))
		return true;
	lua_pushcfunction(L, tell_lua);
	lua_pushlightuserdata(L, &telling);
	/* What can't be told changes nothing for the command. */
	(void)lua_pcall(L, 1, 0, 0);
	lua_settop(L, top);
	return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct watcher *watcher = poll->data;

	(void)status;
	(void)events;
	for (int i = 0; i < TURN && take(watcher); i++)
		;
}

static void on_watched(void *context, int socket, int view)
{
	struct watcher *watcher = context;

	if (watcher->socket >= 0 ||
	    uv_poll_init(uv_default_loop(), &watcher->poll, socket)) {
		close(socket);
		if (view >= 0)
			close(view);
		return;
	}
	watcher->socket = socket;
	watcher->view = view;
	watcher->poll.data = watcher;
	watcher->polled = true;
	(void)uv_poll_start(&watcher->poll, UV_READABLE, on_readable);
}

/* On the stack, with the function at stack @fn. */
static struct watcher *watcher_new(lua_State *L, int fn)
{
	struct watcher *watcher;

	luaL_checktype(L, fn, LUA_TFUNCTION);
	watcher = lua_newuserdatauv(L, sizeof(*watcher), 0);
	memset(watcher, 0, sizeof(*watcher));
	watcher->socket = watcher->view = -1;
	luaL_setmetatable(L, WATCHER);
	lua_pushvalue(L, fn);
	watcher->fn = luaL_ref(L, LUA_REGISTRYINDEX);
	lua_pushvalue(L, -1);
	watcher->self = luaL_ref(L, LUA_REGISTRYINDEX);
	watcher->L = api_main(L);
	return watcher;
}

/* start(sandbox, fn) -> watcher: before sandbox:run() */
static int watch_lua_start(lua_State *L)
{
	struct sandbox *sandbox = api_sandbox(L, 1);
	struct watcher *watcher = watcher_new(L, 2);

	watcher->sandbox = sandbox;
	sandbox->watched = on_watched;
	sandbox->watch_context = watcher;
	return 1;
}

/* adopt(socket, view, fn) -> watcher: what relay() told in another process */
static int watch_lua_adopt(lua_State *L)
{
	int socket = (int)luaL_checkinteger(L, 1);
	int view = (int)luaL_checkinteger(L, 2);

	on_watched(watcher_new(L, 3), socket, view);
	return 1;
}

/* The function gets the descriptors. */
static void on_relayed(void *context, int socket, int view)
{
	api_call_back(context, (const int[]){ socket, view }, 2);
}

/* relay(sandbox, fn): fn(socket, view) for whoever adopts them; before run() */
static int watch_lua_relay(lua_State *L)
{
	struct sandbox *sandbox = api_sandbox(L, 1);

	sandbox->watch_context = api_callback(L, 2);
	sandbox->watched = on_relayed;
	return 0;
}

/*
 * A regular file, if no link is on the way. For reading it is opened in the
 * read-only tree: the descriptor leads back there only.
 */
static int open_regular(const struct watcher *watcher, const char *path,
			int flags)
{
	owned_fd int file =
		writes(flags) ? sys_open_plain(path, O_PATH)
			      : sys_open_beneath(watcher->view, path, O_PATH);
	char name[32];
	struct statfs fs;
	struct stat st;
	int fd;

	if (file < 0)
		return file;
	if (fstat(file, &st) || fstatfs(file, &fs))
		return -errno;
	/* In a /proc of the host's, wherever it is, the host process is what
	 * its user is: it shows our own memory. */
	if (!S_ISREG(st.st_mode) || fs.f_type == PROC_SUPER_MAGIC)
		return -EACCES;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
	/* Whoever has a lease on it is not waited for. */
	fd = open(name, (flags & (O_ACCMODE | O_APPEND | O_TRUNC | O_SYNC)) |
				O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (!(flags & O_NONBLOCK))
		(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static struct watcher *check_watcher(lua_State *L)
{
	return luaL_checkudata(L, 1, WATCHER);
}

/* watcher:grant(id, path, flags) -> true | nil, message, name */
static int watch_lua_grant(lua_State *L)
{
	const struct watcher *watcher = check_watcher(L);
	struct watch_answer answer = { (uint64_t)luaL_checkinteger(L, 2) };
	const char *path = luaL_checkstring(L, 3);
	int flags = (int)luaL_checkinteger(L, 4), error;
	owned_fd int fd = -1;

	if (watcher->socket < 0 || watcher->view < 0)
		return api_fail(L, EBADF);
	fd = open_regular(watcher, path, flags);
	error = fd < 0 ? fd
		       : sys_send(watcher->socket, &answer, sizeof(answer), &fd,
				  1);
	cleanup_fd_(&fd);
	fd = -1;
	return api_done(L, error);
}

/* watcher:leave(id): the call goes on without */
static int watch_lua_leave(lua_State *L)
{
	const struct watcher *watcher = check_watcher(L);
	struct watch_answer answer = { (uint64_t)luaL_checkinteger(L, 2) };

	if (watcher->socket >= 0)
		(void)sys_send(watcher->socket, &answer, sizeof(answer), NULL,
			       0);
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct watcher *watcher = handle->data;

	watcher->polled = false;
}

/* watcher:close() -> was there an agent? Takes what is left first. */
static int watch_lua_close(lua_State *L)
{
	struct watcher *watcher = luaL_checkudata(L, 1, WATCHER);
	bool was_there = watcher->socket >= 0;

	if (watcher->closed)
		return 0;
	watcher->closed = true;
	if (watcher->sandbox)
		watcher->sandbox->watched = NULL;
	while (was_there && take(watcher))
		;
	if (watcher->polled)
		uv_close((uv_handle_t *)&watcher->poll, on_closed);
	while (watcher->polled)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	if (was_there)
		close(watcher->socket);
	if (watcher->view >= 0)
		close(watcher->view);
	watcher->socket = watcher->view = -1;
	luaL_unref(L, LUA_REGISTRYINDEX, watcher->fn);
	luaL_unref(L, LUA_REGISTRYINDEX, watcher->self);
	lua_pushboolean(L, was_there);
	return 1;
}

int luaopen_srt_c_watch(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "grant", watch_lua_grant },
		{ "leave", watch_lua_leave },
		{ "close", watch_lua_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "start", watch_lua_start },
		{ "adopt", watch_lua_adopt },
		{ "relay", watch_lua_relay },
		{ NULL, NULL },
	};

	api_class(L, WATCHER, methods, NULL);
	luaL_newlib(L, functions);
	return 1;
}
