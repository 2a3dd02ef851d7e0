/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host-state table srt.c.box.
 *
 *	box.new{root=, facts=, preset=, log=, limits=,
 *		ask=}		box, or nil, message; facts.user = true: of
 *				the caller, looked up when it is read
 *	box.isfn(v)		is v a policy's function?
 *	box.body(text, most), b:clock(), b:cover(), b:covered(), b:lines():
 *				lua/api_box_test.c
 *	b:load(path)		value, or nil, {message, kind, file, line,
 *				traceback}
 *	b:loadpreset(name)	the same
 *	b:chunk(text, name)	the same for a text, in the budget of a load
 *	b:call(fn, kind, ...)	true, v1, v2; or false, message, kind of error
 *	b:files()		sorted real paths of what the policy read
 *	b:limits{...}		changes some of the limits
 *	b:asker(), b:answered()	where srt.ask asks (lua/box_relay.c); without,
 *				nowhere
 *	b:where(fn)		file, line
 *	b:stats()		{memory, peak, instructions}
 *	b:close()
 *
 * The kind of a call says how its arguments look to the policy: "conn",
 * "request", "response" (res, req), "violation", "observe" (status, headers),
 * "open".
 * In a coroutine that lua/await.h resumes, a call may wait: it yields and
 * returns later. Elsewhere srt.sleep and the like are errors of the policy.
 */
#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/api.h"
#include "lua/api_box_test.h"
#include "lua/box.h"
#include "lua/box_copy.h"
#include "lua/box_env.h"
#include "lua/box_file.h"
#include "lua/box_relay.h"
#include "lua/box_run.h"
#include "lua/box_srt.h"
#include "lua/box_state.h"
#include "lua/box_view.h"
#include "lua/box_wait.h"
#include "lua/box_watch.h"

static struct box *check_idle(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	if (!b->L)
		luaL_error(L, "the box is closed");
	if (b->host)
		luaL_error(L, "the box is running");
	return b;
}

static struct box_fn *check_fn(lua_State *L, int index, const struct box *b)
{
	struct box_fn *fn = luaL_checkudata(L, index, BOX_FN);

	luaL_argcheck(L, fn->box == b, index, "a function of another box");
	return fn;
}

/* A string of the box's stack, or nil, as a field of the table on top. */
static void error_field(lua_State *L, lua_State *B, int index, const char *name)
{
	size_t size;
	const char *text;

	if (lua_type(B, index) != LUA_TSTRING)
		return;
	text = lua_tolstring(B, index, &size);
	lua_pushlstring(L, text, size);
	lua_setfield(L, -2, name);
}

static void push_error_message(lua_State *L, const struct box_task *task)
{
	const struct box *b = task->box;
	const char *text = lua_type(b->L, 1) == LUA_TSTRING
				   ? lua_tostring(b->L, 1)
				   : "unknown error";

	if (task->fault == BOX_MEMORY)
		lua_pushfstring(L, "not enough memory for the policy (%d KiB)",
				(int)((task->ref ? b->limits.memory
						 : b->limits.load_memory) /
				      1024));
	else if (task->fault == BOX_BUDGET && b->spent != BOX_SPENT_PATIENCE &&
		 !strstr(text, " spent"))
		lua_pushliteral(L, "the policy's budget is spent");
	else
		lua_pushstring(L, text);
}

/* nil and the error table */
static int load_failed(lua_State *L, const struct box_task *task)
{
	lua_State *B = task->box->L;

	lua_pushnil(L);
	lua_createtable(L, 0, 5);
	push_error_message(L, task);
	lua_setfield(L, -2, "message");
	lua_pushstring(L, box_fault_name(task->fault));
	lua_setfield(L, -2, "kind");
	error_field(L, B, 2, "traceback");
	error_field(L, B, 3, "file");
	if (task->line) {
		lua_pushinteger(L, task->line);
		lua_setfield(L, -2, "line");
	}
	lua_settop(B, 0);
	return 2;
}

/* false, message with traceback, kind */
static int call_failed(lua_State *L, const struct box_task *task)
{
	lua_State *B = task->box->L;

	lua_pushboolean(L, 0);
	push_error_message(L, task);
	if (lua_type(B, 2) == LUA_TSTRING) {
		lua_pushliteral(L, "\n");
		lua_pushstring(L, lua_tostring(B, 2));
		lua_concat(L, 3);
	}
	lua_pushstring(L, box_fault_name(task->fault));
	lua_settop(B, 0);
	return 3;
}

static void push_results(lua_State *L, const struct box_task *task)
{
	struct box_out out = {
		.box = task->box,
		.H = L,
		.B = task->box->L,
		.owner = 1,
		.list = task->results + 1,
	};

	luaL_checkstack(L, task->results + 8, NULL);
	for (int i = 1; i <= task->results; i++)
		box_copy_out(&out, i);
	lua_settop(task->box->L, 0);
}

static void run(lua_State *L, struct box_task *task)
{
	int top = lua_gettop(L);

	if (task->wait)
		box_enter_again(task->box, L, task->wait);
	else
		box_enter(task->box, L, task->ref == 0);
	box_run(task);
	box_leave(task->box);
	lua_settop(L, top);
}

static int io_failed(lua_State *L, const char *path, int err)
{
	const char *why = err == -EINVAL   ? "no regular file"
			  : err == -EFBIG  ? "larger than 1 MiB"
			  : err == -ENOSYS ? "this kernel has no openat2"
					   : strerror(-err);

	lua_pushnil(L);
	lua_createtable(L, 0, 3);
	lua_pushfstring(L, "cannot read %s: %s", path, why);
	lua_setfield(L, -2, "message");
	lua_pushliteral(L, "io");
	lua_setfield(L, -2, "kind");
	lua_pushstring(L, path);
	lua_setfield(L, -2, "file");
	return 2;
}

static int api_load(lua_State *L)
{
	struct box *b = check_idle(L);
	const char *path = luaL_checkstring(L, 2);
	struct box_task task = { .box = b, .results = 1 };
	char chunk_name[PATH_MAX + 1] = "@", *data = NULL;
	int err = box_file_read(path, BOX_SOURCE_MAX, &data, &task.size,
				chunk_name + 1);

	if (!err)
		err = box_add_file(b, chunk_name + 1);
	if (!err) {
		task.source = data;
		task.chunk_name = chunk_name;
		run(L, &task);
	}
	/* Nothing of the host can have thrown since it was made. */
	free(data);
	if (err)
		return io_failed(L, path, err);
	if (!task.done)
		return load_failed(L, &task);
	push_results(L, &task);
	return 1;
}

/* chunk(text, name); the name is shown as it is, so it is no file's */
static int api_chunk(lua_State *L)
{
	struct box_task task = { .box = check_idle(L), .results = 1 };

	task.source = luaL_checklstring(L, 2, &task.size);
	lua_pushfstring(L, "=%s", luaL_checkstring(L, 3));
	lua_replace(L, 3);
	task.chunk_name = lua_tostring(L, 3);
	run(L, &task);
	if (!task.done)
		return load_failed(L, &task);
	push_results(L, &task);
	return 1;
}

static int api_loadpreset(lua_State *L)
{
	struct box_task task = { .box = check_idle(L), .results = 1 };

	task.preset = luaL_checkstring(L, 2);
	run(L, &task);
	if (!task.done)
		return load_failed(L, &task);
	push_results(L, &task);
	return 1;
}

static void set_shapes(lua_State *L, struct box_task *task)
{
	static const char *const kinds[] = { "conn",	  "request", "response",
					     "violation", "observe", "open",
					     NULL };
	static const enum box_shape shapes[][2] = {
		{ BOX_CONN, BOX_PLAIN },       { BOX_REQUEST, BOX_PLAIN },
		{ BOX_RESPONSE, BOX_REQUEST }, { BOX_PLAIN, BOX_PLAIN },
		{ BOX_PLAIN, BOX_HEADERS },    { BOX_PLAIN, BOX_PLAIN },
	};
	int kind = luaL_checkoption(L, 3, NULL, kinds);

	for (int i = 0; i < BOX_MAX_ARGS; i++)
		task->shape[i] = i < 2 ? shapes[kind][i] : BOX_PLAIN;
}

static int call_resumed(lua_State *L, int status, lua_KContext context);

/*
 * What b:call() returns, or the wait for it. A call that ends is one that
 * waits no longer, in whatever way it ends.
 */
static int end_call(lua_State *L, struct box_task *task)
{
	if (task->waits) {
		lua_pushlightuserdata(L, &task->wait->await);
		return lua_yieldk(L, 1, (lua_KContext)task->wait, call_resumed);
	}
	if (task->wait)
		box_wait_end(task->wait);
	if (!task->done)
		return call_failed(L, task);
	lua_pushboolean(L, 1);
	push_results(L, task);
	return 3;
}

/* @context: the wait, which is over; the host's stack is as it was. */
static int call_resumed(lua_State *L, int status, lua_KContext context)
{
	struct box_wait *wait = (struct box_wait *)context;
	struct box_task task = {
		.box = wait->box, .wait = wait, .ref = LUA_NOREF, .results = 2
	};

	(void)status;
	run(L, &task);
	return end_call(L, &task);
}

static int api_call(lua_State *L)
{
	struct box_task task = {
		.box = check_idle(L),
		.results = 2,
		.first_arg = 4,
		.arg_count = lua_gettop(L) - 3,
	};

	task.ref = check_fn(L, 2, task.box)->ref;
	set_shapes(L, &task);
	luaL_argcheck(L, task.arg_count <= BOX_MAX_ARGS, 4 + BOX_MAX_ARGS,
		      "too many arguments");
	run(L, &task);
	return end_call(L, &task);
}

static int api_files(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	lua_createtable(L, (int)b->file_count, 0);
	for (size_t i = 0; i < b->file_count; i++) {
		lua_pushstring(L, b->files[i]);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

static int api_where(lua_State *L)
{
	struct box *b = check_idle(L);
	struct box_fn *fn = check_fn(L, 2, b);
	lua_Debug ar;

	/* None of these throws in the box. */
	lua_settop(b->L, 0);
	lua_rawgetp(b->L, LUA_REGISTRYINDEX, &box_key_functions);
	lua_rawgeti(b->L, -1, fn->ref);
	lua_getinfo(b->L, ">S", &ar);
	lua_pushstring(L, ar.source + (*ar.source == '@' || *ar.source == '='));
	lua_pushinteger(L, ar.linedefined);
	lua_settop(b->L, 0);
	return 2;
}

static int api_stats(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	lua_createtable(L, 0, 3);
	lua_pushinteger(L, (lua_Integer)b->used);
	lua_setfield(L, -2, "memory");
	lua_pushinteger(L, (lua_Integer)b->peak);
	lua_setfield(L, -2, "peak");
	lua_pushinteger(L, b->L ? b->granted - b->left : 0);
	lua_setfield(L, -2, "instructions");
	return 1;
}

static int api_close(lua_State *L)
{
	struct box *b = luaL_checkudata(L, 1, BOX);

	if (b->host)
		return luaL_error(L, "the box is running");
	box_close(b);
	return 0;
}

/* A function of the policy that the host holds no longer. */
static int fn_gc(lua_State *L)
{
	struct box_fn *fn = luaL_checkudata(L, 1, BOX_FN);
	lua_State *B = fn->box ? fn->box->L : NULL;

	/* The box may be running; nothing here throws or keeps its stack. */
	if (B && lua_checkstack(B, 4)) {
		lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_functions);
		luaL_unref(B, -1, fn->ref);
		lua_pop(B, 1);
	}
	fn->box = NULL;
	return 0;
}

static int api_isfn(lua_State *L)
{
	lua_pushboolean(L, luaL_testudata(L, 1, BOX_FN) != NULL);
	return 1;
}

static void refuse_unknown(lua_State *L, int index, const char *const *known)
{
	lua_pushnil(L);
	while (lua_next(L, index)) {
		const char *key = lua_type(L, -2) == LUA_TSTRING
					  ? lua_tostring(L, -2)
					  : "?";
		const char *const *k = known;

		while (*k && strcmp(*k, key) != 0)
			k++;
		if (!*k)
			luaL_error(L, "box.new: unknown option '%s'", key);
		lua_pop(L, 1);
	}
}

/* A positive number of the limits at @index, or what is set already. */
static lua_Number limit(lua_State *L, int index, const char *name,
			lua_Number standard, lua_Number most)
{
	lua_Number value = standard;

	if (lua_getfield(L, index, name) != LUA_TNIL) {
		value = luaL_checknumber(L, -1);
		if (!(value > 0 && value <= most))
			luaL_error(L, "box.new: bad limit '%s'", name);
	}
	lua_pop(L, 1);
	return value;
}

/* Those that are not in the table at @index stay as they are in @out. */
static void take_limits(lua_State *L, int index, struct box_limits *out)
{
	static const char *const known[] = {
		"loadInstructions",
		"loadMemory",
		"loadSeconds",
		"callInstructions",
		"callCpuMs",
		"callTotalMs",
		"askMs",
		"waits",
		"memory",
		"failAllocation",
		"failAllocations",
		NULL,
	};
	const lua_Number count = 1e15, ms = 1e9;

	luaL_checktype(L, index, LUA_TTABLE);
	refuse_unknown(L, index, known);
	out->load_instructions =
		(int64_t)limit(L, index, "loadInstructions",
			       (lua_Number)out->load_instructions, count);
	out->call_instructions =
		(int64_t)limit(L, index, "callInstructions",
			       (lua_Number)out->call_instructions, count);
	out->load_memory = (size_t)limit(L, index, "loadMemory",
					 (lua_Number)out->load_memory, count);
	out->memory = (size_t)limit(L, index, "memory", (lua_Number)out->memory,
				    count);
	/* A limit below 1 ms is 1: a timer of 0 would be none. */
	out->load_ms = 1 + (unsigned int)(1000 * limit(L, index, "loadSeconds",
						       out->load_ms / 1000.0,
						       ms / 1000));
	out->call_ms = 1 + (unsigned int)limit(L, index, "callCpuMs",
					       out->call_ms, ms);
	out->total_ms =
		(unsigned int)limit(L, index, "callTotalMs", out->total_ms, ms);
	out->ask_ms = (unsigned int)limit(L, index, "askMs", out->ask_ms, ms);
	out->waits = (unsigned int)limit(L, index, "waits", out->waits, ms);
	out->fail_at = (uint64_t)limit(L, index, "failAllocation", 0, count);
	out->fail_count =
		(uint64_t)limit(L, index, "failAllocations", 1, count);
}

static int api_limits(lua_State *L)
{
	struct box *b = check_idle(L);

	take_limits(L, 2, &b->limits);
	return 0;
}

/* Is the string at @index of the box one of the list at 2 of the host? */
static bool is_listed(lua_State *L, lua_State *B, int index)
{
	lua_Integer count = (lua_Integer)lua_rawlen(L, 2);
	bool found = false;

	for (lua_Integer i = 1; i <= count && !found; i++) {
		lua_rawgeti(L, 2, i);
		found = lua_type(L, -1) == LUA_TSTRING &&
			strcmp(lua_tostring(L, -1), lua_tostring(B, index)) ==
				0;
		lua_pop(L, 1);
	}
	return found;
}

/* box:hide(names): variables that srt.env does not show any more */
static int api_hide(lua_State *L)
{
	struct box *b = check_idle(L);
	lua_State *B = b->L;
	int top = lua_gettop(B);

	luaL_checktype(L, 2, LUA_TTABLE);
	luaL_checkstack(L, 4, NULL);
	if (!lua_checkstack(B, 12))
		return luaL_error(L, "not enough memory in the box");
	/* No call below can throw: what is there is only set to nil. */
	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_srt);
	if (box_view_push(B, -1, true)) {
		int table = lua_gettop(B);

		lua_pushnil(B);
		while (lua_next(B, table)) {
			if (lua_type(B, -2) == LUA_TSTRING &&
			    strcmp(lua_tostring(B, -2), "env") == 0)
				break;
			lua_pop(B, 1);
		}
		if (lua_gettop(B) > table && box_view_push(B, -1, true)) {
			table = lua_gettop(B);
			lua_pushnil(B);
			while (lua_next(B, table)) {
				lua_pop(B, 1);
				if (!is_listed(L, B, table + 1))
					continue;
				lua_pushvalue(B, -1);
				lua_pushnil(B);
				lua_rawset(B, table);
			}
		}
	}
	lua_settop(B, top);
	return 0;
}

/* Protected; index 1 is the box, and the host has the facts at 3. */
static int set_up(lua_State *B)
{
	struct box *b = lua_touserdata(B, 1);

	lua_newtable(B);
	lua_rawsetp(B, LUA_REGISTRYINDEX, &box_key_functions);
	lua_newtable(B);
	lua_rawsetp(B, LUA_REGISTRYINDEX, &box_key_loaded);
	box_subject_names(B);
	lua_rawsetp(B, LUA_REGISTRYINDEX, &box_key_names);
	box_wait_open(B);
	box_views_open(B);
	box_copy_in(B, b->host, 3);
	lua_pushstring(B, b->root_path);
	lua_setfield(B, -2, "here");
	box_srt_open(B);
	lua_pushvalue(B, -1);
	lua_rawsetp(B, LUA_REGISTRYINDEX, &box_key_srt);
	box_env_open(B);
	return 0;
}

/* The text of a field of the facts at 3, owned by the box, or NULL. */
static char *fact(lua_State *L, const char *name)
{
	char *copy = NULL;

	if (lua_getfield(L, 3, name) == LUA_TSTRING)
		copy = strdup(lua_tostring(L, -1));
	lua_pop(L, 1);
	return copy;
}

/* Where it fails, false with a message pushed on the host. */
static bool make(lua_State *L, struct box *b)
{
	int err = b->root_path ? box_watch_ready() : -ENOMEM;
	bool done;

	if (!err) {
		b->root = box_file_root(b->root_path);
		err = b->root < 0 ? b->root : box_open(b);
	}
	if (err) {
		lua_pushstring(L, strerror(-err));
		return false;
	}
	b->host = L;
	lua_pushcfunction(b->L, set_up);
	lua_pushlightuserdata(b->L, b);
	done = lua_pcall(b->L, 1, 0, 0) == LUA_OK;
	b->host = NULL;
	if (!done)
		lua_pushstring(L, lua_tostring(b->L, -1));
	return done;
}

/* The options at 1; leaves the box at 1, the options at 2, the facts at 3. */
static struct box *take_options(lua_State *L)
{
	static const char *const known[] = { "root",   "facts", "preset", "log",
					     "limits", "ask",	NULL };
	struct box *b;

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	refuse_unknown(L, 1, known);
	b = lua_newuserdatauv(L, sizeof(*b), BOX_UV_COUNT);
	*b = (struct box){ .root = -1,
			   .limits = { .load_instructions = 50000000,
				       .call_instructions = 1000000,
				       .load_memory = 64 << 20,
				       .memory = 32 << 20,
				       .load_ms = 10000,
				       .call_ms = 1000,
				       .total_ms = 60000,
				       .ask_ms = 120000,
				       .waits = 2048 } };
	luaL_setmetatable(L, BOX);
	lua_insert(L, 1);
	lua_getfield(L, 2, "facts");
	luaL_checktype(L, 3, LUA_TTABLE);
	lua_getfield(L, 2, "preset");
	lua_setiuservalue(L, 1, BOX_UV_PRESET);
	lua_getfield(L, 2, "log");
	lua_setiuservalue(L, 1, BOX_UV_LOG);
	b->asks = lua_getfield(L, 2, "ask") != LUA_TNIL;
	lua_setiuservalue(L, 1, BOX_UV_ASK);
	box_subject_names(L);
	lua_setiuservalue(L, 1, BOX_UV_NAMES);
	if (lua_getfield(L, 2, "limits") == LUA_TNIL)
		lua_newtable(L);
	take_limits(L, lua_gettop(L), &b->limits);
	lua_getfield(L, 2, "root");
	b->root_path = strdup(luaL_checkstring(L, -1));
	lua_settop(L, 3);
	b->cwd = fact(L, "cwd");
	b->home = fact(L, "home");
	return b;
}

static int api_new(lua_State *L)
{
	struct box *b = take_options(L);

	if (make(L, b)) {
		lua_settop(L, 1);
		return 1;
	}
	lua_pushfstring(L, "no box for policies in %s: %s",
			b->root_path ? b->root_path : "?", lua_tostring(L, -1));
	box_close(b);
	lua_pushnil(L);
	lua_insert(L, -2);
	return 2;
}

int luaopen_srt_c_box(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "body", api_box_body },
		{ "isfn", api_isfn },
		{ "new", api_new },
		{ NULL, NULL },
	};
	static const luaL_Reg methods[] = {
		{ "call", api_call },	{ "chunk", api_chunk },
		{ "close", api_close }, { "files", api_files },
		{ "hide", api_hide },	{ "limits", api_limits },
		{ "load", api_load },	{ "loadpreset", api_loadpreset },
		{ "stats", api_stats }, { "where", api_where },
		{ "__gc", api_close },	{ "__close", api_close },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, BOX_FN);
	lua_pushcfunction(L, fn_gc);
	lua_setfield(L, -2, "__gc");
	luaL_newmetatable(L, BOX);
	luaL_setfuncs(L, methods, 0);
	api_box_test_methods(L);
	box_relay_methods(L);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pushboolean(L, 0);
	lua_setfield(L, -2, "__metatable");
	luaL_newlib(L, functions);
	return 1;
}
