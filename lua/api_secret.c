/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.secret: what values that nobody may see need; see api_secret.md. */
#include <bearssl.h>
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>

#include "core/capture.h"
#include "core/system.h"
#include "lua/api.h"
#include "proxy/substitute.h"

#define SUBSTITUTE "srt.substitute"
#define WORDS_MAX 256

struct substitute *api_substitute(lua_State *L, int index)
{
	struct substitute **set = luaL_testudata(L, index, SUBSTITUTE);

	return set ? *set : NULL;
}

static int collect(lua_State *L)
{
	struct substitute **set = luaL_checkudata(L, 1, SUBSTITUTE);

	substitute_release(*set);
	*set = NULL;
	return 0;
}

static struct proxy_text text_at(lua_State *L, int table, const char *name)
{
	struct proxy_text text = { 0 };

	if (lua_getfield(L, table, name) != LUA_TSTRING)
		luaL_error(L, "a pair needs the string %s", name);
	text.data = lua_tolstring(L, -1, &text.size);
	lua_pop(L, 1); /* the table keeps it */
	return text;
}

/* substitute{{from=, to=}, …} -> set */
static int secret_lua_substitute(lua_State *L)
{
	struct substitute **set;
	lua_Integer count;

	luaL_checktype(L, 1, LUA_TTABLE);
	set = lua_newuserdatauv(L, sizeof(struct substitute *), 0);
	*set = NULL;
	luaL_setmetatable(L, SUBSTITUTE);
	*set = substitute_new();
	if (!*set)
		return luaL_error(L, "not enough memory");
	count = (lua_Integer)lua_rawlen(L, 1);
	for (lua_Integer i = 1; i <= count; i++) {
		int error, pair = lua_gettop(L) + 1;

		lua_rawgeti(L, 1, i);
		luaL_checktype(L, pair, LUA_TTABLE);
		error = substitute_add(*set, text_at(L, pair, "from"),
				       text_at(L, pair, "to"));
		if (error)
			return luaL_error(L, "pair %d: %s", (int)i,
					  strerror(-error));
		lua_pop(L, 1);
	}
	return 1;
}

/* run(argv, milliseconds, most) -> text | nil, message */
static int secret_lua_run(lua_State *L)
{
	const char *argv[WORDS_MAX + 1];
	int timeout = (int)luaL_checkinteger(L, 2);
	size_t size = (size_t)luaL_checkinteger(L, 3);
	struct failure failure = { 0 };
	luaL_Buffer buffer;
	char *out;

	luaL_argcheck(L, size > 0 && size <= 1 << 20, 3, "out of range");
	api_argv(L, 1, argv, WORDS_MAX);
	out = luaL_buffinitsize(L, &buffer, size);
	if (capture_run((char *const *)argv, timeout, out, &size, &failure)) {
		lua_pushnil(L);
		lua_pushstring(L, failure.text);
		return 2;
	}
	luaL_pushresultsize(&buffer, size);
	return 1;
}

/* hide() -> true | nil, message, name: no core dump, no ptrace by others */
static int secret_lua_hide(lua_State *L)
{
	return api_done(L, sys_hide());
}

/* sha256(text) -> 32 bytes */
static int secret_lua_sha256(lua_State *L)
{
	unsigned char out[br_sha256_SIZE];
	br_sha256_context context;
	size_t size;
	const char *text = luaL_checklstring(L, 1, &size);

	br_sha256_init(&context);
	br_sha256_update(&context, text, size);
	br_sha256_out(&context, out);
	lua_pushlstring(L, (const char *)out, sizeof(out));
	return 1;
}

/* hmac(key, text) -> 32 bytes: HMAC-SHA-256, RFC 2104 */
static int secret_lua_hmac(lua_State *L)
{
	unsigned char out[br_sha256_SIZE];
	br_hmac_key_context key;
	br_hmac_context context;
	size_t key_size, size;
	const char *secret = luaL_checklstring(L, 1, &key_size);
	const char *text = luaL_checklstring(L, 2, &size);

	br_hmac_key_init(&key, &br_sha256_vtable, secret, key_size);
	br_hmac_init(&context, &key, 0);
	br_hmac_update(&context, text, size);
	br_hmac_out(&context, out);
	lua_pushlstring(L, (const char *)out, sizeof(out));
	return 1;
}

int luaopen_srt_c_secret(lua_State *L)
{
	static const luaL_Reg methods[] = { { NULL, NULL } };
	static const luaL_Reg functions[] = {
		{ "substitute", secret_lua_substitute },
		{ "run", secret_lua_run },
		{ "hide", secret_lua_hide },
		{ "sha256", secret_lua_sha256 },
		{ "hmac", secret_lua_hmac },
		{ NULL, NULL },
	};

	api_class(L, SUBSTITUTE, methods, collect);
	luaL_newlib(L, functions);
	return 1;
}
