/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.sandbox: runs a plan and waits for its command; see api_sandbox.md. */
#include <errno.h>
#include <inttypes.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

#include "core/plan.h"
#include "core/sandbox.h"
#include "core/seccomp.h"
#include "core/supervise.h"
#include "core/system.h"
#include "lua/api.h"

#define SANDBOX "srt.sandbox"

struct caller host_caller;

/*
 * Copies a plan table to the memory that janitor and PID 1 share with us. It
 * goes when the process ends, so a throw at any place leaks nothing.
 */
struct reader {
	lua_State *L;
	struct shared *shared;
	int plan;
};

/* One element more than asked for, so that lists end with zeros. */
static void *array(struct reader *r, size_t count, size_t size)
{
	void *memory = shared_alloc(r->shared, (count + 1) * size);

	if (!memory)
		luaL_error(r->L, "the plan is too large");
	return memory;
}

/* The string on top of the stack. */
static const char *copy_text(struct reader *r, const char *name)
{
	size_t size;
	const char *text = lua_tolstring(r->L, -1, &size);
	char *copy;

	if (lua_type(r->L, -1) != LUA_TSTRING || strlen(text) != size)
		luaL_error(r->L, "plan.%s: string without NUL bytes expected",
			   name);
	copy = array(r, size, 1);
	memcpy(copy, text, size);
	return copy;
}

static const char *text_field(struct reader *r, int table, const char *name,
			      bool needed)
{
	const char *text = NULL;

	if (lua_getfield(r->L, table, name) != LUA_TNIL || needed)
		text = copy_text(r, name);
	lua_pop(r->L, 1);
	return text;
}

static lua_Integer integer_at(struct reader *r, int table, const char *name)
{
	lua_Integer value;
	int is_integer;

	lua_getfield(r->L, table, name);
	value = lua_tointegerx(r->L, -1, &is_integer);
	if (!is_integer)
		luaL_error(r->L, "plan.%s: integer expected", name);
	lua_pop(r->L, 1);
	return value;
}

static bool flag_at(struct reader *r, int table, const char *name)
{
	bool value;

	lua_getfield(r->L, table, name);
	value = lua_toboolean(r->L, -1);
	lua_pop(r->L, 1);
	return value;
}

/* Pushes a list; returns its length, 0 with nothing in it when it is absent. */
static size_t push_list(struct reader *r, int table, const char *name)
{
	luaL_checkstack(r->L, 8, "plan too deep");
	if (lua_getfield(r->L, table, name) != LUA_TTABLE) {
		if (!lua_isnil(r->L, -1))
			luaL_error(r->L, "plan.%s: list expected", name);
		return 0;
	}
	return lua_rawlen(r->L, -1);
}

static const char **read_strings(struct reader *r, int table, const char *name,
				 size_t *count)
{
	size_t n = push_list(r, table, name);
	const char **strings = array(r, n, sizeof(*strings));

	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		strings[i] = copy_text(r, name);
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
	if (count)
		*count = n;
	return strings;
}

static void read_slots(struct reader *r, int table, struct mount_step *step)
{
	size_t n = push_list(r, table, "slots");

	step->slots = array(r, n, sizeof(*step->slots));
	step->slot_directory = array(r, n, sizeof(*step->slot_directory));
	step->slot_link = array(r, n, sizeof(*step->slot_link));
	step->slot_count = n;
	for (size_t i = 0; i < n; i++) {
		int slot;

		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		slot = lua_gettop(r->L);
		step->slots[i] = text_field(r, slot, "path", true);
		step->slot_directory[i] = flag_at(r, slot, "directory");
		step->slot_link[i] = text_field(r, slot, "link", false);
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
}

static void read_step(struct reader *r, int table, struct mount_step *step)
{
	static const char *const kinds[] = { "bind", "mask", "scaffold", NULL };

	lua_getfield(r->L, table, "op");
	step->kind = (enum mount_kind)luaL_checkoption(r->L, -1, NULL, kinds);
	lua_pop(r->L, 1);
	step->target = text_field(r, table, "target", true);
	step->source = text_field(r, table, "source", step->kind == MOUNT_BIND);
	step->directory = flag_at(r, table, "directory");
	step->read_only = flag_at(r, table, "readOnly");
	if (step->kind == MOUNT_SCAFFOLD)
		read_slots(r, table, step);
}

static void read_steps(struct reader *r, struct plan *plan)
{
	plan->step_count = push_list(r, r->plan, "mounts");
	plan->steps = array(r, plan->step_count, sizeof(*plan->steps));
	for (size_t i = 0; i < plan->step_count; i++) {
		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		read_step(r, lua_gettop(r->L), &plan->steps[i]);
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
}

static void read_rule(struct reader *r, int table, struct seccomp_rule *rule)
{
	size_t n;

	rule->call = text_field(r, table, "call", true);
	rule->notify = flag_at(r, table, "notify");
	if (!rule->notify)
		rule->error = (int)integer_at(r, table, "errno");
	n = push_list(r, table, "args");
	if (n > ARRAY_SIZE(rule->args))
		luaL_error(r->L, "plan.seccomp: too many arguments");
	for (size_t i = 0; i < n; i++) {
		struct seccomp_arg *arg = &rule->args[i];
		int at;

		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		at = lua_gettop(r->L);
		arg->index = (unsigned int)integer_at(r, at, "index");
		arg->value = (uint64_t)integer_at(r, at, "value");
		arg->above = flag_at(r, at, "above");
		arg->differs = flag_at(r, at, "differs");
		if (!arg->above && !arg->differs)
			arg->mask = (uint64_t)integer_at(r, at, "mask");
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
	rule->arg_count = n;
}

static struct seccomp_rule *read_rules(struct reader *r, int table,
				       const char *name, size_t *count)
{
	size_t n = push_list(r, table, name);
	struct seccomp_rule *rules = array(r, n, sizeof(*rules));

	for (size_t i = 0; i < n; i++) {
		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		read_rule(r, lua_gettop(r->L), &rules[i]);
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
	*count = n;
	return rules;
}

static void read_guard_lists(struct reader *r, int at,
			     struct guard_table *guard)
{
	guard->glob_count = push_list(r, at, "globs");
	guard->globs = array(r, guard->glob_count, sizeof(*guard->globs));
	for (size_t i = 0; i < guard->glob_count; i++) {
		int row;

		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		row = lua_gettop(r->L);
		guard->globs[i].pattern = text_field(r, row, "pattern", true);
		guard->globs[i].top = text_field(r, row, "top", true);
		guard->globs[i].floating = flag_at(r, row, "floating");
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
	guard->name_count = push_list(r, at, "names");
	guard->names = array(r, guard->name_count, sizeof(*guard->names));
	for (size_t i = 0; i < guard->name_count; i++) {
		int row;

		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		row = lua_gettop(r->L);
		guard->names[i].name = text_field(r, row, "name", true);
		guard->names[i].top = text_field(r, row, "top", false);
		guard->names[i].depth =
			(unsigned int)integer_at(r, row, "depth");
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
}

static void read_guard(struct reader *r, struct guard_table *guard)
{
	if (lua_getfield(r->L, r->plan, "guard") == LUA_TTABLE) {
		int at = lua_gettop(r->L);

		guard->on = true;
		guard->free = text_field(r, at, "free", false);
		guard->skip = read_strings(r, at, "skip", &guard->skip_count);
		guard->paths = read_strings(r, at, "paths", &guard->path_count);
		read_guard_lists(r, at, guard);
		guard->notify =
			read_rules(r, at, "notify", &guard->notify_count);
	}
	lua_pop(r->L, 1);
}

static void read_numbers(struct reader *r, struct plan *plan)
{
	plan->listen_count = push_list(r, r->plan, "listen");
	plan->listen = array(r, plan->listen_count, sizeof(*plan->listen));
	for (size_t i = 0; i < plan->listen_count; i++) {
		int row;

		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		row = lua_gettop(r->L);
		plan->listen[i].address = text_field(r, row, "address", true);
		plan->listen[i].port = (uint16_t)integer_at(r, row, "port");
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
	plan->keep_count = push_list(r, r->plan, "keepFds");
	plan->keep_fds = array(r, plan->keep_count, sizeof(*plan->keep_fds));
	for (size_t i = 0; i < plan->keep_count; i++) {
		lua_rawgeti(r->L, -1, (lua_Integer)i + 1);
		plan->keep_fds[i] = (int)luaL_checkinteger(r->L, -1);
		lua_pop(r->L, 1);
	}
	lua_pop(r->L, 1);
}

static void read_plan(lua_State *L, int index, struct shared *shared)
{
	struct reader r = { L, shared, index };
	struct plan *plan = &shared->plan;

	plan->argv = read_strings(&r, index, "argv", NULL);
	plan->env = read_strings(&r, index, "env", NULL);
	if (!plan->argv[0])
		luaL_error(L, "plan.argv: empty");
	plan->cwd = text_field(&r, index, "cwd", true);
	plan->temp_dir = text_field(&r, index, "tempDir", false);
	plan->state = text_field(&r, index, "state", false);
	plan->root_read_only = flag_at(&r, index, "rootReadOnly");
	plan->landlock = flag_at(&r, index, "landlock");
	plan->scope_signals = flag_at(&r, index, "scopeSignals");
	plan->writable =
		read_strings(&r, index, "writable", &plan->writable_count);
	plan->placeholders = read_strings(&r, index, "placeholders",
					  &plan->placeholder_count);
	read_steps(&r, plan);
	plan->rules = read_rules(&r, index, "seccomp", &plan->rule_count);
	read_guard(&r, &plan->guard);
	read_numbers(&r, plan);
	if (plan->listen_count > PLAN_LISTEN_MAX)
		luaL_error(L, "plan.listen: too many ports");
}

/* struct object - the userdata */
struct object {
	struct sandbox sandbox;
	struct shared *shared;
	struct questions questions;
};

/* What was forked before there was a Lua state, until begin() takes it. */
static struct object early = { .sandbox = { .janitor = -1, .control = -1 } };
static struct failure early_failure;

void host_fork(void)
{
	early.shared = shared_new();
	if (!early.shared) {
		failure_set(&early_failure, ENOMEM,
			    "no memory to share with the sandbox; is there a "
			    "limit (ulimit -v)?");
		return;
	}
	early.shared->caller = host_caller;
	/* Signals are held back from here on, so that none is lost. */
	supervise_block();
	(void)sandbox_prepare(early.shared, &early.sandbox, &early_failure);
}

void host_join(void)
{
	if (early.shared)
		sandbox_close(&early.sandbox);
}

struct sandbox *api_sandbox(lua_State *L, int index)
{
	struct object *object = luaL_checkudata(L, index, SANDBOX);

	return &object->sandbox;
}

/* begin() -> sandbox | nil, message. Once in a process. */
static int sandbox_lua_begin(lua_State *L)
{
	struct object *object;

	if (early_failure.text[0]) {
		lua_pushnil(L);
		lua_pushstring(L, early_failure.text);
		return 2;
	}
	if (!early.shared)
		return luaL_error(L, "the sandbox was begun before");
	object = lua_newuserdatauv(L, sizeof(*object), 0);
	*object = early;
	questions_init(&object->questions);
	early.shared = NULL;
	luaL_setmetatable(L, SANDBOX);
	return 1;
}

static void push_extents(lua_State *L, const struct id_extent *extents,
			 size_t count)
{
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		lua_createtable(L, 0, 2);
		lua_pushinteger(L, extents[i].first);
		lua_setfield(L, -2, "first");
		lua_pushinteger(L, extents[i].count);
		lua_setfield(L, -2, "count");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

/* {uids, gids, rootCaller, closeProc, maskOwner, caps} */
static int push_identity(lua_State *L, const struct identity *id)
{
	lua_createtable(L, 0, 6);
	push_extents(L, id->uids, id->uid_count);
	lua_setfield(L, -2, "uids");
	push_extents(L, id->gids, id->gid_count);
	lua_setfield(L, -2, "gids");
	lua_pushboolean(L, id->root_caller);
	lua_setfield(L, -2, "rootCaller");
	lua_pushboolean(L, id->close_proc);
	lua_setfield(L, -2, "closeProc");
	lua_pushinteger(L, id->mask_owner);
	lua_setfield(L, -2, "maskOwner");
	lua_pushinteger(L, (lua_Integer)id->caps);
	lua_setfield(L, -2, "caps");
	return 1;
}

/* identity() -> as a sandbox would have it */
static int sandbox_lua_would_be(lua_State *L)
{
	struct identity id;
	int error = identity_read(&id);

	return error ? luaL_error(L, "cannot read /proc/self/uid_map: %s",
				  strerror(-error))
		     : push_identity(L, &id);
}

/* sandbox:identity() -> the sandbox's */
static int sandbox_lua_identity(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	return push_identity(L, &object->shared->plan.id);
}

/* sandbox:start(plan) -> true | nil, message */
static int sandbox_lua_start(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	struct failure failure = { 0 };

	luaL_checktype(L, 2, LUA_TTABLE);
	read_plan(L, 2, object->shared);
	if (sandbox_start(&object->sandbox, &failure)) {
		lua_pushnil(L);
		lua_pushstring(L, failure.text);
		return 2;
	}
	lua_pushboolean(L, 1);
	return 1;
}

/* sandbox:listeners() -> list of descriptors, now the caller's */
static int sandbox_lua_listeners(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	struct sandbox *sandbox = &object->sandbox;

	lua_createtable(L, (int)sandbox->listener_count, 0);
	for (size_t i = 0; i < sandbox->listener_count; i++) {
		lua_pushinteger(L, sandbox->listeners[i]);
		sandbox->listeners[i] = -1;
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* {{path=, times=, longest=, missing=, wasMissing=}, …, more=} */
static void push_notices(lua_State *L, const struct outcome *outcome)
{
	lua_createtable(L, (int)outcome->notice_count, 1);
	lua_pushboolean(L, outcome->more_notices);
	lua_setfield(L, -2, "more");
	for (size_t i = 0; i < outcome->notice_count; i++) {
		const struct notice *notice = &outcome->notices[i];

		lua_createtable(L, 0, 5);
		lua_pushstring(L, notice->path);
		lua_setfield(L, -2, "path");
		lua_pushinteger(L, notice->times);
		lua_setfield(L, -2, "times");
		lua_pushinteger(L, notice->longest);
		lua_setfield(L, -2, "longest");
		lua_pushinteger(L, notice->missing);
		lua_setfield(L, -2, "missing");
		lua_pushboolean(L, notice->was_missing);
		lua_setfield(L, -2, "wasMissing");
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
}

static void push_outcome(lua_State *L, const struct outcome *outcome)
{
	switch (outcome->kind) {
	case OUTCOME_ENDED:
		lua_pushstring(L,
			       WIFSIGNALED(outcome->value) ? "signal" : "exit");
		lua_pushinteger(L, WIFSIGNALED(outcome->value)
					   ? WTERMSIG(outcome->value)
					   : WEXITSTATUS(outcome->value));
		return;
	case OUTCOME_NOT_RUN:
		lua_pushliteral(L, "notrun");
		lua_pushinteger(L, outcome->value);
		return;
	case OUTCOME_FAILED:
		break;
	}
	lua_pushliteral(L, "failed");
	lua_pushstring(L, outcome->failure.text);
}

/*
 * sandbox:run() -> "exit", status | "signal", number | "notrun", errno |
 * "failed", message; and notices
 */
static int sandbox_lua_run(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	const struct plan *plan = &object->shared->plan;
	struct outcome outcome = { 0 };
	int error;

	supervise_let_go(plan->keep_fds, plan->keep_count);
	error = uv_default_loop()
			? supervise_run(uv_default_loop(), &object->sandbox,
					&object->questions, &outcome)
			: -EMFILE;
	if (error) {
		outcome = (struct outcome){ .kind = OUTCOME_FAILED };
		failure_set(&outcome.failure, -error,
			    "cannot wait for the command");
	}
	push_outcome(L, &outcome);
	push_notices(L, &outcome);
	return 3;
}

struct questions *api_questions(lua_State *L, int index)
{
	struct object *object = luaL_checkudata(L, index, SANDBOX);

	return &object->questions;
}

static int sandbox_lua_close(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	sandbox_close(&object->sandbox);
	return 0;
}

/*
 * filter(rules) -> BPF program as bytes, hash of the rules as hexadecimal
 * digits; throws what libseccomp says. For the tool that builds them in.
 */
static int sandbox_lua_filter(lua_State *L)
{
	struct reader r = { .L = L, .shared = shared_new() };
	struct failure failure = { 0 };
	struct sock_fprog program = { 0 };
	struct seccomp_rule *rules;
	size_t count;
	char hash[17];

	luaL_checktype(L, 1, LUA_TTABLE);
	if (!r.shared)
		return luaL_error(L, "no memory");
	lua_createtable(L, 0, 1);
	lua_pushvalue(L, 1);
	lua_setfield(L, -2, "seccomp");
	rules = read_rules(&r, lua_gettop(L), "seccomp", &count);
	if (seccomp_build(rules, count, 0, &program, &failure))
		return luaL_error(L, "%s", failure.text);
	snprintf(hash, sizeof(hash), "%016" PRIx64, seccomp_hash(rules, count));
	lua_pushlstring(L, (const char *)program.filter,
			program.len * sizeof(*program.filter));
	free(program.filter);
	lua_pushstring(L, hash);
	return 2;
}

int luaopen_srt_c_sandbox(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "identity", sandbox_lua_identity },
		{ "start", sandbox_lua_start },
		{ "listeners", sandbox_lua_listeners },
		{ "run", sandbox_lua_run },
		{ "close", sandbox_lua_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "begin", sandbox_lua_begin },
		{ "identity", sandbox_lua_would_be },
		{ "filter", sandbox_lua_filter },
		{ NULL, NULL },
	};

	luaL_newmetatable(L, SANDBOX);
	lua_pushcfunction(L, sandbox_lua_close);
	lua_setfield(L, -2, "__gc");
	luaL_newlib(L, methods);
	lua_setfield(L, -2, "__index");
	lua_pop(L, 1);
	luaL_newlib(L, functions);
	return 1;
}
