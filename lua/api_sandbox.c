/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.sandbox: runs a plan and waits for its command; see api_sandbox.md. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <uv.h>

#include "core/origins.h"
#include "core/plan.h"
#include "core/sandbox.h"
#include "core/seccomp.h"
#include "core/signals.h"
#include "core/supervise.h"
#include "core/system.h"
#include "lua/api.h"
#include "lua/plan_reader.h"

#define SANDBOX "srt.sandbox"

struct caller host_caller;

/* struct object - the userdata */
struct object {
	struct sandbox sandbox;
	struct shared *shared;
	struct questions questions;
	int origins; /* the file that its plan's are in, or -1 */
};

/* What was forked before there was a Lua state, until begin() takes it. */
static struct object early = { .sandbox = SANDBOX_NONE, .origins = -1 };
static struct failure early_failure;

static int share(struct object *object, bool apart, struct failure *failure)
{
	object->shared = shared_new(apart);
	if (!object->shared)
		return failure_set(failure, ENOMEM,
				   "no memory to share with the sandbox; is "
				   "there a limit (ulimit -v)?");
	object->shared->caller = host_caller;
	return 0;
}

static int prepare(struct object *object, bool bare, struct failure *failure)
{
	int error = share(object, false, failure);

	if (error)
		return error;
	object->shared->plan.bare = bare;
	if (bare) {
		/* Whose proxy serves it has to know its connections. */
		origins_free(object->shared->plan.redirect.origins);
		object->shared->plan.redirect.origins =
			origins_shared(&object->origins);
	}
	/* Signals are held back from here on, so that none is lost. */
	signals_hold_for_command();
	return sandbox_prepare(object->shared, &object->sandbox, failure);
}

void host_fork(void)
{
	(void)prepare(&early, false, &early_failure);
}

/* Of the sandbox that was closed last; their end takes as long as a fork. */
static struct leaving leaving;

static bool end(struct sandbox *sandbox)
{
	struct leaving now = sandbox_close(sandbox);

	if (!now.janitor)
		return false;
	sandbox_reap(&leaving);
	leaving = now;
	return now.forgotten;
}

void host_join(void)
{
	if (early.shared)
		(void)end(&early.sandbox);
	sandbox_reap(&leaving);
}

struct sandbox *api_sandbox(lua_State *L, int index)
{
	struct object *object = luaL_checkudata(L, index, SANDBOX);

	return &object->sandbox;
}

/* One without namespaces; it is forked only now. */
static int begin_bare(lua_State *L)
{
	struct object *object = lua_newuserdatauv(L, sizeof(*object), 0);
	struct failure failure = { 0 };

	*object = (struct object){ .sandbox = SANDBOX_NONE, .origins = -1 };
	questions_init(&object->questions);
	luaL_setmetatable(L, SANDBOX);
	if (!prepare(object, true, &failure))
		return 1;
	lua_pushnil(L);
	lua_pushstring(L, failure.text);
	return 2;
}

/*
 * begin([bare]) -> sandbox | nil, message. Once in a process, and once more
 * with bare, for one without namespaces, after the first was closed.
 */
static int sandbox_lua_begin(lua_State *L)
{
	struct object *object;

	if (lua_toboolean(L, 1))
		return begin_bare(L);
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

/* identity([alone]) -> as a sandbox would have it; where one id is mapped */
static int sandbox_lua_would_be(lua_State *L)
{
	struct identity id;
	int error = identity_read(&id);

	if (!error && lua_toboolean(L, 1))
		identity_alone(&id);
	return error ? luaL_error(L, "cannot read /proc/self/uid_map: %s",
				  strerror(-error))
		     : push_identity(L, &id);
}

/* sandbox:identity() -> the sandbox's | nil, message */
static int sandbox_lua_identity(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	struct failure failure = { 0 };

	if (sandbox_identity(&object->sandbox, &failure)) {
		lua_pushnil(L);
		lua_pushstring(L, failure.text);
		return 2;
	}
	return push_identity(L, &object->shared->plan.id);
}

/* What was prepared, at first, is not for bubblewrap. */
static int prepare_bwrap(struct object *object, struct failure *failure)
{
	struct identity id = object->shared->plan.id;
	int error;

	sandbox_end(&object->sandbox);
	shared_free(object->shared);
	error = share(object, true, failure);
	if (error)
		return error;
	object->shared->plan.id = id;
	sandbox_prepare_bwrap(object->shared, &object->sandbox);
	return 0;
}

static int push_started(lua_State *L, int error, const struct failure *failure)
{
	if (error) {
		lua_pushnil(L);
		lua_pushstring(L, failure->text);
		lua_pushboolean(L, failure->unavailable);
		return 3;
	}
	lua_pushboolean(L, 1);
	return 1;
}

/* sandbox:mounts() -> what /proc/self/mountinfo says, if it was read already */
static int sandbox_lua_mounts(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	const struct shared *shared = object->shared;
	size_t size = shared->mounts_size;

	if (!size)
		return 0;
	lua_pushlstring(L, shared->mounts, size);
	return 1;
}

/* sandbox:redirect(redirect): the plan's, which is made at once */
static int sandbox_lua_redirect(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	luaL_checktype(L, 2, LUA_TTABLE);
	plan_read_redirect(L, 2, object->shared);
	sandbox_redirect(&object->sandbox);
	return 0;
}

/* sandbox:network(plan): likewise listen, and redirect if it was not yet */
static int sandbox_lua_network(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	luaL_checktype(L, 2, LUA_TTABLE);
	plan_read_network(L, 2, object->shared);
	sandbox_network(&object->sandbox);
	return 0;
}

/* sandbox:build(plan): likewise all but argv, env and state */
static int sandbox_lua_build(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	luaL_checktype(L, 2, LUA_TTABLE);
	plan_read_sandbox(L, 2, object->shared);
	sandbox_build(&object->sandbox);
	return 0;
}

/*
 * sandbox:state(path): the state file that is about to be made, so that the
 * janitor removes it where we end before it lists anything that is there
 */
static int sandbox_lua_state(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	size_t size;
	const char *path = luaL_checklstring(L, 2, &size);
	char *copy = shared_alloc(object->shared, size + 1);

	if (!copy)
		return luaL_error(L, "not enough memory");
	object->shared->plan.state = memcpy(copy, path, size);
	return 0;
}

/* sandbox:make() -> message | nil: the temporary directory; the state file is
 * there */
static int sandbox_lua_make(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	struct failure failure = { 0 };

	if (!sandbox_make(&object->sandbox, &failure))
		return 0;
	lua_pushstring(L, failure.text);
	return 1;
}

/* sandbox:start(plan) -> true | nil, message */
static int sandbox_lua_start(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	struct failure failure = { 0 };
	int error = 0;

	luaL_checktype(L, 2, LUA_TTABLE);
	if (lua_getfield(L, 2, "bwrap") != LUA_TNIL)
		error = prepare_bwrap(object, &failure);
	if (!error) {
		plan_read(L, 2, object->shared);
		error = sandbox_start(&object->sandbox, &failure);
	}
	return push_started(L, error, &failure);
}

static int sandbox_lua_release(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	sandbox_release(&object->sandbox);
	return 0;
}

/* sandbox:await() -> true | nil, message, are namespaces refused here? */
static int sandbox_lua_await(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	struct failure failure = { 0 };
	int error = sandbox_await(&object->sandbox, &failure);

	return push_started(L, error, &failure);
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
		if (WIFSIGNALED(outcome->value))
			signals_ended(WTERMSIG(outcome->value));
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

/* What start-up left stays: to look through it at once would find nothing. */
#define SETTLED_MS 100

static void on_settled(uv_timer_t *timer)
{
	lua_gc(timer->data, LUA_GCRESTART);
}

static int supervise(lua_State *L, struct object *object,
		     struct outcome *outcome)
{
	static uv_timer_t settled;
	uv_loop_t *loop = uv_default_loop();
	int error;

	if (!loop || uv_timer_init(loop, &settled))
		return -EMFILE;
	settled.data = L;
	uv_unref((uv_handle_t *)&settled);
	(void)uv_timer_start(&settled, on_settled, SETTLED_MS, 0);
	error = supervise_run(loop, &object->sandbox, &object->questions,
			      outcome);
	(void)uv_timer_stop(&settled);
	return error;
}

/*
 * sandbox:run() -> "exit", status | "signal", number | "notrun", errno |
 * "failed", message; then notices, and attempts to leave the network that the
 * kernel counted. Lua collects garbage from soon after on.
 */
static int sandbox_lua_run(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);
	const struct plan *plan = &object->shared->plan;
	struct outcome outcome = { 0 };
	int error;

	caller_let_go(plan->keep_fds, plan->keep_count);
	error = supervise(L, object, &outcome);
	if (error) {
		outcome = (struct outcome){ .kind = OUTCOME_FAILED };
		failure_set(&outcome.failure, -error,
			    "cannot wait for the command");
	}
	push_outcome(L, &outcome);
	push_notices(L, &outcome);
	lua_pushinteger(L, outcome.unreached);
	return 4;
}

struct questions *api_questions(lua_State *L, int index)
{
	struct object *object = luaL_checkudata(L, index, SANDBOX);

	return &object->questions;
}

/* sandbox:signal(number): as if the host process had got it */
static int sandbox_lua_signal(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	sandbox_signal(&object->sandbox, (int)luaL_checkinteger(L, 2));
	return 0;
}

/* sandbox:pid() -> of PID 1, as the host sees it; after start */
static int sandbox_lua_pid(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	lua_pushinteger(L, object->shared->init);
	return 1;
}

static int sandbox_lua_close(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	lua_pushboolean(L, end(&object->sandbox));
	if (object->origins >= 0)
		close(object->origins);
	object->origins = -1;
	return 1;
}

/* s:origins() -> a descriptor for redirect.admit() in another process | nil */
static int sandbox_lua_origins(lua_State *L)
{
	struct object *object = luaL_checkudata(L, 1, SANDBOX);

	if (object->origins < 0)
		return 0;
	lua_pushinteger(L, object->origins);
	return 1;
}

/*
 * filter(rules) -> BPF program as bytes; throws what libseccomp says. For the
 * tool that builds them in.
 */
static int sandbox_lua_filter(lua_State *L)
{
	struct plan_reader r = { .L = L, .shared = shared_new(false) };
	struct failure failure = { 0 };
	struct sock_fprog program = { 0 };
	struct seccomp_rule *rules;
	size_t count;

	luaL_checktype(L, 1, LUA_TTABLE);
	if (!r.shared)
		return luaL_error(L, "no memory");
	rules = plan_read_rules(&r, 1, &count);
	if (seccomp_build(rules, count, 0, &program, &failure))
		return luaL_error(L, "%s", failure.text);
	lua_pushlstring(L, (const char *)program.filter,
			program.len * sizeof(*program.filter));
	free(program.filter);
	return 1;
}

/*
 * ready(key) -> is a seccomp program of that key built in? Not for rules that
 * may be others than those it was built of (SRT_LUA_PATH, lua/host.c).
 */
static int sandbox_lua_ready(lua_State *L)
{
	const char *tree = getenv("SRT_LUA_PATH");

	lua_pushboolean(L, !(tree && *tree) &&
				   seccomp_find(luaL_checkstring(L, 1)));
	return 1;
}

int luaopen_srt_c_sandbox(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "identity", sandbox_lua_identity },
		{ "start", sandbox_lua_start },
		{ "mounts", sandbox_lua_mounts },
		{ "redirect", sandbox_lua_redirect },
		{ "network", sandbox_lua_network },
		{ "build", sandbox_lua_build },
		{ "state", sandbox_lua_state },
		{ "make", sandbox_lua_make },
		{ "release", sandbox_lua_release },
		{ "await", sandbox_lua_await },
		{ "listeners", sandbox_lua_listeners },
		{ "origins", sandbox_lua_origins },
		{ "run", sandbox_lua_run },
		{ "signal", sandbox_lua_signal },
		{ "pid", sandbox_lua_pid },
		{ "close", sandbox_lua_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "begin", sandbox_lua_begin },
		{ "identity", sandbox_lua_would_be },
		{ "filter", sandbox_lua_filter },
		{ "ready", sandbox_lua_ready },
		{ NULL, NULL },
	};

	api_class(L, SANDBOX, methods, sandbox_lua_close);
	luaL_newlib(L, functions);
	return 1;
}
