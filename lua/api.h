/* SPDX-License-Identifier: Apache-2.0 */
/* The C tables of the host state, one C file each. */
#ifndef SRT_LUA_API_H
#define SRT_LUA_API_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <sys/types.h>

#include "core/caller.h"

/* require "srt.c.NAME"; each leaves its table on the stack. */
int luaopen_srt_c_sys(lua_State *L);
int luaopen_srt_c_sandbox(lua_State *L);
int luaopen_srt_c_proxy(lua_State *L);
int luaopen_srt_c_tls(lua_State *L);
int luaopen_srt_c_probe(lua_State *L);
int luaopen_srt_c_process(lua_State *L);
int luaopen_srt_c_publish(lua_State *L);
int luaopen_srt_c_question(lua_State *L);
int luaopen_srt_c_redirect(lua_State *L);
int luaopen_srt_c_box(lua_State *L);
int luaopen_srt_c_carry(lua_State *L);
int luaopen_srt_c_walk(lua_State *L);
int luaopen_srt_c_watch(lua_State *L);
int luaopen_srt_c_feed(lua_State *L);
int luaopen_srt_c_gate(lua_State *L);
int luaopen_srt_c_guard(lua_State *L);
int luaopen_srt_c_tidy(lua_State *L);
int luaopen_srt_c_screen(lua_State *L);
int luaopen_srt_c_secret(lua_State *L);
int luaopen_srt_c_channel(lua_State *L);
int luaopen_srt_c_journal(lua_State *L);
int luaopen_srt_c_interrupt(lua_State *L);
int luaopen_srt_c_task(lua_State *L);

/** host_modules - of srt.c.NAME, what this system alone has; ends with NULL */
extern const luaL_Reg host_modules[];

/** host_system - for which it was built: "linux" or "macos" */
extern const char host_system[];

/**
 * host_inside() - is the program called for a part of its own in a sandbox?
 * @status: filled with its exit status where it was
 */
bool host_inside(int argc, char **argv, int *status);

/** The caller's signals and limits, noted before anything changed them. */
extern struct caller host_caller;

struct process_finder;
struct proxy;
struct sandbox;
struct substitute;

/** api_substitute() - what a set of srt.c.secret holds, or NULL for another */
struct substitute *api_substitute(lua_State *L, int index);

/**
 * api_body() - body(source, max) -> text | nil, message: of a request or
 * response that is being decided; waits as lua/await.h says
 */
int api_body(lua_State *L);

/** api_proxy(), api_sandbox() - what an argument holds; throw on another */
struct proxy *api_proxy(lua_State *L, int index);
struct sandbox *api_sandbox(lua_State *L, int index);

/** api_proxy_finder() - of the proxy that an argument holds; throws */
struct process_finder *api_proxy_finder(lua_State *L, int index);

/** api_proxy_keep() - a value that lives until the proxy is collected */
void api_proxy_keep(lua_State *L, int proxy, int value);

/**
 * host_fork() - fork the sandbox's first processes, for srt.c.sandbox.begin()
 *
 * Before there is a Lua state: a small process forks fast. How it went is told
 * by begin().
 */
void host_fork(void);

/**
 * host_join() - end what host_fork() made, where nobody asked for it, and wait
 * for what was closed
 */
void host_join(void);

struct questions;

/** api_questions() - where to ask the user; the argument is a sandbox */
struct questions *api_questions(lua_State *L, int index);

/**
 * api_class() - make the metatable of a kind of userdata
 * @collect: its __gc, or NULL
 */
void api_class(lua_State *L, const char *name, const luaL_Reg *methods,
	       lua_CFunction collect);

/**
 * api_fail() - nil, message, errno name: how operating failures are returned
 * Return: 3, the number of results.
 */
int api_fail(lua_State *L, int error);

/** api_absolute() - an argument that is an absolute path; throws on another */
const char *api_absolute(lua_State *L, int index);

/**
 * api_listen() - listen(address, port) -> descriptor, port | nil, message, name
 *
 * For port 0 the kernel chooses one.
 */
int api_listen(lua_State *L);

/** api_done() - true for 0, else as api_fail() has it for -errno */
int api_done(lua_State *L, int error);

/** api_number() - a number that is not negative, else as api_fail() has it */
int api_number(lua_State *L, int value);

/** api_main() - the main thread, which callbacks of C run in; never throws */
lua_State *api_main(lua_State *L);

/** struct api_callback - a function for a callback of C, kept for good */
struct api_callback {
	lua_State *L; /* the main thread */
	int fn;
};

/** api_callback() - of the function at @index; throws where it is none */
struct api_callback *api_callback(lua_State *L, int index);

/** api_call_back() - call it with @count numbers; an error in it is nobody's */
void api_call_back(const struct api_callback *callback, const int *numbers,
		   int count);

/**
 * api_argv() - read a command from the list at @index
 *
 * Its words stay on the stack, which keeps them.
 * @argv: room for @most words, and a NULL
 */
void api_argv(lua_State *L, int index, const char **argv, size_t most);

/** api_type_name() - "file" for S_IFREG: what srt.c.sys calls it */
const char *api_type_name(mode_t mode);

/* Of srt.c.sys; see api_sys.md. */
int api_sys_plain_all(lua_State *L);
int api_sys_tree_sort(lua_State *L);
int api_sys_parent(lua_State *L);
int api_sys_mounts(lua_State *L);
int api_sys_program(lua_State *L);
int api_sys_sized(lua_State *L);

/** api_error_name() - "ENOENT" for ENOENT; static storage */
const char *api_error_name(int error);

#endif
