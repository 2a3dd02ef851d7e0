/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the Lua states. */
#ifndef SRT_LUA_ARENA_H
#define SRT_LUA_ARENA_H

#include <stddef.h>

/**
 * arena_alloc() - a lua_Alloc for the host state and the boxes
 *
 * Blocks of up to 4 MiB come from large pieces that the kernel maps in one go,
 * as huge pages where it has them; malloc(3) grows by page faults, 12 to 25 us
 * each where memory is virtualised, and takes longer a block. What is freed is
 * kept for blocks of its size. Without MADV_POPULATE_WRITE (Linux 5.14) pages
 * fault as usual. For one thread.
 * @unused: ignored; the arena is the process's
 */
void *arena_alloc(void *unused, void *block, size_t old_size, size_t new_size);

/** arena_leave() - give it up; what is in it is not to be touched any more */
void arena_leave(void);

#endif
