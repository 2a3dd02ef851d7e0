/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.proxy: the egress proxy, asking Lua for verdicts; see api_proxy.md. */
#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <unistd.h>
#include <uv.h>

#include "lua/api.h"
#include "lua/await.h"
#include "lua/body.h"
#include "lua/process.h"
#include "proxy/decode.h"
#include "proxy/proxy.h"

#define PROXY "srt.proxy"
#define BODY_BYTES 1048576
#define CLOSE_TURNS 8

struct asking;

/*
 * The hooks table (decide, checkAddress, log) is the userdata's user value, so
 * it lives as long as the proxy. @idle is a coroutine that waits for the next
 * question, or NULL; it is kept in the registry as @idle_ref.
 */
struct proxy_object {
	struct proxy *proxy;
	lua_State *L;
	int self; /* reference in the registry while open */
	lua_State *idle;
	int idle_ref;
	LIST_HEAD(asking_list, asking) waiting;
	size_t body_bytes; /* that a callback may ask for */
	struct process_finder finder;
	char address_reason[300];
};

static void push_text(lua_State *L, const struct proxy_text *text)
{
	if (text->data)
		lua_pushlstring(L, text->data, text->size);
	else
		lua_pushnil(L);
}

static void set_text(lua_State *L, const char *name,
		     const struct proxy_text *text)
{
	push_text(L, text);
	lua_setfield(L, -2, name);
}

static const char *kind_of(const struct proxy_question *question)
{
	switch (question->kind) {
	case PROXY_ASK_REQUEST:
		return "request";
	case PROXY_ASK_RESPONSE:
		return "response";
	case PROXY_ASK_CONNECT:
		return "connect";
	case PROXY_ASK_AUTHZ:
		return "authz";
	default:
		return "forward";
	}
}

/* What only messages have: where their body is read, and what was kept. */
static void push_message(lua_State *L, const struct proxy_question *question,
			 struct body_source *body)
{
	if (question->kind != PROXY_ASK_REQUEST &&
	    question->kind != PROXY_ASK_RESPONSE)
		return;
	lua_pushlightuserdata(L, body);
	lua_setfield(L, -2, "body");
	if (question->kind == PROXY_ASK_REQUEST)
		return;
	lua_pushinteger(L, question->status);
	lua_setfield(L, -2, "status");
	lua_rawgeti(L, LUA_REGISTRYINDEX, question->token);
	lua_setfield(L, -2, "review");
}

static void push_question(lua_State *L, const struct proxy_question *question,
			  struct body_source *body,
			  struct process_source *process)
{
	lua_createtable(L, 0, 16);
	lua_pushlightuserdata(L, process);
	lua_setfield(L, -2, "process");
	lua_pushstring(L, kind_of(question));
	lua_setfield(L, -2, "kind");
	push_message(L, question, body);
	lua_pushstring(L, question->protocol);
	lua_setfield(L, -2, "protocol");
	set_text(L, "host", &question->host);
	lua_pushinteger(L, question->port);
	lua_setfield(L, -2, "port");
	set_text(L, "method", &question->method);
	set_text(L, "target", &question->target);
	set_text(L, "path", &question->path);
	set_text(L, "query", &question->query);
	set_text(L, "sni", &question->sni);
	lua_pushboolean(L, question->inside);
	lua_setfield(L, -2, "inside");
	lua_pushboolean(L, question->tls);
	lua_setfield(L, -2, "tls");
	lua_createtable(L, (int)question->header_count, 0);
	for (size_t i = 0; i < question->header_count; i++) {
		lua_createtable(L, 0, 2);
		set_text(L, "name", &question->headers[i].name);
		set_text(L, "value", &question->headers[i].value);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	lua_setfield(L, -2, "headers");
}

/* Strings stay on the stack, which outlives the verdict. */
static struct proxy_text text_of(lua_State *L, int table, const char *name)
{
	struct proxy_text text = { 0 };

	luaL_checkstack(L, 4, "verdict too large");
	if (lua_getfield(L, table, name) == LUA_TSTRING)
		text.data = lua_tolstring(L, -1, &text.size);
	return text;
}

static const char *string_of(lua_State *L, int table, const char *name)
{
	return text_of(L, table, name).data;
}

static bool flag_of(lua_State *L, int table, const char *name)
{
	bool flag;

	lua_getfield(L, table, name);
	flag = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return flag;
}

static lua_Integer number_of(lua_State *L, int table, const char *name)
{
	lua_Integer number;

	lua_getfield(L, table, name);
	number = lua_tointeger(L, -1);
	lua_pop(L, 1);
	return number;
}

/* The way out: {host=, port=} or {socket=}, authorization= or nil. */
static const struct proxy_via *via_of(lua_State *L, int table)
{
	struct proxy_via *via;
	int from;

	luaL_checkstack(L, 8, "verdict too large");
	if (lua_getfield(L, table, "via") != LUA_TTABLE)
		return NULL;
	from = lua_gettop(L);
	via = lua_newuserdatauv(L, sizeof(*via), 0);
	*via = (struct proxy_via){
		.host = string_of(L, from, "host"),
		.socket = string_of(L, from, "socket"),
		.authorization = string_of(L, from, "authorization"),
	};
	via->port = (uint16_t)number_of(L, from, "port");
	return via;
}

static void read_edits(lua_State *L, int table, struct proxy_verdict *verdict)
{
	struct proxy_header *set;
	struct proxy_text *remove;
	int list;

	if (lua_getfield(L, table, "set") == LUA_TTABLE) {
		list = lua_gettop(L);
		verdict->set_count = lua_rawlen(L, list);
		set = lua_newuserdatauv(
			L, sizeof(*set) * (verdict->set_count + 1), 0);
		verdict->set = set;
		for (size_t i = 0; i < verdict->set_count; i++) {
			lua_rawgeti(L, list, (lua_Integer)i + 1);
			set[i].name = text_of(L, lua_gettop(L), "name");
			set[i].value = text_of(L, lua_gettop(L) - 1, "value");
		}
	}
	if (lua_getfield(L, table, "remove") == LUA_TTABLE) {
		list = lua_gettop(L);
		verdict->remove_count = lua_rawlen(L, list);
		remove = lua_newuserdatauv(
			L, sizeof(*remove) * (verdict->remove_count + 1), 0);
		verdict->remove = remove;
		for (size_t i = 0; i < verdict->remove_count; i++) {
			luaL_checkstack(L, 4, "verdict too large");
			lua_rawgeti(L, list, (lua_Integer)i + 1);
			remove[i].data =
				luaL_checklstring(L, -1, &remove[i].size);
		}
	}
}

/* @response: of one, which goes nowhere but to the client */
static void read_table(lua_State *L, int table, bool response,
		       struct proxy_verdict *verdict)
{
	bool allow;

	luaL_checktype(L, table, LUA_TTABLE);
	verdict->host = string_of(L, table, "host");
	verdict->path = text_of(L, table, "path");
	verdict->target = text_of(L, table, "target");
	verdict->via = via_of(L, table);
	verdict->code = string_of(L, table, "code");
	verdict->reason = string_of(L, table, "reason");
	verdict->rule = string_of(L, table, "rule");
	verdict->advice = string_of(L, table, "advice");
	verdict->title = string_of(L, table, "title");
	verdict->body = text_of(L, table, "body");
	luaL_checkstack(L, 8, "verdict too large");
	verdict->status = (unsigned int)number_of(L, table, "status");
	verdict->port = (uint16_t)number_of(L, table, "port");
	verdict->terminate = flag_of(L, table, "terminate");
	verdict->inspect = flag_of(L, table, "inspect");
	verdict->refuse_opaque = flag_of(L, table, "refuseOpaque");
	verdict->respond = flag_of(L, table, "respond");
	read_edits(L, table, verdict);
	lua_getfield(L, table, "fill");
	verdict->fill = api_substitute(L, -1);
	lua_getfield(L, table, "scrub");
	verdict->scrub = api_substitute(L, -1);
	allow = flag_of(L, table, "allow") && (response || verdict->host);
	/* Last: an error before this leaves a denial, and no reference. */
	if (allow && !response && lua_getfield(L, table, "review") > LUA_TNIL) {
		verdict->token = luaL_ref(L, LUA_REGISTRYINDEX);
		verdict->review = true;
	}
	verdict->allow = allow;
}

enum { RESULTS = 3 }; /* that a hook may give */

/* Either a table, or true, host and port: most say no more. */
static void read_verdict(lua_State *L, bool response,
			 struct proxy_verdict *verdict)
{
	int first = lua_gettop(L) - RESULTS + 1;

	if (lua_isboolean(L, first) && lua_toboolean(L, first) &&
	    (response || lua_type(L, first + 1) == LUA_TSTRING)) {
		verdict->host = response ? NULL : lua_tostring(L, first + 1);
		verdict->port = (uint16_t)lua_tointeger(L, first + 2);
		verdict->allow = true;
		return;
	}
	lua_settop(L, first);
	read_table(L, first, response, verdict);
}

/*
 * One question, from the proxy to its answer. @co runs the hook, which may
 * wait: then it is in the list of the object, and @await is what it waits for.
 */
struct asking {
	LIST_ENTRY(asking) link;
	struct proxy_object *object;
	struct proxy_ask *ask;
	const struct proxy_question *question;
	struct proxy_verdict verdict;
	struct body_source body;
	struct process_source process;
	struct await *await;
	lua_State *co;
	int ref;
};

static struct proxy_ask *ask_of(struct body_source *body)
{
	return ((struct asking *)((char *)body - offsetof(struct asking, body)))
		->ask;
}

static bool body_begin(struct body_source *body, size_t max)
{
	return proxy_body(ask_of(body), max);
}

static void body_watch(struct body_source *body, void (*done)(void *context),
		       void *context)
{
	proxy_body_watch(ask_of(body), done, context);
}

static const char *body_take(struct body_source *body, size_t max,
			     const char **data, size_t *size)
{
	struct proxy_text text = { NULL, 0 };
	const char *wrong = proxy_body_take(ask_of(body), max, &text);

	*data = text.data;
	*size = text.size;
	return wrong == decode_too_long ? BODY_TOO_LONG : wrong;
}

static void push_hook(lua_State *L, struct proxy_object *object,
		      const char *name)
{
	lua_rawgeti(L, LUA_REGISTRYINDEX, object->self);
	lua_getiuservalue(L, -1, 1);
	lua_getfield(L, -1, name);
}

/* Leaves on the stack what the verdict borrows. */
static int take_verdict(lua_State *L, int status, lua_KContext context)
{
	struct asking *asking = (struct asking *)context;

	(void)status;
	read_verdict(L, asking->question->kind == PROXY_ASK_RESPONSE,
		     &asking->verdict);
	return lua_gettop(L);
}

/* The coroutine's body. */
static int ask_lua(lua_State *L)
{
	struct asking *asking = lua_touserdata(L, 1);
	lua_KContext context = (lua_KContext)asking;

	push_hook(L, asking->object, "decide");
	push_question(L, asking->question, &asking->body, &asking->process);
	lua_callk(L, 1, RESULTS, context, take_verdict); /* in a coroutine */
	return take_verdict(L, LUA_OK, context);
}

/* Protected: a coroutine for the question. */
static int new_coroutine(lua_State *L)
{
	struct asking *asking = lua_touserdata(L, 1);
	lua_State *co = lua_newthread(L);

	asking->ref = luaL_ref(L, LUA_REGISTRYINDEX);
	asking->co = co;
	return 0;
}

/* A coroutine for the question, ready to be resumed; false without memory. */
static bool take_coroutine(lua_State *L, struct asking *asking)
{
	struct proxy_object *object = asking->object;

	if (object->idle) {
		asking->co = object->idle;
		asking->ref = object->idle_ref;
		object->idle = NULL;
		object->idle_ref = LUA_NOREF;
	} else {
		lua_pushcfunction(L, new_coroutine);
		lua_pushlightuserdata(L, asking);
		if (lua_pcall(L, 1, 0, 0) != LUA_OK)
			return false;
	}
	if (!lua_checkstack(asking->co, 20))
		return false;
	lua_pushcfunction(asking->co, ask_lua);
	lua_pushlightuserdata(asking->co, asking);
	return true;
}

/* After an error a coroutine can't be used again. */
static void leave_coroutine(struct asking *asking, bool usable)
{
	struct proxy_object *object = asking->object;

	if (asking->co && usable && !object->idle && object->proxy) {
		lua_settop(asking->co, 0);
		object->idle = asking->co;
		object->idle_ref = asking->ref;
	} else {
		luaL_unref(object->L, LUA_REGISTRYINDEX, asking->ref);
	}
	free(asking);
}

/* @message: of a hook that failed; NULL where it gave a verdict */
static void answer(struct asking *asking, const char *message)
{
	struct proxy_verdict *verdict = &asking->verdict;

	if (message)
		*verdict = (struct proxy_verdict){ .status = 500,
						   .code = "internal-error",
						   .reason = message };
	if (!verdict->allow && !verdict->reason)
		verdict->reason = "denied without a reason";
	proxy_answer(asking->ask, verdict);
	leave_coroutine(asking, !message);
}

static void on_wake(void *context);

/* Runs the hook until it answers, fails, or has to wait. */
static void go_on(struct asking *asking, int arguments)
{
	lua_State *co = asking->co;
	int count,
		status = lua_resume(co, asking->object->L, arguments, &count);
	const char *message = NULL;

	if (status == LUA_YIELD) {
		asking->await = count == 1 ? lua_touserdata(co, -1) : NULL;
		lua_pop(co, count);
		if (!asking->await) {
			answer(asking, "the decision waits for nothing");
			return;
		}
		asking->await->context = asking;
		asking->await->wake = on_wake;
		LIST_INSERT_HEAD(&asking->object->waiting, asking, link);
		/* It may wait for a body, that is now to be read. */
		proxy_body_go_on(asking->ask);
		return;
	}
	if (status != LUA_OK) {
		message = lua_tostring(co, -1);
		message = message ? message : "the decision failed";
	}
	answer(asking, message);
}

static void on_wake(void *context)
{
	struct asking *asking = context;

	LIST_REMOVE(asking, link);
	asking->await = NULL;
	go_on(asking, 0);
}

static void on_decide(void *context, struct proxy_ask *ask,
		      const struct proxy_question *question)
{
	static const struct proxy_verdict no_memory = {
		.status = 500,
		.code = "internal-error",
		.reason = "out of memory",
	};
	struct proxy_object *object = context;
	struct asking *asking = malloc(sizeof(*asking));
	lua_State *L = object->L;
	int top = lua_gettop(L);

	if (!asking || !lua_checkstack(L, 20)) {
		free(asking);
		proxy_answer(ask, &no_memory);
		return;
	}
	*asking = (struct asking){ .object = object,
				   .ask = ask,
				   .question = question,
				   .body = { .begin = body_begin,
					     .watch = body_watch,
					     .take = body_take,
					     .most = object->body_bytes },
				   .process = { &object->finder, ask },
				   .ref = LUA_NOREF };
	if (take_coroutine(L, asking))
		go_on(asking, 1);
	else
		answer(asking, "out of memory");
	lua_settop(L, top);
}

/* The client went away: nobody is told what would have been decided. */
static void on_cancelled(void *context, struct proxy_ask *ask)
{
	struct proxy_object *object = context;
	struct asking *asking;

	LIST_FOREACH(asking, &object->waiting, link)
	if (asking->ask == ask)
		break;
	if (!asking)
		return;
	LIST_REMOVE(asking, link);
	asking->await->cancel(asking->await);
	leave_coroutine(asking, false);
}

static void on_forget(void *context, int token)
{
	struct proxy_object *object = context;

	luaL_unref(object->L, LUA_REGISTRYINDEX, token);
}

struct address_question {
	struct proxy_object *object;
	const char *host;
	const char *address;
	uint16_t port;
};

/* Protected: (question) -> reason or nil */
static int check_address_lua(lua_State *L)
{
	struct address_question *question = lua_touserdata(L, 1);

	push_hook(L, question->object, "checkAddress");
	lua_pushstring(L, question->host);
	lua_pushinteger(L, question->port);
	lua_pushstring(L, question->address);
	lua_call(L, 3, 1); /* protected */
	return 1;
}

static const char *on_check_address(void *context, const char *host,
				    uint16_t port, const char *address)
{
	struct proxy_object *object = context;
	struct address_question question = { object, host, address, port };
	lua_State *L = object->L;
	int top = lua_gettop(L);
	const char *reason;

	if (!lua_checkstack(L, 20))
		return "out of memory";
	lua_pushcfunction(L, check_address_lua);
	lua_pushlightuserdata(L, &question);
	if (lua_pcall(L, 1, 1, 0) == LUA_OK && lua_isnil(L, -1)) {
		lua_settop(L, top);
		return NULL;
	}
	reason = lua_tostring(L, -1);
	strncpy(object->address_reason, reason ? reason : "refused",
		sizeof(object->address_reason) - 1);
	lua_settop(L, top);
	return object->address_reason;
}

struct refusal {
	struct proxy_object *object;
	const char *what, *host, *reason;
	uint16_t port;
};

static int refused_lua(lua_State *L)
{
	struct refusal *refusal = lua_touserdata(L, 1);

	push_hook(L, refusal->object, "refused");
	lua_pushstring(L, refusal->what);
	lua_pushstring(L, refusal->host);
	lua_pushinteger(L, refusal->port);
	lua_pushstring(L, refusal->reason);
	lua_call(L, 4, 0); /* protected */
	return 0;
}

static void on_refused(void *context, const char *what, const char *host,
		       uint16_t port, const char *reason)
{
	struct refusal refusal = { context, what, host, reason, port };
	lua_State *L = refusal.object->L;
	int top = lua_gettop(L);

	if (!lua_checkstack(L, 20))
		return;
	lua_pushcfunction(L, refused_lua);
	lua_pushlightuserdata(L, &refusal);
	(void)lua_pcall(L, 1, 0, 0);
	lua_settop(L, top);
}

struct log_line {
	struct proxy_object *object;
	const char *line;
};

static int log_lua(lua_State *L)
{
	struct log_line *entry = lua_touserdata(L, 1);

	push_hook(L, entry->object, "log");
	lua_pushstring(L, entry->line);
	lua_call(L, 1, 0); /* protected */
	return 0;
}

static void on_log(void *context, const char *line)
{
	struct proxy_object *object = context;
	struct log_line entry = { object, line };
	lua_State *L = object->L;
	int top = lua_gettop(L);

	if (!lua_checkstack(L, 20))
		return;
	lua_pushcfunction(L, log_lua);
	lua_pushlightuserdata(L, &entry);
	(void)lua_pcall(L, 1, 0, 0);
	lua_settop(L, top);
}

static bool has_hook(lua_State *L, int hooks, const char *name)
{
	bool has = lua_getfield(L, hooks, name) == LUA_TFUNCTION;

	lua_pop(L, 1);
	return has;
}

/* A number of the table on top, 0 (the proxy's default) where it is absent. */
static unsigned int limit(lua_State *L, const char *name, unsigned int unit)
{
	lua_Integer value;

	lua_getfield(L, -1, name);
	value = luaL_optinteger(L, -1, 0);
	lua_pop(L, 1);
	if (value < 0 || value > UINT_MAX / unit)
		luaL_error(L, "limits.%s: out of range", name);
	return (unsigned int)value * unit;
}

static struct proxy_limits read_limits(lua_State *L, int index)
{
	struct proxy_limits limits = { 0 };

	if (lua_getfield(L, index, "limits") == LUA_TTABLE) {
		limits.header_bytes = limit(L, "headerBytes", 1);
		limits.idle_ms = limit(L, "idleSeconds", 1000);
		limits.header_ms = limit(L, "headerSeconds", 1000);
		limits.connect_ms = limit(L, "connectSeconds", 1000);
		limits.connections = limit(L, "connections", 1);
		limits.tunnels = limit(L, "tunnels", 1);
		limits.idle_upstreams = limit(L, "upstreams", 1);
		limits.idle_upstreams_per_host =
			limit(L, "upstreamsPerHost", 1);
		limits.upstream_idle_ms = limit(L, "upstreamSeconds", 1000);
		limits.answer_ms = limit(L, "answerSeconds", 1000);
		limits.buffer_bytes = limit(L, "bufferBytes", 1);
	}
	lua_pop(L, 1);
	return limits;
}

static size_t read_body_bytes(lua_State *L, int index)
{
	unsigned int bytes = 0;

	if (lua_getfield(L, index, "limits") == LUA_TTABLE)
		bytes = limit(L, "bodyBytes", 1);
	lua_pop(L, 1);
	return bytes ? bytes : BODY_BYTES;
}

/* The names in the list at @index's field "strip". */
static int read_strip(lua_State *L, int index, struct proxy *proxy)
{
	int top = lua_gettop(L), error = 0;
	bool is_list = lua_getfield(L, index, "strip") == LUA_TTABLE;

	for (lua_Integer i = 1; is_list && !error; i++) {
		if (lua_rawgeti(L, top + 1, i) != LUA_TSTRING)
			break;
		error = proxy_strip(proxy, lua_tostring(L, -1));
		lua_pop(L, 1);
	}
	lua_settop(L, top);
	return error;
}

/* A string of the login in the table at the top; the table holds it. */
static struct proxy_text login_part(lua_State *L, const char *key)
{
	struct proxy_text part = { 0 };

	lua_getfield(L, -1, key);
	part.data = lua_tolstring(L, -1, &part.size);
	lua_pop(L, 1);
	return part;
}

/* What the table at @index has as "login", where it has any. */
static int read_login(lua_State *L, int index, struct proxy *proxy)
{
	struct proxy_login login = { 0 };
	int error = 0;

	if (lua_getfield(L, index, "login") == LUA_TTABLE) {
		login.user = login_part(L, "user");
		login.password = login_part(L, "password");
		login.authorization = login_part(L, "authorization");
		error = login.user.size && login.password.size &&
					login.authorization.size
				? proxy_login(proxy, &login)
				: -EINVAL;
	}
	lua_pop(L, 1);
	return error;
}

/*
 * new{decide=, checkAddress=, addressCode=|nil, refused=|nil, log=|nil,
 * limits=|nil, strip=|nil, login=|nil} -> proxy | nil, message
 */
static int proxy_lua_new(lua_State *L)
{
	struct proxy_hooks hooks = { .decide = on_decide,
				     .cancelled = on_cancelled,
				     .forget = on_forget,
				     .check_address = on_check_address };
	struct proxy_object *object;
	struct proxy_limits limits;
	int error;

	luaL_checktype(L, 1, LUA_TTABLE);
	luaL_argcheck(L, has_hook(L, 1, "decide"), 1, "decide is missing");
	luaL_argcheck(L, has_hook(L, 1, "checkAddress"), 1,
		      "checkAddress is missing");
	/* The table keeps it, and is kept. */
	if (lua_getfield(L, 1, "addressCode") == LUA_TSTRING)
		hooks.address_code = lua_tostring(L, -1);
	lua_pop(L, 1);
	if (has_hook(L, 1, "refused"))
		hooks.refused = on_refused;
	if (has_hook(L, 1, "log"))
		hooks.log = on_log;
	limits = read_limits(L, 1);
	object = lua_newuserdatauv(L, sizeof(*object), 2);
	*object = (struct proxy_object){ .L = api_main(L),
					 .body_bytes = read_body_bytes(L, 1),
					 .finder = { .diag = -1 },
					 .self = LUA_NOREF,
					 .idle_ref = LUA_NOREF };
	luaL_setmetatable(L, PROXY);
	lua_pushvalue(L, 1);
	lua_setiuservalue(L, -2, 1);
	lua_pushvalue(L, -1);
	object->self = luaL_ref(L, LUA_REGISTRYINDEX);
	hooks.context = object;
	error = uv_default_loop() ? proxy_new(&object->proxy, uv_default_loop(),
					      &hooks, &limits)
				  : -EMFILE;
	if (!error)
		error = read_strip(L, 1, object->proxy);
	if (!error)
		error = read_login(L, 1, object->proxy);
	if (error) {
		luaL_unref(L, LUA_REGISTRYINDEX, object->self);
		return api_fail(L, -error);
	}
	return 1;
}

static struct proxy_object *check_open(lua_State *L)
{
	struct proxy_object *object = luaL_checkudata(L, 1, PROXY);

	luaL_argcheck(L, object->proxy, 1, "proxy is closed");
	return object;
}

struct proxy *api_proxy(lua_State *L, int index)
{
	struct proxy_object *object = luaL_checkudata(L, index, PROXY);

	luaL_argcheck(L, object->proxy, index, "proxy is closed");
	return object->proxy;
}

struct process_finder *api_proxy_finder(lua_State *L, int index)
{
	struct proxy_object *object = luaL_checkudata(L, index, PROXY);

	luaL_argcheck(L, object->proxy, index, "proxy is closed");
	return &object->finder;
}

void api_proxy_keep(lua_State *L, int proxy, int value)
{
	proxy = lua_absindex(L, proxy);
	value = lua_absindex(L, value);
	if (lua_getiuservalue(L, proxy, 2) != LUA_TTABLE) {
		lua_pop(L, 1);
		lua_createtable(L, 2, 0);
		lua_pushvalue(L, -1);
		lua_setiuservalue(L, proxy, 2);
	}
	lua_pushvalue(L, value);
	lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
	lua_pop(L, 1);
}

/* proxy:forward(fd, host, port) -> true | nil, message: as listen */
static int proxy_lua_forward(lua_State *L)
{
	struct proxy_object *object = check_open(L);
	int fd = (int)luaL_checkinteger(L, 2), error;
	const char *host = luaL_checkstring(L, 3);
	lua_Integer port = luaL_checkinteger(L, 4);

	luaL_argcheck(L, port > 0 && port < 65536, 4, "not a port");
	error = proxy_forward(object->proxy, fd, host, (uint16_t)port);
	return api_done(L, error);
}

/*
 * proxy:listen(fd, port|nil) -> true | nil, message: the descriptor is taken
 * over; with a port clients are handed to the host's loopback there, unread.
 */
static int proxy_lua_listen(lua_State *L)
{
	struct proxy_object *object = check_open(L);
	int fd = (int)luaL_checkinteger(L, 2);
	lua_Integer port = luaL_optinteger(L, 3, 0);
	int error;

	luaL_argcheck(L, port >= 0 && port <= UINT16_MAX, 3, "no port");
	error = port ? proxy_hand_over(object->proxy, fd, (uint16_t)port)
		     : proxy_listen(object->proxy, fd);

	return api_done(L, error);
}

/* Protected: (host, port, fn) -> whether fn says so */
static int call_gone(lua_State *L)
{
	lua_rotate(L, 1, 1);
	lua_call(L, 2, 1); /* protected */
	lua_pushboolean(L, lua_toboolean(L, -1));
	return 1;
}

static bool on_gone(void *context, const char *host, uint16_t port)
{
	lua_State *L = context;
	bool gone;

	if (!lua_checkstack(L, 8))
		return true;
	lua_pushcfunction(L, call_gone);
	lua_pushstring(L, host);
	lua_pushinteger(L, port);
	lua_pushvalue(L, 2);
	/* Whatever can't be told may not stay. */
	gone = lua_pcall(L, 3, 1, 0) || lua_toboolean(L, -1);
	lua_pop(L, 1);
	return gone;
}

/*
 * proxy:revise(fn) -> how many connections were cut: decide and checkAddress
 * go by another policy from now on, and fn(host, port) says what it denies
 */
static int proxy_lua_revise(lua_State *L)
{
	struct proxy_object *object = check_open(L);
	const struct proxy_gone gone = { .context = L, .gone = on_gone };

	luaL_checktype(L, 2, LUA_TFUNCTION);
	lua_pushinteger(L, (lua_Integer)proxy_revise(object->proxy, &gone));
	return 1;
}

/* proxy:authorize(fd) -> true | nil, message: as listen */
static int proxy_lua_authorize(lua_State *L)
{
	struct proxy_object *object = check_open(L);
	int error =
		proxy_authorize(object->proxy, (int)luaL_checkinteger(L, 2));

	return api_done(L, error);
}

/*
 * proxy:close(): cuts every connection and runs the loop until all is freed,
 * but not until a name is resolved: that may take many seconds and nobody
 * waits.
 */
static int proxy_lua_close(lua_State *L)
{
	struct proxy_object *object = check_open(L);

	proxy_close(object->proxy);
	object->proxy = NULL;
	if (object->finder.diag >= 0)
		close(object->finder.diag);
	object->finder.diag = -1;
	luaL_unref(L, LUA_REGISTRYINDEX, object->idle_ref);
	object->idle = NULL;
	object->idle_ref = LUA_NOREF;
	for (int turn = 0; turn < CLOSE_TURNS; turn++)
		if (!uv_run(uv_default_loop(), UV_RUN_NOWAIT))
			break;
	luaL_unref(L, LUA_REGISTRYINDEX, object->self);
	object->self = LUA_NOREF;
	return 0;
}

int luaopen_srt_c_proxy(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "listen", proxy_lua_listen },
		{ "forward", proxy_lua_forward },
		{ "authorize", proxy_lua_authorize },
		{ "revise", proxy_lua_revise },
		{ "close", proxy_lua_close },
		{ NULL, NULL },
	};
	static const luaL_Reg functions[] = {
		{ "new", proxy_lua_new },
		{ "body", api_body },
		{ NULL, NULL },
	};

	api_class(L, PROXY, methods, NULL);
	luaL_newlib(L, functions);
	return 1;
}
