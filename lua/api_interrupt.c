/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.interrupt: Ctrl-C ends what goes on, not us; see api_interrupt.md. */
#include <errno.h>
#include <lauxlib.h>
#include <lua.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>
#include <uv.h>

#include "lua/api.h"
#include "lua/box_watch.h"

/* What the signal handler sees. */
static struct {
	uv_async_t wake;
	volatile sig_atomic_t came;
} interrupt;

static void on_signal(int signal_number)
{
	int saved = errno;

	(void)signal_number;
	interrupt.came = 1;
	box_watch_interrupt();
	uv_async_send(&interrupt.wake); /* async-signal-safe */
	errno = saved;
}

static void on_wake(uv_async_t *wake)
{
	(void)wake;
}

/* watch() -> true | nil, message, name */
static int interrupt_lua_watch(lua_State *L)
{
	/* No SA_RESTART: who reads a line is to hear of it. */
	struct sigaction action = { .sa_handler = on_signal };
	uv_loop_t *loop = uv_default_loop();
	int result =
		loop ? uv_async_init(loop, &interrupt.wake, on_wake) : -EMFILE;

	if (result)
		return api_fail(L, -result);
	uv_unref((uv_handle_t *)&interrupt.wake);
	if (sigaction(SIGINT, &action, NULL) < 0)
		return api_fail(L, errno);
	lua_pushboolean(L, 1);
	return 1;
}

/* wait() -> is there input, or its end? false: it was interrupted first */
static int interrupt_lua_wait(lua_State *L)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	sigset_t interrupts, before;
	bool ready;

	/* It comes within ppoll() or not at all, so none is missed. */
	sigemptyset(&interrupts);
	sigaddset(&interrupts, SIGINT);
	pthread_sigmask(SIG_BLOCK, &interrupts, &before);
	ready = !interrupt.came && ppoll(&input, 1, NULL, &before) > 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	lua_pushboolean(L, ready);
	return 1;
}

/* taken() -> did it come since this was asked last? */
static int interrupt_lua_taken(lua_State *L)
{
	lua_pushboolean(L, interrupt.came);
	interrupt.came = 0;
	return 1;
}

int luaopen_srt_c_interrupt(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "taken", interrupt_lua_taken },
		{ "wait", interrupt_lua_wait },
		{ "watch", interrupt_lua_watch },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
