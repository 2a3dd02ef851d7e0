/* SPDX-License-Identifier: Apache-2.0 */
/* A box's own state: allocator, limits, budget. Private to lua/box_*.c. */
#ifndef SRT_LUA_BOX_STATE_H
#define SRT_LUA_BOX_STATE_H

#include <lua.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct box_cover;
struct box_wait;
struct questions;

/* Why a load or a call failed; the names are box_fault_name(). */
enum box_fault {
	BOX_RUNTIME,
	BOX_SYNTAX,
	BOX_BUDGET,
	BOX_MEMORY,
	BOX_IO,
	BOX_VALUE,
};

/* What ended the budget; it stays so until the outermost call ends. */
enum box_spent {
	BOX_NOT_SPENT,
	BOX_SPENT_INSTRUCTIONS,
	BOX_SPENT_TIME,
	BOX_SPENT_PATIENCE,
};

#define BOX_INTERRUPTED 2 /* what box.expired is then */

/**
 * struct box_limits - budgets of one box
 * @load_instructions, @call_instructions: VM instructions; C functions of the
 *	box charge theirs by the size of their work
 * @load_memory, @memory: bytes of the whole state while loading, and after
 * @load_ms, @call_ms: processor time; of a call, between two waits
 * @total_ms: time of a call with its waits; @ask_ms: of one srt.ask, which
 *	does not count as part of it
 * @waits: calls that may wait at once
 * @fail_at, @fail_count: tests only: growing allocations number @fail_at
 *	(from 1) and the following ones, @fail_count in all, fail
 */
struct box_limits {
	int64_t load_instructions, call_instructions;
	size_t load_memory, memory;
	unsigned int load_ms, call_ms, total_ms, ask_ms;
	unsigned int waits;
	uint64_t fail_at, fail_count;
};

/**
 * struct box - lives in a userdata of the host state and is never moved
 * @L: the box's main thread; NULL once closed
 * @host: the host thread that called in, while busy. Its index 1 is the
 *	box's userdata.
 * @running: the thread of @L that runs the policy, while it does
 * @used, @peak, @cap: bytes; @collect_at: of @used, 0 at first
 * @growths: allocations so far that grew, counted only for tests
 * @left: instructions left of @granted
 * @hook_count: instructions between two hooks
 * @pcalls: how deep they are nested now
 * @expired: set by the watchdog's signal; BOX_INTERRUPTED by the user's
 * @serial: of the last run; @live of the one that goes on, or 0. Read-only
 *	objects of another run are over.
 * @may_wait: the host thread of this run can be suspended
 * @wait: the run was suspended before; NULL where it was not
 * @waits, @wait_count: the calls that are suspended, or were
 * @questions: borrowed; where srt.ask asks, or NULL
 * @relays: a function of the host asks instead (lua/box_relay.h), for @asker
 * @asked: number of the last question that it was told of
 * @asks: the host is asked in the place of the world (lua/box_host.h)
 * @clocked: time stands at @now, in seconds since 1970
 * @cover: owned; which lines were run, or NULL
 * @root: O_PATH descriptor of @root_path, or -1
 * @files, @file_count: sorted real paths of what the policy read; owned
 */
struct box {
	lua_State *L, *host, *running;
	struct box_limits limits;
	size_t used, peak, cap, collect_at;
	uint64_t growths;
	int64_t left, granted;
	int hook_count, pcalls;
	enum box_spent spent;
	bool loading; /* the run is a load, no call */
	volatile sig_atomic_t expired;
	uint64_t serial, live;
	bool may_wait;
	struct box_wait *wait;
	LIST_HEAD(box_wait_list, box_wait) waits;
	unsigned int wait_count;
	struct questions *questions;
	bool relays;
	lua_Integer asker, asked;
	bool asks, clocked;
	double now;
	struct box_cover *cover;
	int root;
	char *root_path, *cwd, *home;
	char **files;
	size_t file_count;
};

/* Keys of the box's registry, by address. */
extern const char box_key_functions, box_key_loaded, box_key_views, box_key_srt,
	box_key_thread, box_key_waits, box_key_names;

/* User values of the host's userdata. */
enum {
	BOX_UV_PRESET = 1,
	BOX_UV_LOG,
	BOX_UV_ASKER, /* keeps @questions alive, or is what @relays */
	BOX_UV_NAMES, /* of the fields of subjects */
	BOX_UV_ASK,   /* what @asks asks */
	BOX_UV_COUNT = BOX_UV_ASK,
};

/** box_of - the box that a thread of it belongs to */
static inline struct box *box_of(lua_State *B)
{
	return *(struct box **)lua_getextraspace(B);
}

/**
 * box_open - make the state; nothing of the policy's world is in it yet
 *
 * Return: 0 or -ENOMEM. @b->limits is to be set before.
 */
int box_open(struct box *b);

/** box_close - free all; may be called twice */
void box_close(struct box *b);

/**
 * box_enter - begin a run from the host thread @H
 * @load: with the limits of loading, not of a call
 */
void box_enter(struct box *b, lua_State *H, bool load);

/**
 * box_enter_again - go on with a run that was suspended: its subjects live
 * again, its instructions and processor time are granted anew
 */
void box_enter_again(struct box *b, lua_State *H, struct box_wait *wait);

/** box_leave - end the run: subjects are over, the watchdog sleeps */
void box_leave(struct box *b);

/** box_arm - put the budget's hook on the thread that is to run */
void box_arm(struct box *b, lua_State *thread);

/** box_hook - the count hook; lua_sethook() it to make the box look at once */
void box_hook(lua_State *B, lua_Debug *ar);

/**
 * box_charge - pay for work done in C, before it is done
 * @units: VM instructions
 *
 * Throws in the box when the budget is spent.
 */
void box_charge(lua_State *B, uint64_t units);

/** box_charge_bytes - pay for touching @bytes once */
void box_charge_bytes(lua_State *B, size_t bytes);

/** box_stop - throw for a budget that is spent already */
int box_stop(lua_State *B);

/**
 * box_callf - call inside the box; errors pass through to the run, which is
 * always protected, and a spent budget must pass
 */
void box_callf(lua_State *B, int nargs, int nresults);

/** box_fault_name - "budget" and so on; static storage */
const char *box_fault_name(enum box_fault fault);

/** box_add_file - note a real path; 0 or -ENOMEM */
int box_add_file(struct box *b, const char *path);

#endif
