/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.process: whose connection is it? See api_process.md. */
#include <lauxlib.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "core/owner.h"
#include "core/sandbox.h"
#include "core/socket_inode.h"
#include "lua/api.h"
#include "lua/process.h"
#include "proxy/proxy.h"

static struct owner *look_for(const struct process_finder *finder, int protocol,
			      const struct sockaddr_storage *local,
			      const struct sockaddr_storage *remote)
{
	uint64_t inode;

	if (finder->diag < 0 ||
	    socket_inode_find(finder->diag, protocol,
			      (const struct sockaddr *)local,
			      (const struct sockaddr *)remote, &inode))
		return NULL;
	return owner_find(finder->init, inode);
}

/* Borrowed from the client; nobody is one without a chain. */
static const struct owner *owner_of(const struct process_source *source)
{
	struct proxy_ends ends;

	if (!proxy_ends(source->ask, &ends))
		return NULL;
	if (!*ends.kept)
		*ends.kept = look_for(source->finder, IPPROTO_TCP, &ends.local,
				      &ends.remote);
	if (!*ends.kept)
		*ends.kept = calloc(1, sizeof(struct owner));
	return *ends.kept;
}

static void push_one(lua_State *L, const struct owner_process *process)
{
	lua_createtable(L, 0, 4);
	lua_pushinteger(L, process->pid);
	lua_setfield(L, -2, "pid");
	lua_pushinteger(L, process->host_pid);
	lua_setfield(L, -2, "hostPid");
	if (!process->exe[0])
		return;
	lua_pushstring(L, process->exe);
	lua_setfield(L, -2, "exe");
}

static void push_owner(lua_State *L, const struct owner *owner)
{
	luaL_checkstack(L, 4, NULL);
	if (!owner || !owner->count) {
		lua_pushnil(L);
		return;
	}
	push_one(L, &owner->chain[0]);
	lua_createtable(L, (int)owner->count - 1, 0);
	for (size_t i = 1; i < owner->count; i++) {
		push_one(L, &owner->chain[i]);
		lua_rawseti(L, -2, (lua_Integer)i);
	}
	lua_setfield(L, -2, "parents");
}

void process_push(lua_State *L, const struct process_source *source)
{
	push_owner(L, source ? owner_of(source) : NULL);
}

/* asker(who) -> {pid=, hostPid=, exe=} or nil */
static int process_lua_asker(lua_State *L)
{
	const struct process_asker *who;
	const struct proxy_asker *asker;
	struct owner *owner;
	struct owner_process first;

	luaL_checktype(L, 1, LUA_TLIGHTUSERDATA);
	who = lua_touserdata(L, 1);
	asker = who->asker;
	owner = look_for(who->finder,
			 asker->datagrams ? IPPROTO_UDP : IPPROTO_TCP,
			 &asker->local, &asker->remote);
	if (!owner || !owner->count) {
		free(owner);
		lua_pushnil(L);
		return 1;
	}
	first = owner->chain[0];
	free(owner);
	push_one(L, &first);
	return 1;
}

/* of(question.process) -> table or nil */
static int process_lua_of(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TLIGHTUSERDATA);
	process_push(L, lua_touserdata(L, 1));
	return 1;
}

/* find(proxy, sandbox or the pid of its PID 1, fd): questions can tell now */
static int process_lua_find(lua_State *L)
{
	struct process_finder *finder = api_proxy_finder(L, 1);
	pid_t init = lua_isinteger(L, 2) ? (pid_t)lua_tointeger(L, 2)
					 : api_sandbox(L, 2)->shared->init;

	luaL_argcheck(L, finder->diag < 0, 1, "was told before");
	finder->diag = (int)luaL_checkinteger(L, 3);
	finder->init = init;
	return 0;
}

int luaopen_srt_c_process(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "asker", process_lua_asker },
		{ "find", process_lua_find },
		{ "of", process_lua_of },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
