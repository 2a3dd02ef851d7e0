/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a chunk or a callback in the box, under its limits. */
#ifndef SRT_LUA_BOX_RUN_H
#define SRT_LUA_BOX_RUN_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "lua/box_copy.h"
#include "lua/box_require.h"
#include "lua/box_state.h"
#include "lua/box_subject.h"

#define BOX_MAX_ARGS 4

/**
 * struct box_task - one run
 * @source, @size, @chunk_name: text to load; or
 * @preset: the name of a ready-made policy to load; or
 * @wait: a call that was suspended, to go on with; or
 * @ref: the function to call, with
 * @first_arg, @arg_count, @shape: these indexes of the host's stack
 * @preset_chunk: what a message calls @preset
 * @results: how many values the host takes
 * @done: true where the results are at 1 to @results of the box's stack and
 *	the list for box_copy_out() is at @results + 1
 * @waits: it was suspended (again); @wait is what it waits for
 * @fault: else, why; then the message is at 1, the traceback (or nil) at 2,
 *	the file (or nil) at 3, and @line is 0 where it is not known
 * @bad: the policy's value was what failed
 */
struct box_task {
	struct box *box;
	const char *source, *chunk_name, *preset;
	size_t size;
	struct box_wait *wait;
	int ref;
	int first_arg, arg_count;
	enum box_shape shape[BOX_MAX_ARGS];
	char preset_chunk[BOX_CHUNK_NAME];
	int results;
	bool done, bad, waits;
	enum box_fault fault;
	int line;
};

/**
 * box_run - run @task between box_enter() and box_leave()
 *
 * Throws in neither state. The host's stack may have grown.
 */
void box_run(struct box_task *task);

#endif
