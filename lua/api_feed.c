/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host-state table srt.c.feed: what comes while a command runs.
 *
 *	feed.read(fd, fn)	feed, or nil, message, name: takes over fd
 *	feed.changes(paths, fn)	feed, or nil, message, name
 *	f:close()		fn is not called any more
 *
 * fn(data) for each piece that is read; at last fn(nil, message), message nil
 * at the end of input. What can't be waited for (a plain file) is read at once.
 * fn() some time after one of the paths was written, made or replaced, once
 * for all that happens together. One whose folder is not there is passed over.
 *
 * Both run on the loop, as srt.c.watch's function does, and what they throw is
 * lost. A feed may not be closed there.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "core/system.h"
#include "lua/api.h"

#define FEED "srt.feed"

enum {
	PIECE = 65536,
	SETTLE_MS = 100, /* an editor writes in several steps */
	MOST_PATHS = 256,
};

struct feed;

/** struct place - one path that is watched, by its folder */
struct place {
	uv_fs_event_t event;
	struct feed *feed;
	char *name; /* owned; in that folder */
};

/** struct feed - kept by the registry until it is closed, and has closed */
struct feed {
	lua_State *L; /* the main thread */
	int fn;
	int self;
	int fd; /* -1: of changes */
	uv_poll_t poll;
	uv_timer_t timer;
	struct place *places;
	int place_count;
	int handles; /* close callbacks to come */
	bool closed;
};

struct telling {
	const struct feed *feed;
	const char *data; /* NULL: nil */
	size_t size;
	const char *message;
};

/* Protected: (telling) */
static int tell_lua(lua_State *L)
{
	const struct telling *telling = lua_touserdata(L, 1);

	lua_rawgeti(L, LUA_REGISTRYINDEX, telling->feed->fn);
	if (telling->data)
		lua_pushlstring(L, telling->data, telling->size);
	else
		lua_pushnil(L);
	lua_pushstring(L, telling->message);
	lua_call(L, 2, 0); /* protected */
	return 0;
}

static void tell(const struct feed *feed, const char *data, size_t size,
		 const char *message)
{
	struct telling telling = { feed, data, size, message };
	lua_State *L = feed->L;
	int top = lua_gettop(L);

	if (!lua_checkstack(L, 20))
		return;
	lua_pushcfunction(L, tell_lua);
	lua_pushlightuserdata(L, &telling);
	(void)lua_pcall(L, 1, 0, 0);
	lua_settop(L, top);
}

/* One piece. Return: false where there is none now, or none any more. */
static bool take(struct feed *feed)
{
	char data[PIECE];
	ssize_t size = read(feed->fd, data, sizeof(data));

	if (size > 0) {
		tell(feed, data, (size_t)size, NULL);
		return true;
	}
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (feed->handles)
		uv_poll_stop(&feed->poll);
	tell(feed, NULL, 0, size ? strerror(errno) : NULL);
	return false;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct feed *feed = poll->data;

	(void)status;
	(void)events;
	/* One a turn: the command has its turn between. */
	(void)take(feed);
}

static void on_settled(uv_timer_t *timer)
{
	tell(timer->data, NULL, 0, NULL);
}

static void on_change(uv_fs_event_t *event, const char *name, int events,
		      int status)
{
	const struct place *place = event->data;

	(void)events;
	/* Without a name: too much has happened to be told. */
	if (status == 0 && name && strcmp(name, place->name) != 0)
		return;
	(void)uv_timer_start(&place->feed->timer, on_settled, SETTLE_MS, 0);
}

static struct feed *feed_new(lua_State *L, int fn)
{
	struct feed *feed;

	luaL_checktype(L, fn, LUA_TFUNCTION);
	feed = lua_newuserdatauv(L, sizeof(*feed), 0);
	*feed = (struct feed){ .fd = -1 };
	luaL_setmetatable(L, FEED);
	lua_pushvalue(L, fn);
	feed->fn = luaL_ref(L, LUA_REGISTRYINDEX);
	lua_pushvalue(L, -1);
	feed->self = luaL_ref(L, LUA_REGISTRYINDEX);
	feed->L = api_main(L);
	return feed;
}

static void on_closed(uv_handle_t *handle)
{
	struct feed *feed = handle->data;

	feed->handles--;
}

static void on_place_closed(uv_handle_t *handle)
{
	const struct place *place = handle->data;

	place->feed->handles--;
}

static void feed_close(struct feed *feed)
{
	if (feed->closed)
		return;
	feed->closed = true;
	if (feed->fd >= 0 && feed->handles)
		uv_close((uv_handle_t *)&feed->poll, on_closed);
	if (feed->places && feed->handles)
		uv_close((uv_handle_t *)&feed->timer, on_closed);
	for (int i = 0; i < feed->place_count; i++)
		uv_close((uv_handle_t *)&feed->places[i].event,
			 on_place_closed);
	while (feed->handles)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	for (int i = 0; i < feed->place_count; i++)
		free(feed->places[i].name);
	free(feed->places);
	if (feed->fd >= 0)
		close(feed->fd);
	luaL_unref(feed->L, LUA_REGISTRYINDEX, feed->fn);
	luaL_unref(feed->L, LUA_REGISTRYINDEX, feed->self);
}

/* read(fd, fn) -> feed | nil, message, name */
static int feed_lua_read(lua_State *L)
{
	int fd = (int)luaL_checkinteger(L, 1);
	struct feed *feed = feed_new(L, 2);
	int error;

	feed->fd = fd;
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	/* This also makes it non-blocking. */
	error = uv_default_loop()
			? uv_poll_init(uv_default_loop(), &feed->poll, fd)
			: -EMFILE;
	if (error == UV_EPERM) {
		while (take(feed))
			;
		return 1;
	}
	if (error) {
		feed_close(feed);
		return api_fail(L, -error);
	}
	feed->handles = 1;
	feed->poll.data = feed;
	(void)uv_poll_start(&feed->poll, UV_READABLE, on_readable);
	return 1;
}

/* Its folder is watched, so that it may be replaced. */
static int watch_path(struct feed *feed, const char *path)
{
	struct place *place = &feed->places[feed->place_count];
	const char *slash = strrchr(path, '/');
	char *folder;
	int error;

	if (!slash || !slash[1])
		return -EINVAL;
	folder = slash == path ? strdup("/")
			       : strndup(path, (size_t)(slash - path));
	*place = (struct place){ .feed = feed, .name = strdup(slash + 1) };
	error = folder && place->name
			? uv_fs_event_init(uv_default_loop(), &place->event)
			: -ENOMEM;
	if (error) {
		free(folder);
		free(place->name);
		return error;
	}
	place->event.data = place;
	feed->place_count++;
	feed->handles++;
	error = uv_fs_event_start(&place->event, on_change, folder, 0);
	free(folder);
	/* Nothing can be made in a folder that is not there. */
	return error == -ENOENT ? 0 : error;
}

/* changes(paths, fn) -> feed | nil, message, name */
static int feed_lua_changes(lua_State *L)
{
	lua_Integer count = luaL_len(L, 1);
	struct feed *feed;
	int error = -ENOMEM;

	if (count > MOST_PATHS)
		return api_fail(L, E2BIG);
	feed = feed_new(L, 2);
	if (count > 0 && uv_default_loop())
		feed->places = calloc((size_t)count, sizeof(*feed->places));
	if (feed->places) {
		error = uv_timer_init(uv_default_loop(), &feed->timer);
		feed->timer.data = feed;
		feed->handles = 1;
	}
	for (lua_Integer i = 1; !error && i <= count; i++) {
		lua_rawgeti(L, 1, i);
		error = watch_path(feed, luaL_checkstring(L, -1));
		lua_pop(L, 1);
	}
	if (!error)
		return 1;
	feed_close(feed);
	return api_fail(L, -error);
}

static int feed_lua_close(lua_State *L)
{
	feed_close(luaL_checkudata(L, 1, FEED));
	return 0;
}

int luaopen_srt_c_feed(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "close", feed_lua_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "read", feed_lua_read },
		{ "changes", feed_lua_changes },
		{ NULL, NULL },
	};

	api_class(L, FEED, methods, NULL);
	luaL_newlib(L, functions);
	return 1;
}
