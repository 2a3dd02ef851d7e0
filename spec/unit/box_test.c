/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the box is better tested from C: the watchdog, which ends the
 * process, and an allocator that fails at every call, under the sanitizers.
 * The rest is in spec/lua/box_*_spec.lua.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lua/box.h"

static char folder[] = "/tmp/srt-box-test-XXXXXX";

static const char policy[] =
	"local part = require 'part'\n"
	"srt.log.debug('loaded', part.name)\n"
	"return { list = { srt.remove 'x', part.name:rep(50) },\n"
	"  f = function(req)\n"
	"    srt.log.info('spin')\n"
	"    if req:header('accept') == 'x' then\n"
	"      return srt.allow { setHeaders = { A = srt.sha256(req.path) } }\n"
	"    end\n"
	"    local ok = pcall(string.gsub, req.path, '(%w)', function(c)\n"
	"      return c .. c end)\n"
	"    return false, srt.json.encode { ok, srt.url.parse 'http://h/' }\n"
	"  end,\n"
	"  loop = function()\n"
	"    for i = 1, 500 do srt.log.info('spin') end\n"
	"    return true end,\n"
	"  tail = function() srt.log.info('spin') return true end }\n";

static const char subject[] =
	"{ path = '/a/b', process = { pid = 1 }, headers = { { name = 'Accept',"
	"value = 'y' } } }";

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(folder));
	write_file("p.lua", policy);
	write_file("part.lua", "return { name = 'part' }");
	return 0;
}

static int tear_down(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/p.lua", folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/part.lua", folder);
	unlink(path);
	return rmdir(folder);
}

/* spin(ms): processor time in C, where no hook runs */
static int spin(lua_State *L)
{
	clock_t end = clock() +
		      (clock_t)(luaL_checknumber(L, 1) * CLOCKS_PER_SEC / 1000);

	while (clock() < end)
		;
	return 0;
}

static lua_State *host(void)
{
	lua_State *L = luaL_newstate();

	assert_non_null(L);
	luaL_openlibs(L);
	luaL_requiref(L, "srt.c.box", luaopen_srt_c_box, 0);
	lua_setglobal(L, "box");
	lua_pushstring(L, folder);
	lua_setglobal(L, "folder");
	lua_pushcfunction(L, spin);
	lua_setglobal(L, "spin");
	return L;
}

/* Runs host code that must not fail; its value is on top. */
static void run(lua_State *L, const char *code)
{
	if (luaL_dostring(L, code) != LUA_OK)
		fail_msg("%s", lua_tostring(L, -1));
}

static void call_spinning(lua_State *L, int ms, const char *function)
{
	char code[1024];

	snprintf(code, sizeof(code),
		 "local b = assert(box.new { root = folder, facts = {},"
		 "  limits = { callCpuMs = 100 },"
		 "  log = function(_, text) if text == 'spin' then spin(%d) end"
		 "  end })\n"
		 "local p = assert(b:load(folder .. '/p.lua'))\n"
		 "return b:call(p.%s, 'request', %s)",
		 ms, function, subject);
	run(L, code);
}

static void test_time_spent(void **state)
{
	lua_State *L = host();

	(void)state;
	call_spinning(L, 10, "loop");
	assert_false(lua_toboolean(L, 1));
	assert_non_null(strstr(lua_tostring(L, 2), "processor time spent"));
	assert_string_equal(lua_tostring(L, 3), "budget");
	lua_close(L);
}

static void test_time_left(void **state)
{
	lua_State *L = host();

	(void)state;
	call_spinning(L, 30, "tail");
	assert_true(lua_toboolean(L, 1));
	assert_true(lua_toboolean(L, 2));
	lua_close(L);
}

/* In a fork, so the watchdog's way with forks is tested too. */
static void test_hang(void **state)
{
	char text[512];
	int fds[2], status;
	ssize_t size;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		call_spinning(host(), 60000, "tail");
		_exit(0);
	}
	close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	size = read(fds[0], text, sizeof(text) - 1);
	close(fds[0]);
	assert_true(size > 0);
	text[size] = 0;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 125);
	assert_non_null(strstr(text, "srt-lua: the policy hangs"));
	assert_ptr_equal(strchr(text, '\n'), text + size - 1);
}

/* Many short calls share a timer; none of them may inherit ticks. */
static void test_many_calls(void **state)
{
	lua_State *L = host();

	(void)state;
	run(L, "local b = assert(box.new { root = folder, facts = {},"
	       "  limits = { callCpuMs = 50 }, log = function(_, text)"
	       "    if text == 'spin' then spin(5) end end })\n"
	       "local p = assert(b:load(folder .. '/p.lua'))\n"
	       "for i = 1, 60 do assert(b:call(p.tail, 'violation', {})) end");
	lua_close(L);
}

static void test_failing_allocations(void **state)
{
	char code[2048];
	lua_State *L = host();

	(void)state;
	snprintf(code, sizeof(code),
		 "local function try(n, count)\n"
		 "  local b = box.new { root = folder, log = function() end,"
		 "    facts = { cwd = '/', env = { A = 'b' } }, limits = {"
		 "    failAllocation = n, failAllocations = count } }\n"
		 "  local p = b and b:load(folder .. '/p.lua')\n"
		 "  local ok, v\n"
		 "  if p then ok, v = b:call(p.f, 'request', %s) end\n"
		 "  assert(not ok or v == false)\n"
		 "  if n %% 2 == 0 and b then b:close() end\n"
		 "  return ok\n"
		 "end\n"
		 "for n = 1, 10000 do\n"
		 "  local one, two, all = try(n, 1), try(n, 2), try(n, 1e9)\n"
		 "  if one and two and all then return n end\n"
		 "end\n"
		 "error('allocations without end')",
		 subject);
	run(L, code);
	/* Fewer would mean that the hook does not count. */
	assert_true(lua_tointeger(L, -1) > 200);
	lua_close(L);
}

static void test_small_caps(void **state)
{
	lua_State *L = host();

	(void)state;
	run(L, "for cap = 1, 40000, 97 do\n"
	       "  local b = assert(box.new { root = folder, facts = {},"
	       "    limits = { memory = cap, loadMemory = cap } })\n"
	       "  local p, err = b:load(folder .. '/p.lua')\n"
	       "  if p then b:call(p.tail, 'violation', {}) else"
	       "    assert(err.kind == 'memory', err.message) end\n"
	       "end");
	lua_close(L);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_spent),
		cmocka_unit_test(test_time_left),
		cmocka_unit_test(test_hang),
		cmocka_unit_test(test_many_calls),
		cmocka_unit_test(test_failing_allocations),
		cmocka_unit_test(test_small_caps),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
