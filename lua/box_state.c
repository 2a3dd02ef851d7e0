/* SPDX-License-Identifier: Apache-2.0 */
/* The box's Lua state, its capped allocator and its instruction budget. */
#include "lua/box_state.h"

#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lua/arena.h"
#include "lua/box_cover.h"
#include "lua/box_wait.h"
#include "lua/box_watch.h"

#define HOOK_EVERY 1000
#define BYTES_PER_UNIT 32  /* memory traffic worth one VM instruction */
#define REFUSAL_COST 10000 /* a refused allocation cost a full collection */

const char box_key_functions, box_key_loaded, box_key_views, box_key_srt,
	box_key_thread, box_key_waits, box_key_names;

static bool refuses(struct box *b, size_t grow)
{
	uint64_t n;

	if (b->used + grow > b->cap || b->used + grow < grow)
		return true;
	if (!b->limits.fail_at)
		return false;
	n = ++b->growths;
	return n >= b->limits.fail_at &&
	       n - b->limits.fail_at < b->limits.fail_count;
}

/*
 * @osize is a type tag where @p is NULL. Lua relies on shrinking never to
 * fail, so where that does it is answered with the old block.
 */
static void *allocate(void *ud, void *p, size_t osize, size_t nsize)
{
	struct box *b = ud;
	size_t old = p ? osize : 0;
	void *fresh;

	if (nsize == 0) {
		arena_alloc(NULL, p, osize, 0);
		b->used -= old;
		return NULL;
	}
	if (nsize > old && refuses(b, nsize - old)) {
		/* Saturates: a budget already negative stays so. */
		if (b->left > INT64_MIN + REFUSAL_COST)
			b->left -= REFUSAL_COST;
		return NULL;
	}
	fresh = arena_alloc(NULL, p, osize, nsize);
	if (!fresh) {
		if (nsize > old)
			return NULL;
		fresh = p;
	}
	b->used = b->used - old + nsize;
	if (b->used > b->peak)
		b->peak = b->used;
	return fresh;
}

/* Only a mistake of ours gets here: every entry is protected. */
static int on_panic(lua_State *B)
{
	static const char text[] = "srt-lua: unprotected error in the box\n";

	(void)B;
	(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
	_exit(125);
}

int box_open(struct box *b)
{
	b->cap = SIZE_MAX;
	b->left = b->granted = INT64_MAX;
	b->L = lua_newstate(allocate, b);
	if (!b->L)
		return -ENOMEM;
	lua_atpanic(b->L, on_panic);
	*(struct box **)lua_getextraspace(b->L) = b;
	return 0;
}

void box_close(struct box *b)
{
	box_wait_close(b);
	box_cover_free(b);
	if (b->L)
		lua_close(b->L);
	b->L = NULL;
	if (b->root >= 0)
		close(b->root);
	b->root = -1;
	for (size_t i = 0; i < b->file_count; i++)
		free(b->files[i]);
	free(b->files);
	free(b->root_path);
	free(b->cwd);
	free(b->home);
	b->files = NULL;
	b->file_count = 0;
	b->root_path = b->cwd = b->home = NULL;
}

/*
 * Lua collects when memory has doubled, or when an allocation of its own
 * fails; the buffers of its auxiliary library just fail. So what is garbage
 * when half of the room is taken goes before a run; then half of what is left.
 */
static void make_room(struct box *b)
{
	size_t room;

	if (b->used < (b->collect_at ? b->collect_at : b->cap / 2))
		return;
	lua_gc(b->L, LUA_GCCOLLECT);
	room = b->cap > b->used ? b->cap - b->used : 0;
	b->collect_at = b->used + room / 2 + 1;
}

/* What a run and each part of it between waits gets. */
static void grant(struct box *b, lua_State *H, bool load)
{
	const struct box_limits *limits = &b->limits;

	b->host = H;
	b->left = load ? limits->load_instructions : limits->call_instructions;
	b->granted = b->left;
	b->cap = load ? limits->load_memory : limits->memory;
	b->hook_count = b->left < HOOK_EVERY ? (int)b->left : HOOK_EVERY;
	if (b->hook_count < 1)
		b->hook_count = 1;
	b->spent = BOX_NOT_SPENT;
	b->loading = load;
	b->expired = 0;
	b->may_wait = !load && lua_isyieldable(H);
	b->running = b->L;
	lua_settop(b->L, 0);
	if (!load)
		make_room(b);
	box_watch_start(b, load ? limits->load_ms : limits->call_ms);
}

void box_enter(struct box *b, lua_State *H, bool load)
{
	b->pcalls = 0;
	b->live = ++b->serial;
	b->wait = NULL;
	grant(b, H, load);
}

void box_enter_again(struct box *b, lua_State *H, struct box_wait *wait)
{
	b->pcalls = wait->pcalls;
	b->live = wait->serial;
	b->wait = wait;
	grant(b, H, false);
}

void box_leave(struct box *b)
{
	box_watch_stop();
	/* The watchdog may have hooked the main thread while it was shown. */
	lua_sethook(b->L, NULL, 0, 0);
	b->host = NULL;
	b->running = NULL;
	b->live = 0;
	b->wait = NULL;
	b->cap = SIZE_MAX;
}

void box_arm(struct box *b, lua_State *thread)
{
	b->running = thread;
	lua_sethook(thread, box_hook,
		    LUA_MASKCOUNT | (b->cover ? LUA_MASKLINE : 0),
		    b->hook_count);
	/* It may have expired just before this thread was the running one. */
	if (b->expired)
		lua_sethook(thread, box_hook, LUA_MASKCOUNT, 1);
}

/* @level: of the code to blame, as luaL_where() counts. */
static int stop_at(lua_State *B, int level)
{
	struct box *b = box_of(B);

	/* Thrown again at every instruction, so no pcall can go on. */
	b->hook_count = 1;
	lua_sethook(B, box_hook, LUA_MASKCOUNT, 1);
	luaL_where(B, level);
	if (b->spent == BOX_SPENT_PATIENCE)
		lua_pushliteral(B, "interrupted");
	else if (b->spent == BOX_SPENT_TIME)
		lua_pushliteral(B, "processor time spent");
	else
		lua_pushfstring(B, "budget of %I instructions spent",
				(LUAI_UACINT)b->granted);
	lua_concat(B, 2);
	return lua_error(B);
}

static bool pay(struct box *b, uint64_t units)
{
	if (units > INT64_MAX / 2)
		units = INT64_MAX / 2;
	if (b->left > INT64_MIN / 2)
		b->left -= (int64_t)units;
	if (b->expired)
		b->spent = b->expired == BOX_INTERRUPTED ? BOX_SPENT_PATIENCE
							 : BOX_SPENT_TIME;
	else if (b->left < 0 && !b->spent)
		b->spent = BOX_SPENT_INSTRUCTIONS;
	return !b->spent;
}

int box_stop(lua_State *B)
{
	return stop_at(B, 1);
}

void box_hook(lua_State *B, lua_Debug *ar)
{
	struct box *b = box_of(B);

	if (ar->event == LUA_HOOKLINE)
		box_cover_line(B, ar);
	else if (!pay(b, (uint64_t)b->hook_count))
		stop_at(B, 0);
}

void box_charge(lua_State *B, uint64_t units)
{
	if (!pay(box_of(B), units))
		stop_at(B, 1);
}

void box_charge_bytes(lua_State *B, size_t bytes)
{
	box_charge(B, bytes / BYTES_PER_UNIT);
}

void box_callf(lua_State *B, int nargs, int nresults)
{
	lua_callk(B, nargs, nresults, 0, NULL);
}

const char *box_fault_name(enum box_fault fault)
{
	static const char *const name[] = {
		[BOX_RUNTIME] = "runtime", [BOX_SYNTAX] = "syntax",
		[BOX_BUDGET] = "budget",   [BOX_MEMORY] = "memory",
		[BOX_IO] = "io",	   [BOX_VALUE] = "value",
	};

	return name[fault];
}

/* Where @path is, or where it belongs. */
static size_t file_place(const struct box *b, const char *path)
{
	size_t low = 0, high = b->file_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(b->files[middle], path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int box_add_file(struct box *b, const char *path)
{
	size_t place = file_place(b, path);
	char *copy, **files;

	if (place < b->file_count && strcmp(b->files[place], path) == 0)
		return 0;
	files = realloc(b->files, (b->file_count + 1) * sizeof(*files));
	if (!files)
		return -ENOMEM;
	b->files = files;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	memmove(files + place + 1, files + place,
		(b->file_count - place) * sizeof(*files));
	files[place] = copy;
	b->file_count++;
	return 0;
}
