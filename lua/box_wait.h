/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks that wait: their coroutine is suspended, the loop goes on. */
#ifndef SRT_LUA_BOX_WAIT_H
#define SRT_LUA_BOX_WAIT_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "lua/await.h"

struct box;
struct box_wait;

#define BOX_WAIT_FOREVER UINT64_MAX

/**
 * struct box_op - something to wait for; one for each function of srt
 * @name: "srt.sleep", for messages
 * @begin: start; the arguments are at @first and up of @co, on which only
 *	calls that can't throw are made. Sets @wait->ms. 0 or -errno, which is
 *	then the outcome.
 * @push: push the outcome on @B; may throw in the box. Returns its size.
 * @stop: release @wait->state, finished or not; NULL where there is none
 * @unmetered: the time it takes is not the callback's
 */
struct box_op {
	const char *name;
	int (*begin)(struct box_wait *wait, lua_State *co, int first);
	int (*push)(struct box_wait *wait, lua_State *B);
	void (*stop)(struct box_wait *wait);
	bool unmetered;
};

/**
 * struct box_wait - a callback that was suspended, until it ends
 * @await: for the host
 * @box: NULL once it was closed
 * @ref: its coroutine in the box's registry
 * @serial, @pcalls: of the run, see struct box
 * @deadline: loop time at which the callback has had all of its time
 * @begun: loop time at which it began to wait
 * @ms: how long @op may take at most
 * @size: of @op: how much was asked for
 * @error: outcome of @op: 0, -errno or a negative code of libuv
 * @spent: @deadline has passed; the coroutine is not to be resumed
 * @timed: the timer is part of this
 * @asker: as of struct box when the run began
 */
struct box_wait {
	LIST_ENTRY(box_wait) link;
	struct await await;
	struct box *box;
	const struct box_op *op;
	void *state;
	size_t size;
	int ref;
	int pcalls;
	uint64_t serial;
	uint64_t deadline, begun, ms;
	int error;
	bool spent;
	lua_Integer asker;
	uv_loop_t *loop;
	uv_timer_t timer;
};

/**
 * box_wait_open - make the table of suspended coroutines, in the set-up
 * box_wait_functions - add sleep, resolve, query and ask to the srt table
 */
void box_wait_open(lua_State *B);
void box_wait_functions(lua_State *B);

/**
 * box_wait - suspend the callback; the end of a function of srt
 *
 * All of the stack are arguments, of types that cost no conversion. What the
 * operation pushes is what the function returns. Throws where it can't wait.
 */
int box_wait(lua_State *B, const struct box_op *op);

/** box_wait_able - throw where box_wait() would */
void box_wait_able(lua_State *B, const char *name);

/**
 * box_wait_begin - the coroutine at 2 of @B has yielded @count values
 *
 * Protected, in the box. Makes the wait if this is the first of the run.
 */
struct box_wait *box_wait_begin(lua_State *B, int count);

/** box_wait_push - push coroutine and outcome on @B; the outcome's size */
int box_wait_push(struct box_wait *wait, lua_State *B);

/** box_wait_end - the callback has ended: free the wait */
void box_wait_end(struct box_wait *wait);

/** box_wait_done - an operation is over; from the loop */
void box_wait_done(struct box_wait *wait);

/** box_wait_close - the box goes: nothing is woken any more */
void box_wait_close(struct box *b);

/* The operations. */
int box_sleep(lua_State *B);
int box_resolve(lua_State *B);
int box_query(lua_State *B);
int box_ask(lua_State *B);
int box_body(lua_State *B);

#endif
