/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.carry: a connection of the program's own; see api_carry.md. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/carry.h"
#include "lua/api.h"

#define CONNECTION "srt.connection"
#define RECEIVE_MAX 65536

static int *check_open(lua_State *L)
{
	int *fd = luaL_checkudata(L, 1, CONNECTION);

	luaL_argcheck(L, *fd >= 0, 1, "connection is closed");
	return fd;
}

/* dial(host, port) -> connection | nil, message, name */
static int carry_lua_dial(lua_State *L)
{
	const char *host = luaL_checkstring(L, 1);
	lua_Integer port = luaL_checkinteger(L, 2);
	int *fd = lua_newuserdatauv(L, sizeof(*fd), 0);

	luaL_argcheck(L, port > 0 && port <= UINT16_MAX, 2, "no port");
	*fd = -1;
	luaL_setmetatable(L, CONNECTION);
	*fd = carry_dial(host, (uint16_t)port);
	if (*fd >= 0)
		return 1;
	if (*fd > -1000)
		return api_fail(L, -*fd);
	lua_pushnil(L);
	lua_pushstring(L, gai_strerror(*fd + 1000));
	lua_pushliteral(L, "ERESOLVE");
	return 3;
}

/* connection:send(bytes) -> true | nil, message, name */
static int carry_lua_send(lua_State *L)
{
	size_t size;
	int *fd = check_open(L);
	const char *data = luaL_checklstring(L, 2, &size);
	int error = carry_send(*fd, data, size);

	return api_done(L, error);
}

/* connection:receive(most) -> bytes, "" at the end | nil, message, name */
static int carry_lua_receive(lua_State *L)
{
	int *fd = check_open(L);
	lua_Integer most = luaL_checkinteger(L, 2);
	luaL_Buffer buffer;
	char *data;
	ssize_t got;

	luaL_argcheck(L, most > 0 && most <= RECEIVE_MAX, 2, "out of range");
	data = luaL_buffinitsize(L, &buffer, (size_t)most);
	do {
		got = recv(*fd, data, (size_t)most, 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return api_fail(L, errno);
	luaL_pushresultsize(&buffer, (size_t)got);
	return 1;
}

/* connection:carry() -> true | nil, message, name */
static int carry_lua_carry(lua_State *L)
{
	int error = carry_both(STDIN_FILENO, STDOUT_FILENO, *check_open(L));

	return api_done(L, error);
}

static int carry_lua_close(lua_State *L)
{
	int *fd = luaL_checkudata(L, 1, CONNECTION);

	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return 0;
}

int luaopen_srt_c_carry(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "send", carry_lua_send },
		{ "receive", carry_lua_receive },
		{ "carry", carry_lua_carry },
		{ "close", carry_lua_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "dial", carry_lua_dial },
		{ NULL, NULL },
	};

	api_class(L, CONNECTION, methods, carry_lua_close);
	luaL_newlib(L, functions);
	return 1;
}
