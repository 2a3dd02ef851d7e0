/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.redirect: programs that ignore proxies; see api_redirect.md. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <string.h>

#include "core/origins.h"
#include "core/redirect.h"
#include "core/sandbox.h"
#include "lua/api.h"
#include "lua/process.h"
#include "proxy/proxy.h"

/* Of the registry: from the address of a struct resolving to its userdata */
#define RESOLVING "srt.resolving"
#define ORIGINS "srt.origins"

/*
 * struct resolving - userdata, the proxy keeps it; its values are refuse and,
 * of another process's sandbox, what prepares
 */
struct resolving {
	lua_State *L;
	struct sandbox *sandbox; /* NULL: another process's */
	struct proxy *proxy;
	const struct process_finder *finder;
	char reason[300];
};

struct name_question {
	const struct resolving *resolving;
	const char *name;
	struct process_asker who;
};

/* Protected: (question) -> reason or nil */
static int refuse_lua(lua_State *L)
{
	struct name_question *question = lua_touserdata(L, 1);

	lua_getfield(L, LUA_REGISTRYINDEX, RESOLVING);
	lua_rawgetp(L, -1, question->resolving);
	lua_getiuservalue(L, -1, 1);
	lua_pushstring(L, question->name);
	lua_pushlightuserdata(L, &question->who);
	lua_call(L, 2, 1); /* protected */
	return 1;
}

static const char *on_refuse(void *context, const char *name,
			     const struct proxy_asker *asker)
{
	struct resolving *resolving = context;
	struct name_question question = { resolving,
					  name,
					  { resolving->finder, asker } };
	lua_State *L = resolving->L;
	int top = lua_gettop(L);
	const char *reason;

	if (!lua_checkstack(L, 20))
		return "out of memory";
	lua_pushcfunction(L, refuse_lua);
	lua_pushlightuserdata(L, &question);
	if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_isnil(L, -1)) {
		lua_settop(L, top);
		return NULL;
	}
	reason = lua_tostring(L, -1);
	strncpy(resolving->reason, reason ? reason : "refused",
		sizeof(resolving->reason) - 1);
	lua_settop(L, top);
	return resolving->reason;
}

static void on_led(void *context, int error)
{
	const struct resolving *resolving = context;

	proxy_led(resolving->proxy, error);
}

/* Protected: (resolving): whoever has the sandbox is told, and led() comes */
static int prepare_lua(lua_State *L)
{
	lua_getfield(L, LUA_REGISTRYINDEX, RESOLVING);
	lua_rawgetp(L, -1, lua_touserdata(L, 1));
	lua_getiuservalue(L, -1, 2);
	lua_call(L, 0, 0); /* protected */
	return 0;
}

static void on_prepare(void *context)
{
	struct resolving *resolving = context;
	lua_State *L = resolving->L;
	int top = lua_gettop(L);

	if (resolving->sandbox) {
		sandbox_lead(resolving->sandbox, on_led, resolving);
		return;
	}
	if (!lua_checkstack(L, 20))
		return;
	lua_pushcfunction(L, prepare_lua);
	lua_pushlightuserdata(L, resolving);
	/* Where it fails names are never answered. */
	(void)lua_pcall(L, 1, 0, 0);
	lua_settop(L, top);
}

static bool on_origin(void *context, const struct sockaddr *peer,
		      struct sockaddr_storage *to)
{
	const struct resolving *resolving = context;
	struct origins *origins =
		resolving->sandbox
			? resolving->sandbox->shared->plan.redirect.origins
			: NULL;

	return origins && origins_take(origins, peer, to);
}

/*
 * resolve(sandbox, proxy, fd, v4, v6, refuse) -> true | nil, message. Of
 * another process's sandbox there is a function instead, called when it is to
 * redirect; then led() has to follow.
 */
static int redirect_lua_resolve(lua_State *L)
{
	struct sandbox *sandbox =
		lua_isfunction(L, 1) ? NULL : api_sandbox(L, 1);
	struct proxy *proxy = api_proxy(L, 2);
	int fd = (int)luaL_checkinteger(L, 3);
	struct proxy_resolver with = { .refuse = on_refuse,
				       .prepare = on_prepare,
				       .origin = on_origin,
				       .v4 = luaL_checkstring(L, 4),
				       .v6 = luaL_checkstring(L, 5) };
	struct resolving *resolving;

	luaL_checktype(L, 6, LUA_TFUNCTION);
	resolving = lua_newuserdatauv(L, sizeof(*resolving), 2);
	*resolving = (struct resolving){ .sandbox = sandbox,
					 .proxy = proxy,
					 .finder = api_proxy_finder(L, 2) };
	lua_pushvalue(L, 6);
	lua_setiuservalue(L, -2, 1);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 2);
	api_proxy_keep(L, 2, -1);
	lua_getfield(L, LUA_REGISTRYINDEX, RESOLVING);
	lua_pushvalue(L, -2);
	lua_rawsetp(L, -2, resolving);
	resolving->L = api_main(L);
	with.context = resolving;
	return api_done(L, proxy_resolve(proxy, fd, &with));
}

/* led(proxy, error): another process's sandbox redirects now, or (errno) can't
 */
static int redirect_lua_led(lua_State *L)
{
	struct proxy *proxy = api_proxy(L, 1);

	proxy_led(proxy, -(int)luaL_checkinteger(L, 2));
	return 0;
}

static void on_leading(void *context, int error)
{
	const int number = error < 0 ? -error : error;

	api_call_back(context, &number, 1);
}

/* lead(sandbox, fn): has PID 1 redirect; fn(error), 0 where it does. Once. */
static int redirect_lua_lead(lua_State *L)
{
	struct sandbox *sandbox = api_sandbox(L, 1);

	sandbox_lead(sandbox, on_leading, api_callback(L, 2));
	return 0;
}

/* @context: struct origins, or NULL */
static bool on_admit(void *context, const struct sockaddr *peer)
{
	struct sockaddr_storage to;

	return context && origins_take(context, peer, &to);
}

static int origins_gc(lua_State *L)
{
	struct origins **origins = luaL_checkudata(L, 1, ORIGINS);

	origins_free(*origins);
	*origins = NULL;
	return 0;
}

/*
 * admit(sandbox, proxy) -> true | nil, message: only clients that the sandbox's
 * agent connected. Of another process's there is a descriptor instead, of its
 * sandbox:origins().
 */
static int redirect_lua_admit(lua_State *L)
{
	struct proxy *proxy = api_proxy(L, 2);
	struct origins **mapped;

	if (!lua_isinteger(L, 1)) {
		proxy_admit(proxy, on_admit,
			    api_sandbox(L, 1)->shared->plan.redirect.origins);
		return api_done(L, 0);
	}
	mapped = lua_newuserdatauv(L, sizeof(*mapped), 0);
	*mapped = NULL;
	if (luaL_newmetatable(L, ORIGINS)) {
		lua_pushcfunction(L, origins_gc);
		lua_setfield(L, -2, "__gc");
	}
	lua_setmetatable(L, -2);
	*mapped = origins_map((int)lua_tointeger(L, 1));
	if (!*mapped)
		return api_fail(L, EINVAL);
	api_proxy_keep(L, 2, -1);
	proxy_admit(proxy, on_admit, *mapped);
	return api_done(L, 0);
}

/* streams(proxy, fd) -> true | nil, message: DNS by TCP */
static int redirect_lua_streams(lua_State *L)
{
	struct proxy *proxy = api_proxy(L, 1);

	return api_done(
		L, proxy_resolve_streams(proxy, (int)luaL_checkinteger(L, 2)));
}

/* redirected(proxy, fd) -> true | nil, message */
static int redirect_lua_redirected(lua_State *L)
{
	struct proxy *proxy = api_proxy(L, 1);

	return api_done(L,
			proxy_redirected(proxy, (int)luaL_checkinteger(L, 2)));
}

/* try(port, v4, v6) -> true | nil, message, name: can this machine do it? */
static int redirect_lua_try(lua_State *L)
{
	const struct redirect redirect = {
		.port = (uint16_t)luaL_checkinteger(L, 1),
		.v4 = luaL_checkstring(L, 2),
		.v6 = luaL_checkstring(L, 3),
	};

	return api_done(L, redirect_try(&redirect));
}

int luaopen_srt_c_redirect(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "resolve", redirect_lua_resolve },
		{ "streams", redirect_lua_streams },
		{ "redirected", redirect_lua_redirected },
		{ "admit", redirect_lua_admit },
		{ "led", redirect_lua_led },
		{ "lead", redirect_lua_lead },
		{ "try", redirect_lua_try },
		{ NULL, NULL },
	};

	/* Weak values: when the proxy is collected, so are these. */
	luaL_getsubtable(L, LUA_REGISTRYINDEX, RESOLVING);
	lua_createtable(L, 0, 1);
	lua_pushliteral(L, "v");
	lua_setfield(L, -2, "__mode");
	lua_setmetatable(L, -2);
	lua_pop(L, 1);
	luaL_newlib(L, functions);
	return 1;
}
