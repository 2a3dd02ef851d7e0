/* SPDX-License-Identifier: Apache-2.0 */
/*
 * srt.c.channel: Unix stream sockets that carry text and descriptors; see
 * api_channel.md.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "core/system.h"
#include "lua/api.h"
#include "lua/channel.h"

#define CHANNEL "srt.channel"

enum {
	PIECE = 65536,
	PAUSE_MS = 100,	     /* where there is no descriptor for a client */
	QUEUE_MAX = 8 << 20, /* for one who does not read */
};

/** struct channel - a connection, or a listener; lives until it has closed */
struct channel {
	uv_poll_t poll;
	uv_timer_t timer; /* of a listener */
	lua_State *L;	  /* the main thread */
	int fn;
	int fd;
	int handles;
	bool listens, closing;
	char *out; /* owned: what could not be sent yet */
	size_t size, sent, room;
	struct channel **object; /* the userdata that shows it, or NULL */
};

struct telling {
	const struct channel *channel;
	const char *data; /* NULL: nil */
	size_t size;
	const char *message;
	const int *fds;
	size_t fd_count;
	struct ucred peer;
};

/* Protected: (telling) */
static int tell_lua(lua_State *L)
{
	const struct telling *telling = lua_touserdata(L, 1);

	lua_rawgeti(L, LUA_REGISTRYINDEX, telling->channel->fn);
	if (telling->channel->listens) {
		lua_pushinteger(L, telling->fds[0]);
		lua_pushinteger(L, telling->peer.pid);
		lua_pushinteger(L, telling->peer.uid);
		lua_call(L, 3, 0); /* protected */
		return 0;
	}
	if (telling->data)
		lua_pushlstring(L, telling->data, telling->size);
	else
		lua_pushnil(L);
	if (telling->data)
		channel_push_fds(L, telling->fds, telling->fd_count);
	else
		lua_pushstring(L, telling->message);
	lua_call(L, 2, 0); /* protected */
	return 0;
}

/* Return: false where nobody could be told. */
static bool tell(const struct telling *telling)
{
	lua_State *L = telling->channel->L;
	int top = lua_gettop(L);
	bool told;

	if (!lua_checkstack(L, 20))
		return false;
	lua_pushcfunction(L, tell_lua);
	lua_pushlightuserdata(L, (void *)(uintptr_t)telling);
	told = lua_pcall(L, 1, 0, 0) == LUA_OK;
	lua_settop(L, top);
	return told;
}

static void on_closed(uv_handle_t *handle)
{
	struct channel *channel = handle->data;

	if (--channel->handles)
		return;
	free(channel->out);
	free(channel);
}

static void channel_close(struct channel *channel)
{
	if (channel->closing)
		return;
	channel->closing = true;
	if (channel->object)
		*channel->object = NULL;
	luaL_unref(channel->L, LUA_REGISTRYINDEX, channel->fn);
	uv_close((uv_handle_t *)&channel->poll, on_closed);
	if (channel->listens)
		uv_close((uv_handle_t *)&channel->timer, on_closed);
	if (channel->fd >= 0)
		close(channel->fd);
}

static void watch(struct channel *channel);

/* Return: 0, or -errno where it can go no further. */
static int flush(struct channel *channel)
{
	while (channel->sent < channel->size) {
		ssize_t sent = sys_send_some(
			channel->fd, channel->out + channel->sent,
			channel->size - channel->sent, NULL, 0, MSG_DONTWAIT);

		if (sent < 0)
			return sent == -EAGAIN ? 0 : (int)sent;
		channel->sent += (size_t)sent;
	}
	free(channel->out);
	channel->out = NULL;
	channel->size = channel->sent = channel->room = 0;
	return 0;
}

static void end(struct channel *channel, int error)
{
	struct telling telling = { .channel = channel,
				   .message = error ? strerror(error) : NULL };

	uv_poll_stop(&channel->poll);
	(void)tell(&telling);
	channel_close(channel);
}

static void take(struct channel *channel)
{
	char data[PIECE];
	int fds[SYS_MAX_FDS];
	size_t count = SYS_MAX_FDS;
	struct telling telling = { .channel = channel, .data = data };
	ssize_t size =
		sys_receive(channel->fd, data, sizeof(data), fds, &count);

	if (size == -EAGAIN)
		return;
	if (size <= 0) {
		end(channel, (int)-size);
		return;
	}
	telling.size = (size_t)size;
	telling.fds = fds;
	telling.fd_count = count;
	if (!tell(&telling) && !channel->closing)
		end(channel, EPROTO);
}

static void on_pause_over(uv_timer_t *timer)
{
	watch(timer->data);
}

static void take_client(struct channel *channel)
{
	struct telling telling = { .channel = channel };
	socklen_t size = sizeof(telling.peer);
	int fd = accept4(channel->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0) {
		if (errno != EMFILE && errno != ENFILE && errno != ENOMEM)
			return;
		uv_poll_stop(&channel->poll);
		(void)uv_timer_start(&channel->timer, on_pause_over, PAUSE_MS,
				     0);
		return;
	}
	telling.fds = &fd;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &telling.peer, &size) ||
	    !tell(&telling))
		close(fd);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct channel *channel = poll->data;
	int error;

	if (channel->listens) {
		take_client(channel);
		return;
	}
	if (events & UV_WRITABLE) {
		error = flush(channel);
		if (error) {
			end(channel, -error);
			return;
		}
		watch(channel);
	}
	if ((events & UV_READABLE) || status < 0)
		take(channel);
}

static void watch(struct channel *channel)
{
	(void)uv_poll_start(&channel->poll,
			    UV_READABLE | (channel->out ? UV_WRITABLE : 0),
			    on_event);
}

static int set_up(struct channel *channel)
{
	uv_loop_t *loop = uv_default_loop();
	int error;

	/* Where it was handed to us: to no program that we start. */
	(void)fcntl(channel->fd, F_SETFD, FD_CLOEXEC);
	error = loop ? uv_poll_init(loop, &channel->poll, channel->fd)
		     : -EMFILE;

	if (error)
		return error;
	channel->poll.data = channel;
	channel->handles = 1;
	if (channel->listens) {
		(void)uv_timer_init(loop, &channel->timer);
		channel->timer.data = channel;
		channel->handles = 2;
	}
	watch(channel);
	return 0;
}

/* (fd, fn) -> channel | nil, message, name; takes over fd on success */
static int channel_new(lua_State *L, bool listens)
{
	int fd = (int)luaL_checkinteger(L, 1), error;
	struct channel **object, *channel;

	luaL_checktype(L, 2, LUA_TFUNCTION);
	object = lua_newuserdatauv(L, sizeof(struct channel *), 0);
	*object = NULL;
	luaL_setmetatable(L, CHANNEL);
	lua_pushvalue(L, 2);
	channel = calloc(1, sizeof(*channel));
	if (!channel)
		return api_fail(L, ENOMEM);
	channel->fd = fd;
	channel->listens = listens;
	channel->fn = LUA_NOREF;
	error = set_up(channel);
	if (error) {
		free(channel);
		return api_fail(L, -error);
	}
	channel->object = object;
	*object = channel;
	/* May throw: then the userdata's __gc ends it. */
	channel->L = api_main(L);
	channel->fn = luaL_ref(L, LUA_REGISTRYINDEX);
	return 1;
}

static int channel_lua_open(lua_State *L)
{
	return channel_new(L, false);
}

static int channel_lua_accept(lua_State *L)
{
	return channel_new(L, true);
}

/* What is sent makes room; else it grows by halves, many answers are cheap. */
static int make_room(struct channel *channel, size_t size)
{
	size_t left = channel->size - channel->sent;
	size_t room = left + size;
	char *out;

	if (size <= channel->room - channel->size)
		return 0;
	room += room / 2;
	out = malloc(room);
	if (!out)
		return -ENOMEM;
	if (left)
		memcpy(out, channel->out + channel->sent, left);
	free(channel->out);
	channel->out = out;
	channel->room = room;
	channel->size = left;
	channel->sent = 0;
	return 0;
}

static int enqueue(struct channel *channel, const char *text, size_t size)
{
	int error;

	/* One answer may be of any size: only who lets them pile up is deaf. */
	if (channel->size - channel->sent > QUEUE_MAX)
		return -ENOBUFS;
	error = make_room(channel, size);
	if (error)
		return error;
	memcpy(channel->out + channel->size, text, size);
	channel->size += size;
	watch(channel);
	return 0;
}

static int queue(struct channel *channel, const char *text, size_t size,
		 const int *fds, size_t count)
{
	ssize_t sent = 0;

	/* A descriptor goes with its line, so nothing may be before it. */
	if (channel->out && count)
		return -EBUSY;
	if (!channel->out) {
		sent = sys_send_some(channel->fd, text, size, fds, count,
				     MSG_DONTWAIT);
		if (sent == -EAGAIN && !count)
			sent = 0;
		if (sent < 0)
			return (int)sent;
	}
	if ((size_t)sent == size)
		return 0;
	return enqueue(channel, text + sent, size - (size_t)sent);
}

/* c:send(text[, fds]) -> true | nil, message, name */
static int channel_lua_send(lua_State *L)
{
	struct channel **object = luaL_checkudata(L, 1, CHANNEL);
	int fds[SYS_MAX_FDS];
	size_t size, count = channel_read_fds(L, 3, fds);
	const char *text = luaL_checklstring(L, 2, &size);

	if (!*object)
		return api_fail(L, EPIPE);
	return api_done(L, queue(*object, text, size, fds, count));
}

static int channel_lua_close(lua_State *L)
{
	struct channel **object = luaL_checkudata(L, 1, CHANNEL);

	if (*object)
		channel_close(*object);
	return 0;
}

/* c:release() -> its descriptor, which is not closed with it | nil */
static int channel_lua_release(lua_State *L)
{
	struct channel **object = luaL_checkudata(L, 1, CHANNEL);
	struct channel *channel = *object;

	if (!channel)
		return 0;
	lua_pushinteger(L, channel->fd);
	channel->fd = -1;
	channel_close(channel);
	return 1;
}

int luaopen_srt_c_channel(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "send", channel_lua_send },
		{ "release", channel_lua_release },
		{ "close", channel_lua_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "open", channel_lua_open },
		{ "accept", channel_lua_accept },
		{ NULL, NULL },
	};

	api_class(L, CHANNEL, methods, channel_lua_close);
	luaL_newlib(L, functions);
	luaL_setfuncs(L, channel_calls, 0);
	return 1;
}
