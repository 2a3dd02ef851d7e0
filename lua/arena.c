/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the Lua states. */
#include "lua/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define POPULATE_WRITE 23 /* MADV_POPULATE_WRITE; glibc has it from 2.35 */
/* Sizes of blocks: each multiple of GRAIN to FINE, then each power of two. */
#define GRAIN 16
#define FINE 512
#define MOST (FINE << DOUBLINGS) /* larger ones are malloc's */
#define DOUBLINGS 13
#define CLASSES (FINE / GRAIN + DOUBLINGS)
#define PIECE (32UL << 20) /* address space */
#define HUGE (2UL << 20)
/* What a usual run takes until its command begins; by how much it grows. */
#define AT_START (608UL << 10)
#define GROWTH (64UL << 10)

struct block {
	struct block *next;
};

static struct {
	struct block *freed[CLASSES];
	char *at;    /* the next block comes from here */
	char *ready; /* mapped so far */
	char *end;
} arena;

static int new_piece(void)
{
	char *piece = mmap(NULL, PIECE + HUGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (piece == MAP_FAILED)
		return -1;
	piece += -(uintptr_t)piece % HUGE;
	/* A huge page that a virtual machine's host has to find first costs
	 * milliseconds; small ones have been used before. */
	(void)madvise(piece, PIECE, MADV_NOHUGEPAGE);
	arena.at = arena.ready = piece;
	arena.end = piece + PIECE;
	return 0;
}

static void *take(size_t size)
{
	static size_t more = AT_START;
	void *block;

	/* What is left of a piece is too little to matter. */
	if ((size_t)(arena.end - arena.at) < size && new_piece())
		return NULL;
	while ((size_t)(arena.ready - arena.at) < size) {
		(void)madvise(arena.ready, more, POPULATE_WRITE);
		arena.ready += more;
		more = GROWTH;
	}
	block = arena.at;
	arena.at += size;
	return block;
}

/* The class of a size, and in @room what its blocks hold. */
static size_t class_of(size_t size, size_t *room)
{
	size_t class = FINE / GRAIN;

	*room = (size + GRAIN - 1) / GRAIN * GRAIN;
	if (size <= FINE)
		return *room / GRAIN - 1;
	for (*room = 2 * FINE; *room < size; *room *= 2)
		class ++;
	return class;
}

static void *get(size_t size)
{
	size_t room, class = class_of(size, &room);
	struct block *block = arena.freed[class];

	if (!block)
		return take(room);
	arena.freed[class] = block->next;
	return block;
}

static void put(void *memory, size_t size)
{
	struct block *block = memory;
	size_t room, class = class_of(size, &room);

	block->next = arena.freed[class];
	arena.freed[class] = block;
}

static void *move(void *block, size_t old_size, size_t new_size)
{
	void *moved = new_size > MOST ? malloc(new_size) : get(new_size);

	if (!moved)
		return NULL;
	memcpy(moved, block, old_size < new_size ? old_size : new_size);
	if (old_size > MOST)
		free(block);
	else
		put(block, old_size);
	return moved;
}

void *arena_alloc(void *unused, void *block, size_t old_size, size_t new_size)
{
	size_t room;

	(void)unused;
#ifdef __SANITIZE_ADDRESS__
	/* It can't see into pieces. */
	if (!new_size) {
		free(block);
		return NULL;
	}
	return realloc(block, new_size);
#endif
	if (!block) /* @old_size is a type then */
		return !new_size	 ? NULL
		       : new_size > MOST ? malloc(new_size)
					 : get(new_size);
	if (!new_size) {
		if (old_size > MOST)
			free(block);
		else
			put(block, old_size);
		return NULL;
	}
	if (old_size > MOST && new_size > MOST)
		return realloc(block, new_size);
	if (old_size <= MOST && new_size <= MOST &&
	    class_of(old_size, &room) == class_of(new_size, &room))
		return block;
	return move(block, old_size, new_size);
}

void arena_leave(void)
{
	if (arena.end)
		(void)munmap(arena.end - PIECE, PIECE);
	arena.at = arena.ready = arena.end = NULL;
}
