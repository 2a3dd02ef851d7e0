/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.tls: the CA of a run and the roots it trusts; see api_tls.md. */
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>

#include "lua/api.h"
#include "proxy/authority.h"
#include "proxy/jks.h"
#include "proxy/proxy.h"
#include "proxy/trust.h"

#define AUTHORITY "srt.authority"
#define TRUST "srt.trust"
#define BUFFER "srt.buffer"

struct authority_object {
	struct authority *authority;
};

struct trust_object {
	struct trust *trust;
};

static struct proxy_text check_text(lua_State *L, int index)
{
	struct proxy_text text;

	text.data = luaL_optlstring(L, index, "", &text.size);
	return text;
}

static int fail_with(lua_State *L, const char *why)
{
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

/* authority(cert_pem|nil, key_pem|nil) -> authority | nil, message */
static int tls_lua_authority(lua_State *L)
{
	struct proxy_text cert = check_text(L, 1), key = check_text(L, 2);
	struct authority_object *object =
		lua_newuserdatauv(L, sizeof(*object), 0);
	const char *why = NULL;
	int error;

	object->authority = NULL;
	luaL_setmetatable(L, AUTHORITY);
	error = authority_new(&object->authority, cert, key, &why);
	if (error == -EINVAL)
		return fail_with(L, why ? why : "unusable");
	return error ? api_fail(L, -error) : 1;
}

static struct authority *check_authority(lua_State *L, int index)
{
	struct authority_object *object = luaL_checkudata(L, index, AUTHORITY);

	luaL_argcheck(L, object->authority, index, "authority is closed");
	return object->authority;
}

/* authority:certificate() -> PEM */
static int tls_lua_certificate(lua_State *L)
{
	struct proxy_text pem = authority_certificate(check_authority(L, 1));

	lua_pushlstring(L, pem.data, pem.size);
	return 1;
}

static int tls_lua_authority_gc(lua_State *L)
{
	struct authority_object *object = luaL_checkudata(L, 1, AUTHORITY);

	authority_free(object->authority);
	object->authority = NULL;
	return 0;
}

/* trust() -> trust | nil, message */
static int tls_lua_trust(lua_State *L)
{
	struct trust_object *object = lua_newuserdatauv(L, sizeof(*object), 0);

	object->trust = NULL;
	luaL_setmetatable(L, TRUST);
	object->trust = trust_new();
	return object->trust ? 1 : api_fail(L, ENOMEM);
}

static struct trust *check_trust(lua_State *L, int index)
{
	struct trust_object *object = luaL_checkudata(L, index, TRUST);

	luaL_argcheck(L, object->trust, index, "trust is closed");
	return object->trust;
}

/* trust:add(pem) -> {added=, known=, broken=, why=} | nil, message */
static int tls_lua_add(lua_State *L)
{
	struct trust *trust = check_trust(L, 1);
	struct proxy_text pem = check_text(L, 2);
	struct trust_count count = { 0 };
	int error = trust_add(trust, pem, &count);

	if (error)
		return api_fail(L, -error);
	lua_createtable(L, 0, 4);
	lua_pushinteger(L, (lua_Integer)count.added);
	lua_setfield(L, -2, "added");
	lua_pushinteger(L, (lua_Integer)count.known);
	lua_setfield(L, -2, "known");
	lua_pushinteger(L, (lua_Integer)count.broken);
	lua_setfield(L, -2, "broken");
	lua_pushstring(L, count.why);
	lua_setfield(L, -2, "why");
	return 1;
}

static int push_buffer(lua_State *L, struct pbuf *buffer, bool done)
{
	struct proxy_text text = pbuf_text(buffer);

	if (!done || buffer->failed)
		return api_fail(L, ENOMEM);
	lua_pushlstring(L, text.data ? text.data : "", text.size);
	return 1;
}

/* userdata that holds a buffer, so that nothing is lost when Lua throws */
static int tls_lua_buffer_gc(lua_State *L)
{
	pbuf_free(luaL_checkudata(L, 1, BUFFER));
	return 0;
}

static struct pbuf *new_buffer(lua_State *L)
{
	struct pbuf *buffer = lua_newuserdatauv(L, sizeof(*buffer), 0);

	*buffer = (struct pbuf){ 0 };
	luaL_setmetatable(L, BUFFER);
	return buffer;
}

/* bundle(authority, trust) -> PEM | nil, message */
static int tls_lua_bundle(lua_State *L)
{
	const struct authority *authority = check_authority(L, 1);
	const struct trust *trust = check_trust(L, 2);
	struct pbuf *buffer = new_buffer(L);

	pbuf_text_add(buffer, authority_certificate(authority));
	trust_pem(trust, buffer);
	return push_buffer(L, buffer, true);
}

/* javaStore(authority, trust) -> JKS | nil, message */
static int tls_lua_java_store(lua_State *L)
{
	const struct authority *authority = check_authority(L, 1);
	const struct trust *trust = check_trust(L, 2);
	struct pbuf *buffer = new_buffer(L);

	return push_buffer(
		L, buffer,
		jks_write(buffer, authority_certificate(authority), trust));
}

static int tls_lua_trust_gc(lua_State *L)
{
	struct trust_object *object = luaL_checkudata(L, 1, TRUST);

	trust_free(object->trust);
	object->trust = NULL;
	return 0;
}

static unsigned int check_count(lua_State *L, int index)
{
	lua_Integer count = luaL_checkinteger(L, index);

	luaL_argcheck(L, count > 0 && count <= UINT_MAX, index, "out of range");
	return (unsigned int)count;
}

/*
 * terminate(proxy, authority, trust, tunnels, handshakeMs) -> true | nil,
 * message. Both must stay until the proxy is closed.
 */
static int tls_lua_terminate(lua_State *L)
{
	struct proxy *proxy = api_proxy(L, 1);
	const struct proxy_tls with = {
		.authority = check_authority(L, 2),
		.trust = check_trust(L, 3),
		.tunnels = check_count(L, 4),
		.handshake_ms = check_count(L, 5),
	};
	int error = proxy_terminate(proxy, &with);

	if (error)
		return api_fail(L, -error);
	api_proxy_keep(L, 1, 2);
	api_proxy_keep(L, 1, 3);
	lua_pushboolean(L, 1);
	return 1;
}

/* limit(proxy, tunnels, handshakeMs): in place of those of terminate() */
static int tls_lua_limit(lua_State *L)
{
	struct proxy *proxy = api_proxy(L, 1);
	unsigned int tunnels = check_count(L, 2);

	proxy_limit_tls(proxy, tunnels, check_count(L, 3));
	return 0;
}

int luaopen_srt_c_tls(lua_State *L)
{
	static const luaL_Reg of_authority[] = {
		{ "certificate", tls_lua_certificate },
		{ NULL, NULL },
	};
	static const luaL_Reg of_trust[] = {
		{ "add", tls_lua_add },
		{ NULL, NULL },
	};
	static const luaL_Reg of_buffer[] = { { NULL, NULL } };
	static const luaL_Reg functions[] = {
		{ "authority", tls_lua_authority },
		{ "trust", tls_lua_trust },
		{ "bundle", tls_lua_bundle },
		{ "javaStore", tls_lua_java_store },
		{ "terminate", tls_lua_terminate },
		{ "limit", tls_lua_limit },
		{ NULL, NULL },
	};

	api_class(L, BUFFER, of_buffer, tls_lua_buffer_gc);
	api_class(L, AUTHORITY, of_authority, tls_lua_authority_gc);
	api_class(L, TRUST, of_trust, tls_lua_trust_gc);
	luaL_newlib(L, functions);
	return 1;
}
