/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Callbacks that wait, driven as srt.c.proxy drives them: coroutines of the
 * host that yield what they wait for. The tests are Lua code of the host with
 * a few functions: go(f) starts a coroutine and returns its number, done[n]
 * is what it returned, settle() turns the loop until none waits, turn() once,
 * drop(n) cancels one, serve(path, reply) answers on a Unix socket.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "lua/await.h"
#include "lua/box.h"

#define MOST 2000

struct run {
	lua_State *L, *co;
	struct await *await;
	int ref, number;
};

static char folder[] = "/tmp/srt-wait-test-XXXXXX";
static struct run runs[MOST + 1];
static int run_count, waiting;

/* Keeps what the coroutine returned, or its error, as done[number]. */
static void finish(struct run *run, int status, int count)
{
	lua_State *L = run->L;
	int table;

	lua_getglobal(L, "done");
	lua_newtable(L);
	table = lua_gettop(L);
	if (status != LUA_OK)
		count = 1;
	lua_xmove(run->co, L, count);
	for (int i = count; i > 0; i--)
		lua_rawseti(L, table, i);
	lua_pushboolean(L, status == LUA_OK);
	lua_setfield(L, table, "ok");
	lua_rawseti(L, -2, run->number);
	lua_pop(L, 1);
	luaL_unref(L, LUA_REGISTRYINDEX, run->ref);
}

static void resume(void *context);

static void go_on(struct run *run)
{
	int count, status = lua_resume(run->co, run->L, 0, &count);

	if (status != LUA_YIELD) {
		finish(run, status, count);
		return;
	}
	run->await = lua_touserdata(run->co, -1);
	assert_non_null(run->await);
	run->await->wake = resume;
	run->await->context = run;
	lua_pop(run->co, count);
	waiting++;
}

static void resume(void *context)
{
	struct run *run = context;

	waiting--;
	run->await = NULL;
	go_on(run);
}

static int lua_go(lua_State *L)
{
	struct run *run = &runs[++run_count];

	assert_true(run_count <= MOST);
	lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
	*run = (struct run){ .L = lua_tothread(L, -1), .number = run_count };
	run->co = lua_newthread(L);
	run->ref = luaL_ref(L, LUA_REGISTRYINDEX);
	lua_pushvalue(L, 1);
	lua_xmove(L, run->co, 1);
	go_on(run);
	lua_pushinteger(L, run->number);
	return 1;
}

static int lua_turn(lua_State *L)
{
	lua_pushinteger(L, uv_run(uv_default_loop(), UV_RUN_NOWAIT));
	return 1;
}

static int lua_settle(lua_State *L)
{
	(void)L;
	while (waiting)
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	return 0;
}

static int lua_drop(lua_State *L)
{
	struct run *run = &runs[luaL_checkinteger(L, 1)];

	if (!run->await)
		return 0;
	run->await->cancel(run->await);
	run->await = NULL;
	waiting--;
	luaL_unref(L, LUA_REGISTRYINDEX, run->ref);
	return 0;
}

static int lua_waiting(lua_State *L)
{
	lua_pushinteger(L, waiting);
	return 1;
}

/* A decider: what it is asked comes back between brackets, or as @reply. */
struct decider {
	union {
		uv_handle_t any;
		uv_stream_t stream;
		uv_pipe_t pipe;
	} server;
	char reply[70000];
	bool echo;
};

/* Somebody who asks it; several may at once. */
struct asker {
	union {
		uv_handle_t any;
		uv_stream_t stream;
		uv_pipe_t pipe;
	} end;
	struct decider *decider;
	uv_write_t write;
	char got[70000], answer[70000];
	size_t size;
};

static struct decider *deciders[16];
static int decider_count;

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct asker *asker = handle->data;

	(void)size;
	*buffer = uv_buf_init(asker->got + asker->size,
			      (unsigned int)(sizeof(asker->got) - asker->size));
}

static void on_closed(uv_handle_t *handle)
{
	(void)handle;
}

static void on_asker_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_sent(uv_write_t *request, int status)
{
	struct asker *asker = request->data;

	(void)status;
	uv_close(&asker->end.any, on_asker_closed);
}

static void on_line(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct asker *asker = stream->data;
	const struct decider *decider = asker->decider;
	uv_buf_t out;
	int length;

	(void)buffer;
	if (size < 0) {
		uv_close(&asker->end.any, on_asker_closed);
		return;
	}
	asker->size += (size_t)size;
	if (!memchr(asker->got, '\n', asker->size))
		return;
	if (decider->echo)
		length = snprintf(asker->answer, sizeof(asker->answer),
				  "[%.*s]\r\n", (int)asker->size - 1,
				  asker->got);
	else
		length = snprintf(asker->answer, sizeof(asker->answer), "%s",
				  decider->reply);
	uv_read_stop(stream);
	out = uv_buf_init(asker->answer, (unsigned int)length);
	asker->write.data = asker;
	uv_write(&asker->write, stream, &out, 1, on_sent);
}

static void on_client(uv_stream_t *server, int status)
{
	struct asker *asker = calloc(1, sizeof(*asker));

	assert_non_null(asker);
	assert_int_equal(status, 0);
	asker->decider = server->data;
	uv_pipe_init(server->loop, &asker->end.pipe, 0);
	asker->end.any.data = asker;
	assert_int_equal(uv_accept(server, &asker->end.stream), 0);
	uv_read_start(&asker->end.stream, on_alloc, on_line);
}

static int lua_serve(lua_State *L)
{
	struct decider *d = calloc(1, sizeof(*d));
	const char *reply = luaL_optstring(L, 2, NULL);

	assert_non_null(d);
	deciders[decider_count++] = d;
	d->echo = !reply;
	if (reply)
		snprintf(d->reply, sizeof(d->reply), "%s", reply);
	uv_pipe_init(uv_default_loop(), &d->server.pipe, 0);
	d->server.any.data = d;
	assert_int_equal(uv_pipe_bind(&d->server.pipe, luaL_checkstring(L, 1)),
			 0);
	assert_int_equal(uv_listen(&d->server.stream, 8, on_client), 0);
	return 0;
}

static int mute = -1;

/* mute() -> port on which somebody listens who never answers */
static int lua_mute(lua_State *L)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	mute = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(mute >= 0);
	assert_int_equal(bind(mute, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(mute, 8), 0);
	assert_int_equal(getsockname(mute, (struct sockaddr *)&address, &size),
			 0);
	lua_pushinteger(L, ntohs(address.sin_port));
	return 1;
}

static lua_State *host(void)
{
	static const luaL_Reg functions[] = {
		{ "go", lua_go },	  { "turn", lua_turn },
		{ "settle", lua_settle }, { "drop", lua_drop },
		{ "serve", lua_serve },	  { "waiting", lua_waiting },
		{ "mute", lua_mute },	  { NULL, NULL },
	};
	lua_State *L = luaL_newstate();

	assert_non_null(L);
	run_count = waiting = 0;
	luaL_openlibs(L);
	luaL_requiref(L, "srt.c.box", luaopen_srt_c_box, 0);
	lua_setglobal(L, "box");
	lua_pushglobaltable(L);
	luaL_setfuncs(L, functions, 0);
	lua_pushstring(L, folder);
	lua_setglobal(L, "folder");
	lua_newtable(L);
	lua_setglobal(L, "done");
	if (luaL_dostring(
		    L, "function open(text, limits)\n"
		       "  local f = assert(io.open(folder .. '/p.lua', 'w'))\n"
		       "  f:write('return { f = function(c) ' .. text .. ' end "
		       "}')\n"
		       "  f:close()\n"
		       "  local b = assert(box.new { root = folder,"
		       "    facts = { cwd = folder }, limits = limits })\n"
		       "  local p, e = b:load(folder .. '/p.lua')\n"
		       "  assert(p, e and e.message)\n"
		       "  return b, function(c)\n"
		       "    return b:call(p.f, 'conn', c or { host = 'h', port "
		       "= 1 })\n"
		       "  end\n"
		       "end\n"
		       "function answer(text, limits)\n"
		       "  local b, f = open(text, limits)\n"
		       "  local n = go(f)\n"
		       "  settle()\n"
		       "  b:close()\n"
		       "  assert(done[n].ok, done[n][1])\n"
		       "  return table.unpack(done[n], 1, 3)\n"
		       "end\n"
		       "function fails(text, message, kind, limits)\n"
		       "  local ok, why, what = answer(text, limits)\n"
		       "  assert(ok == false, text)\n"
		       "  assert(why:find(message, 1, true), why)\n"
		       "  assert(what == (kind or 'runtime'), what)\n"
		       "end\n"))
		fail_msg("%s", lua_tostring(L, -1));
	return L;
}

/* Runs host code that must not fail, closes all, and looks for leaks. */
static void check(const char *code)
{
	lua_State *L = host();
	char path[128];

	if (luaL_dostring(L, code) != LUA_OK)
		fail_msg("%s", lua_tostring(L, -1));
	lua_close(L);
	if (mute >= 0)
		close(mute);
	mute = -1;
	for (int i = 0; i < decider_count; i++)
		uv_close(&deciders[i]->server.any, on_closed);
	while (uv_run(uv_default_loop(), UV_RUN_NOWAIT))
		;
	while (decider_count)
		free(deciders[--decider_count]);
	snprintf(path, sizeof(path), "%s/s", folder);
	unlink(path);
}

static void test_sleep(void **state)
{
	(void)state;
	check("local ok, a, b = answer 'local t = srt.now() srt.sleep(0.05)"
	      "  return srt.now() - t, c.host'\n"
	      "assert(ok and a > 0.045 and a < 1 and b == 'h')\n"
	      "assert(select(2, answer 'return select(\"#\", srt.sleep(0))') "
	      "== 0)\n"
	      "assert(select(2, answer 'for i = 1, 100 do srt.sleep(0) end"
	      "  return true'))\n"
	      "for _, v in ipairs { '-1', '0/0', '1e300', '61', '\"x\"', '{}', "
	      "'' } do"
	      "  fails('srt.sleep(' .. v .. ')', 'bad argument') end\n");
}

/* Others run while one waits, and keep their own subject and budget. */
static void test_interleaved(void **state)
{
	(void)state;
	check("local b, f = open [[ srt.state.n = (srt.state.n or 0) + 1"
	      "  srt.sleep(c.port / 1000) return c.host, srt.state.n ]]\n"
	      "local ids = {}\n"
	      "for i = 1, 1000 do ids[i] = go(function()"
	      "  return f { host = 'h' .. i, port = 1 + i % 50 } end) end\n"
	      "assert(waiting() == 1000)\n"
	      "settle()\n"
	      "for i = 1, 1000 do local d = done[ids[i]]\n"
	      "  assert(d.ok and d[1] == true and d[2] == 'h' .. i and d[3] == "
	      "1000)"
	      " end\n"
	      "local _, first = open('srt.sleep(0.01) return true')\n");
}

static void test_stashed(void **state)
{
	(void)state;
	check("local b, f = open [[ if srt.state.c then"
	      "    return pcall(function() return srt.state.c.host end) end"
	      "  srt.state.c = c srt.sleep(0.02) return c.host, srt.state.c == "
	      "c ]]\n"
	      "local one = go(f)\n"
	      "local two = go(f)\n"
	      "assert(done[two][2] == false and done[two][3]:find 'is over')\n"
	      "settle()\n"
	      "assert(done[one][2] == 'h' and done[one][3] == true)\n"
	      "local three = go(f)\n"
	      "assert(done[three][2] == false and done[three][3]:find 'is "
	      "over')\n");
}

static void test_where_it_can_wait(void **state)
{
	(void)state;
	check("local inside = { 'string.gsub(\"a\", \"a\", function() "
	      "srt.sleep(0) end)',"
	      "  'table.sort({1,2,3}, function() srt.sleep(0) end)',"
	      "  'tostring(setmetatable({}, { __tostring = function() "
	      "srt.sleep(0) end }))',"
	      "  'srt.log.info(setmetatable({}, { __tostring = function() "
	      "srt.sleep(0) end }))' }\n"
	      "for _, v in ipairs(inside) do fails(v, 'srt.sleep can\\'t wait "
	      "inside') end\n"
	      "assert(select(2, answer [[ local ok, e = pcall(string.gsub, "
	      "'a', 'a',"
	      "  function() srt.sleep(0) end) srt.sleep(0) return not ok ]]))\n"
	      /* Metamethods of the language itself and iterators may. */
	      "assert(select(2, answer [[ local t = setmetatable({}, {"
	      "  __index = function(_, k) srt.sleep(0) return k end,"
	      "  __lt = function() srt.sleep(0) return true end,"
	      "  __concat = function() srt.sleep(0) return 'x' end })"
	      "  for _ in function(_, i) srt.sleep(0) return not i or nil end "
	      "do end"
	      "  return t.a == 'a' and t < t and t .. t == 'x' ]]))\n"
	      "assert(select(3, answer [[ return pcall(pcall, function()"
	      "  srt.sleep(0) local ok, e = pcall(function() srt.sleep(0) "
	      "error('e', 0) end)"
	      "  srt.sleep(0) error(e .. '!', 0) end) ]]) == false)\n"
	      /* pcall stays bounded over waits. */
	      "fails([[ local function f() srt.sleep(0) local ok, e = pcall(f)"
	      "  if not ok then error(e, 0) end end f() ]], 'nested too "
	      "deeply')\n");
}

static void test_budgets(void **state)
{
	(void)state;
	/* Granted anew after each wait; spent stays spent. */
	check("local limits = { callInstructions = 20000 }\n"
	      "assert(select(2, answer([[ for i = 1, 10 do"
	      "  for j = 1, 3000 do end srt.sleep(0) end return true ]], "
	      "limits)))\n"
	      "fails('srt.sleep(0) for j = 1, 1e6 do end', 'budget of 20000', "
	      "'budget', limits)\n"
	      "fails([[ pcall(function() while true do end end) srt.sleep(0) "
	      "return true ]],"
	      "  'budget of 20000', 'budget', limits)\n"
	      "fails([[ srt.sleep(0) pcall(function() while true do "
	      "pcall(srt.sleep, 'x') end end)"
	      "  return true ]], 'budget of 20000', 'budget', limits)\n"
	      "fails('srt.sleep(0) while true do end', 'processor time', "
	      "'budget',"
	      "  { callInstructions = 1e14, callCpuMs = 60 })\n"
	      "fails('srt.sleep(0) return (\"x\"):rep(3e6) .. \"y\"', 'not "
	      "enough memory',"
	      "  'memory', { memory = 1 << 20 })\n");
}

static void test_total_time(void **state)
{
	(void)state;
	check("local start = os.time()\n"
	      "fails('while true do srt.sleep(0.01) end', "
	      "'limits.callbackTotalSeconds',"
	      "  'budget', { callTotalMs = 150 })\n"
	      "fails('while true do pcall(srt.sleep, 0.09) end', 'srt.sleep',"
	      "  'budget', { callTotalMs = 150 })\n"
	      "fails([[while true do pcall(srt.query, 's', 'x') "
	      "srt.resolve('127.0.0.1') end]],"
	      "  'limits.callbackTotalSeconds', 'budget', { callTotalMs = 150 "
	      "})\n"
	      "assert(os.time() - start < 10)\n");
}

static void test_count(void **state)
{
	(void)state;
	check("local b, f = open('srt.sleep(0.01) srt.sleep(0) return true', { "
	      "waits = 3 })\n"
	      "local ids = {}\n"
	      "for i = 1, 5 do ids[i] = go(f) end\n"
	      "assert(waiting() == 3)\n"
	      "settle()\n"
	      "for i = 1, 3 do assert(done[ids[i]][2] == true) end\n"
	      "for i = 4, 5 do assert(done[ids[i]][1] == false)"
	      "  assert(done[ids[i]][2]:find '3 callbacks wait already') end\n"
	      "local n = go(f) settle() assert(done[n][2] == true)\n");
}

static void test_memory(void **state)
{
	(void)state;
	/* Coroutines are of the box, so its memory bounds them. */
	check("local b, f = open([[ local t = { ('x'):rep(50000) }"
	      "  srt.sleep(0.05) return #t ]], { memory = 2 << 20 })\n"
	      "for i = 1, 100 do go(f) end\n"
	      "assert(waiting() > 10 and waiting() < 60, waiting())\n"
	      "assert(done[100][3] == 'memory')\n"
	      "settle()\n"
	      "local n = go(f) settle() assert(done[n][1] == true, "
	      "done[n][2])\n"
	      "assert(b:stats().peak <= (2 << 20) + 70000)\n");
}

static void test_cancel(void **state)
{
	(void)state;
	check("serve(folder .. '/s', 'never\\n')\n"
	      "local b, f = open [[ if c.port == 1 then srt.sleep(50)"
	      "  elseif c.port == 2 then srt.resolve('localhost')"
	      "  elseif c.port == 3 then srt.query('./s', 'x') end"
	      "  srt.state.woken = true ]]\n"
	      "for turns = 0, 4 do for port = 1, 3 do\n"
	      "  local n = go(function() return f { host = 'h', port = port } "
	      "end)\n"
	      "  for _ = 1, turns do turn() end\n"
	      "  drop(n)\n"
	      "end end\n"
	      "assert(waiting() == 0)\n"
	      "for _ = 1, 100 do turn() end\n"
	      "local _, g = open 'return true' assert(done[go(g)][1])\n"
	      /* Whatever waits when a box is closed is never woken. */
	      "local ids = {}\n"
	      "for port = 1, 3 do ids[port] = go(function()"
	      "  return f { host = 'h', port = port } end) end\n"
	      "b:close()\n"
	      "for _ = 1, 20 do turn() end\n"
	      "for i = 1, 3 do assert(not done[ids[i]]) drop(ids[i]) end\n");
}

static void test_resolve(void **state)
{
	(void)state;
	check("local ok, list = answer 'return srt.resolve(\"127.0.0.1\")'\n"
	      "assert(ok and #list == 1 and list[1] == '127.0.0.1')\n"
	      "ok, list = answer 'return srt.resolve(\"::1\")'\n"
	      "assert(ok and list[1] == '::1')\n"
	      "ok, list = answer 'return srt.resolve(\"localhost\")'\n"
	      "assert(ok and #list >= 1)\n"
	      "local none, why\n"
	      "ok, none, why = answer 'return "
	      "srt.resolve(\"no-such.invalid\")'\n"
	      "assert(ok and none == nil and type(why) == 'string')\n"
	      "for _, v in ipairs { '\"\"', '\"a b\"', '\"a\\\\0b\"', "
	      "'(\"x\"):rep(254)', '{}', '\"\\\\xc3\\\\xa4\"' } do"
	      "  fails('srt.resolve(' .. v .. ')', 'bad argument') end\n");
}

static void test_query(void **state)
{
	(void)state;
	check("local function ask(reply, line)\n"
	      "  os.remove(folder .. '/s') serve(folder .. '/s', reply)\n"
	      "  return answer('return srt.query(\"./s\", ' .. (line or "
	      "'\"q\"') .. ')') end\n"
	      "local ok, text, why = ask(nil)\n"
	      "assert(ok and text == '[q]', text)\n"
	      "ok, text = ask(nil, '(\"x\"):rep(65000)') assert(#text == "
	      "65002)\n"
	      "ok, text = ask('yes\\nno\\n') assert(text == 'yes')\n"
	      "ok, text = ask('\\n') assert(text == '')\n"
	      "ok, text, why = ask('half') assert(text == nil and why:find 'no "
	      "end of line')\n"
	      "ok, text, why = ask('') assert(text == nil and why:find 'no end "
	      "of line')\n"
	      "ok, text, why = ask(('x'):rep(66000)) assert(text == nil and "
	      "why:find '64 KiB')\n"
	      "ok, text, why = answer 'return srt.query(\"./none\", \"q\")'\n"
	      "assert(ok and text == nil and why:find 'no such file')\n"
	      "ok, text, why = answer 'return srt.query(\"127.0.0.1:1\", "
	      "\"q\")'\n"
	      "assert(ok and text == nil and why:find 'refused')\n"
	      "ok, text, why = answer 'return srt.query(\"localhost:1\", "
	      "\"q\")'\n"
	      "assert(ok and text == nil and why:find 'refused')\n"
	      "ok, text, why = answer 'return srt.query(\"no-such.invalid:1\", "
	      "\"q\")'\n"
	      "assert(ok and text == nil and why)\n"
	      "for _, v in ipairs { 'a', 'a:', ':1', 'a:0', 'a:65536', 'a:1x', "
	      "'::1:80', '[::1', '[]:1', 'a:-1', 'a: 1', '', '/' .. "
	      "('x'):rep(107) } do"
	      "  fails('srt.query(\"' .. v .. '\", \"q\")', 'bad argument #1') "
	      "end\n"
	      "for _, v in ipairs { '\"a\\\\nb\"', '(\"x\"):rep(65536)', '{}' "
	      "} do"
	      "  fails('srt.query(\"a:1\", ' .. v .. ')', 'bad argument #2') "
	      "end\n"
	      "for _, v in ipairs { '0', '-1', '0/0', '1e9', '{}' } do"
	      "  fails('srt.query(\"a:1\", \"q\", ' .. v .. ')', 'bad argument "
	      "#3') end\n");
}

static void test_query_time(void **state)
{
	(void)state;
	/* The kernel accepts; nobody answers. */
	check("local port = mute()\n"
	      "local ok, text, why = answer('return srt.query(\"127.0.0.1:' .. "
	      "port .. '\", \"q\", 0.1)')\n"
	      "assert(ok and text == nil and why == 'timed out', why)\n"
	      "ok, text, why = answer('return srt.query(\"127.0.0.1:' .. port "
	      ".. '\", \"q\")', { callTotalMs = 100 })\n"
	      "assert(ok == false and text:find 'callbackTotalSeconds')\n");
}

static void test_ask(void **state)
{
	(void)state;
	/* Where it really asks: spec/enforce/test_ask.py. */
	check("local ok, yes, why = answer 'return srt.ask(\"x\")'\n"
	      "assert(ok and yes == false and why:find 'no terminal')\n"
	      "ok, yes = answer 'return srt.ask(\"x\", { default = true, "
	      "seconds = 5 })'\n"
	      "assert(ok and yes == false)\n"
	      "ok, yes, why = answer 'return srt.ask(\"x\", { choices = { "
	      "\"once\", \"session\" } })'\n"
	      "assert(ok and yes == false and why:find 'no terminal')\n"
	      "for v, m in pairs { ['{}'] = 'list of words', ['{1}'] = 'list "
	      "of words', ['1'] = 'list of words', ['{\"\"}'] = '1 to 15',"
	      "  ['{\"a\",\"ab\"}'] = 'of their own', ['{\"no\"}'] = 'none "
	      "with n', ['{\"a b\"}'] = 'a to z', ['{\"A\"}'] = 'a to z',"
	      "  ['{\"a\"}, default = true'] = 'default is no',"
	      "  ['{\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\"}'] "
	      "= '8 at most', ['{\"aaaaaaaaaaaaaaaa\"}'] = '1 to 15' } do"
	      "  fails('srt.ask(\"x\", { choices = ' .. v .. ' })', m) end\n"
	      "fails('srt.ask(\"x\", { choices = { (\"a\"):rep(15), "
	      "(\"b\"):rep(15), (\"c\"):rep(15), (\"d\"):rep(15) } })', 'too "
	      "long')\n"
	      "for v, m in pairs { ['\"\"'] = 'empty', ['{}'] = 'string "
	      "expected', ['\"x\", 1'] = 'table expected',"
	      "  ['\"x\", {second=1}'] = 'no option', ['\"x\", {seconds=0}'] = "
	      "'more than 0', ['\"x\", {seconds=121}'] = '120 at most',"
	      "  ['\"x\", {seconds=0/0}'] = 'more than 0', ['\"x\", "
	      "{default=1}'] = 'true or false', ['\"x\", {[1]=1}'] = 'no "
	      "option' } do"
	      "  fails('srt.ask(' .. v .. ')', m) end\n");
}

/* Every allocation of a run that waits may fail; nothing leaks, nothing hangs.
 */
static void test_failing_allocations(void **state)
{
	(void)state;
	check("serve(folder .. '/s')\n"
	      "local function try(n, count)\n"
	      "  local f = assert(io.open(folder .. '/p.lua', 'w'))\n"
	      "  f:write [[ return { f = function(c) srt.sleep(0) local r = "
	      "srt.resolve('127.0.0.1')"
	      "    local a = srt.query('./s', 'q') pcall(function() "
	      "srt.sleep(0) error({}) end)"
	      "    return r[1] == '127.0.0.1' and a == '[q]' end } ]] "
	      "f:close()\n"
	      "  local b = box.new { root = folder, facts = { cwd = folder },"
	      "    limits = { failAllocation = n, failAllocations = count } }\n"
	      "  local p = b and b:load(folder .. '/p.lua')\n"
	      "  local ok, yes = false, nil\n"
	      "  if p then local id = go(function() return b:call(p.f, 'conn', "
	      "{ host = 'h', port = 1 }) end)\n"
	      "    settle() ok, yes = done[id][1], done[id][2] done[id] = nil "
	      "end\n"
	      "  if b and n % 2 == 0 then b:close() end\n"
	      "  return ok and yes, p\n"
	      "end\n"
	      "local first = 1\n"
	      "while not select(2, try(first, 1e9)) do first = first + 50 end\n"
	      "local loaded = 0 for n = math.max(1, first - 60), first + 400 "
	      "do\n"
	      "  local ok, p = try(n, 1e9)\n"
	      "  if ok and try(n, 1) then assert(loaded > 12, loaded) return "
	      "end\n"
	      "  if p then loaded = loaded + 1 end\n"
	      "end error('allocations without end')\n");
}

/* Odd sequences of starting, dropping and turning. */
static void test_random(void **state)
{
	(void)state;
	check("serve(folder .. '/s')\n"
	      "math.randomseed(7)\n"
	      "local b, f = open([[ for i = 1, c.port % 4 do local k = (c.port "
	      "+ i) % 5"
	      "  if k == 0 then srt.sleep(0.001) elseif k == 1 then "
	      "srt.query('./s', 'q', 0.01)"
	      "  elseif k == 2 then pcall(srt.resolve, '127.0.0.1') elseif k "
	      "== 3 then srt.ask('x')"
	      "  else pcall(error) end end"
	      "  if c.port % 7 == 0 then error('x') end return c.port ]], { "
	      "waits = 50 })\n"
	      "local alive = {}\n"
	      "for i = 1, 1500 do\n"
	      "  local n = go(function() return f { host = 'h', port = i } "
	      "end)\n"
	      "  alive[#alive + 1] = n\n"
	      "  if math.random(3) == 1 then turn() end\n"
	      "  if math.random(4) == 1 then drop(table.remove(alive, "
	      "math.random(#alive))) end\n"
	      "  if math.random(100) == 1 then collectgarbage() end\n"
	      "end\n"
	      "settle()\n"
	      "local _, g = open 'return 5' assert(done[go(g)][2] == 5)\n"
	      "b:close()\n");
}

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/p.lua", folder);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_interleaved),
		cmocka_unit_test(test_stashed),
		cmocka_unit_test(test_where_it_can_wait),
		cmocka_unit_test(test_budgets),
		cmocka_unit_test(test_total_time),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_resolve),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_query_time),
		cmocka_unit_test(test_ask),
		cmocka_unit_test(test_failing_allocations),
		cmocka_unit_test(test_random),
	};

	/* As in the host process: a decider may go away at any time. */
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
