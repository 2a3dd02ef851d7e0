/* SPDX-License-Identifier: Apache-2.0 */
/*
 * require "srtlua", for the Lua of other programs: lib/srtlua.h as a table. It
 * is no part of srt-lua. docs/c-api.md has its functions.
 */
#include <lauxlib.h>
#include <lua.h>

#include "lua/module.h"

#define MEMORY "srtlua.memory"

enum { WORDS_MAX = 65536 };

int module_failed(lua_State *L, const struct srtlua_error *error)
{
	lua_pushnil(L);
	lua_pushstring(L, error->text);
	return 2;
}

struct srtlua_session *module_session(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SESSION);

	luaL_argcheck(L, object->session, 1, "the session is closed");
	return object->session;
}

void module_text(lua_State *L, const char *name, const char *text)
{
	lua_pushstring(L, text);
	lua_setfield(L, -2, name);
}

/* A field that stays in the table at @index, which keeps it; or NULL. */
static const char *field(lua_State *L, int index, const char *name)
{
	const char *text = NULL;

	if (lua_getfield(L, index, name) != LUA_TNIL) {
		if (lua_type(L, -1) != LUA_TSTRING)
			luaL_error(L, "%s has to be a string", name);
		text = lua_tostring(L, -1);
	}
	lua_pop(L, 1);
	return text;
}

/* A list of such fields, in memory of Lua's that stays on the stack. */
static const char *const *list_field(lua_State *L, int index, const char *name)
{
	const char **words;
	lua_Integer count;

	if (lua_getfield(L, index, name) == LUA_TNIL)
		return NULL;
	if (!lua_istable(L, -1))
		luaL_error(L, "%s has to be a list of strings", name);
	count = luaL_len(L, -1);
	if (count > WORDS_MAX)
		luaL_error(L, "%s has too many items", name);
	luaL_checkstack(L, 4, NULL);
	words = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof(*words), 0);
	for (lua_Integer i = 1; i <= count; i++) {
		if (lua_rawgeti(L, -2, i) != LUA_TSTRING)
			luaL_error(L, "%s has to be a list of strings", name);
		words[i - 1] = lua_tostring(L, -1);
		lua_pop(L, 1);
	}
	words[count] = NULL;
	return words;
}

/* How a policy is given: file, lua or json, at @text. */
typedef int opener(struct srtlua_session **out, const char *text,
		   const struct srtlua_options *options,
		   struct srtlua_error *error);

static opener *opener_of(lua_State *L, const char **text)
{
	static const struct {
		const char *name;
		opener *open;
	} ways[] = { { "file", srtlua_open_file },
		     { "lua", srtlua_open_lua },
		     { "json", srtlua_open_json } };
	opener *found = NULL;

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		const char *given = field(L, 1, ways[i].name);

		luaL_argcheck(L, !given || !found, 1,
			      "one of file, lua and json");
		if (given) {
			found = ways[i].open;
			*text = given;
		}
	}
	luaL_argcheck(L, found, 1, "one of file, lua and json");
	return found;
}

/*
 * open{file=|lua=|json=, program=, cwd=, violations=, ask=, policyAsks=}
 * -> session | nil, why
 */
static int module_open(lua_State *L)
{
	struct srtlua_options options = { .size = sizeof(options) };
	struct srtlua_error error;
	struct object *object;
	const char *text = NULL;
	opener *open;

	luaL_checktype(L, 1, LUA_TTABLE);
	open = opener_of(L, &text);
	options.program = field(L, 1, "program");
	options.cwd = field(L, 1, "cwd");
	options.violations = field(L, 1, "violations");
	lua_getfield(L, 1, "policyAsks");
	options.policy_asks = lua_toboolean(L, -1);
	object = lua_newuserdatauv(L, sizeof(*object), 1);
	*object = (struct object){ 0 };
	luaL_setmetatable(L, SESSION);
	if (lua_getfield(L, 1, "ask") != LUA_TNIL) {
		luaL_argcheck(L, lua_isfunction(L, -1), 1,
			      "ask has to be a function");
		options.ask = module_ask;
		options.context = object;
		options.dispatched = 1;
	}
	lua_setiuservalue(L, -2, 1);
	return open(&object->session, text, &options, &error)
		       ? module_failed(L, &error)
		       : 1;
}

/* The command that the table at 2 describes. */
static struct srtlua_command command_of(lua_State *L)
{
	luaL_checktype(L, 2, LUA_TTABLE);
	return (struct srtlua_command){
		.size = sizeof(struct srtlua_command),
		.shell = field(L, 2, "shell"),
		.argv = list_field(L, 2, "argv"),
		.id = field(L, 2, "id"),
		.text = field(L, 2, "text"),
		.allowed = list_field(L, 2, "allowed"),
		.denied = list_field(L, 2, "denied"),
	};
}

/* What the library gives, freed by Lua whatever is thrown: a pointer to it. */
static void *new_memory(lua_State *L)
{
	void **memory = lua_newuserdatauv(L, sizeof(void *), 0);

	*memory = NULL;
	luaL_setmetatable(L, MEMORY);
	return memory;
}

/* s:wrap(command) -> {id=, shell=, argv=} | nil, why */
static int session_wrap(lua_State *L)
{
	struct srtlua_session *session = module_session(L);
	struct srtlua_command command = command_of(L);
	struct srtlua_wrapped **wrapped = new_memory(L);
	struct srtlua_error error;

	if (srtlua_wrap(session, &command, wrapped, &error))
		return module_failed(L, &error);
	lua_createtable(L, 0, 3);
	module_text(L, "id", (*wrapped)->id);
	module_text(L, "shell", (*wrapped)->shell);
	lua_createtable(L, (int)(*wrapped)->argc, 0);
	for (size_t i = 0; i < (*wrapped)->argc; i++) {
		lua_pushstring(L, (*wrapped)->argv[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "argv");
	return 1;
}

/* s:run(command) -> status | nil, why: with the caller's streams */
static int session_run(lua_State *L)
{
	struct srtlua_session *session = module_session(L);
	struct srtlua_command command = command_of(L);
	struct srtlua_error error;
	pid_t pid;
	int status;

	if (srtlua_spawn(session, &command, NULL, &pid, NULL, &error))
		return module_failed(L, &error);
	if (srtlua_descriptor(session) >= 0)
		module_ask_meanwhile(L, session, pid);
	if (srtlua_wait(pid, &status, &error))
		return module_failed(L, &error);
	lua_pushinteger(L, status);
	return 1;
}

static void push_violation(lua_State *L, const struct srtlua_violation *v)
{
	lua_createtable(L, 0, 12);
	lua_pushnumber(L, v->time);
	lua_setfield(L, -2, "time");
	lua_pushinteger(L, (lua_Integer)v->count);
	lua_setfield(L, -2, "count");
	module_text(L, "kind", v->kind);
	module_text(L, "target", v->target);
	module_text(L, "rule", v->rule);
	module_text(L, "reason", v->reason);
	module_text(L, "origin", v->origin);
	module_text(L, "advice", v->advice);
	module_text(L, "command", v->command);
	module_text(L, "id", v->id);
	module_text(L, "program", v->program);
	module_text(L, "line", v->line);
}

/* s:violations([id[, text]]) -> list | nil, why */
static int session_violations(lua_State *L)
{
	struct srtlua_session *session = module_session(L);
	const char *id = luaL_optstring(L, 2, NULL);
	const char *text = luaL_optstring(L, 3, NULL);
	struct srtlua_violations **found = new_memory(L);
	struct srtlua_error error;

	if (srtlua_violations(session, id, text, found, &error))
		return module_failed(L, &error);
	lua_createtable(L, (int)(*found)->count, 0);
	for (size_t i = 0; i < (*found)->count; i++) {
		push_violation(L, &(*found)->list[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* s:annotate(id, stderr) -> text | nil, why */
static int session_annotate(lua_State *L)
{
	struct srtlua_session *session = module_session(L);
	const char *id = luaL_checkstring(L, 2);
	const char *text = luaL_checkstring(L, 3);
	struct srtlua_error error;
	char **out = new_memory(L);

	if (srtlua_annotate(session, id, text, out, &error))
		return module_failed(L, &error);
	lua_pushstring(L, *out);
	return 1;
}

/* s:update(json) or s:update(nil[, file]) -> true | nil, why */
static int session_update(lua_State *L)
{
	struct srtlua_session *session = module_session(L);
	const char *json = luaL_optstring(L, 2, NULL);
	const char *file = luaL_optstring(L, 3, NULL);
	struct srtlua_error error;
	int code = json ? srtlua_update_json(session, json, NULL, &error)
			: srtlua_update_file(session, file, NULL, &error);

	if (code)
		return module_failed(L, &error);
	lua_pushboolean(L, 1);
	return 1;
}

/* s:reset() -> true | nil, why */
static int session_reset(lua_State *L)
{
	struct srtlua_error error;

	if (srtlua_reset(module_session(L), &error))
		return module_failed(L, &error);
	lua_pushboolean(L, 1);
	return 1;
}

static int session_close(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SESSION);

	if (object->asking)
		return luaL_error(L,
				  "its ask callback may not close a session");
	srtlua_close(object->session);
	object->session = NULL;
	return 0;
}

static int memory_free(lua_State *L)
{
	void **memory = luaL_checkudata(L, 1, MEMORY);

	srtlua_free(*memory);
	*memory = NULL;
	return 0;
}

int luaopen_srtlua(lua_State *L);

int luaopen_srtlua(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "wrap", session_wrap },
		{ "run", session_run },
		{ "dispatch", module_dispatch },
		{ "violations", session_violations },
		{ "annotate", session_annotate },
		{ "update", session_update },
		{ "reset", session_reset },
		{ "close", session_close },
		{ NULL, NULL },
	};
	static const luaL_Reg meta[] = {
		{ "__gc", session_close },
		{ "__close", session_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "open", module_open },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, MEMORY);
	lua_pushcfunction(L, memory_free);
	lua_setfield(L, -2, "__gc");
	luaL_newmetatable(L, SESSION);
	luaL_setfuncs(L, meta, 0);
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	luaL_newlib(L, functions);
	lua_pushstring(L, srtlua_version());
	lua_setfield(L, -2, "version");
	return 1;
}
