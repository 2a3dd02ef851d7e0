/* SPDX-License-Identifier: Apache-2.0 */
/* The parent of PID 1: makes what a run needs, and removes it at any end. */
#ifndef SRT_JANITOR_H
#define SRT_JANITOR_H

#include "core/command.h"
#include "core/plan.h"

#define INHERITED_COUNT 3

/**
 * struct shared - memory that the host process, the janitor and PID 1 share
 *
 * Mapped before they part, so that pointers into it hold in all three. The host
 * writes the plan while the others build the namespaces; MESSAGE_GO says that
 * it is complete, and nobody writes afterwards.
 * @plan: of it, @id and @bare are complete before the fork
 * @inherited: by what path each standard descriptor is opened anew inside, or
 *	NULL (core/inherited.h)
 * @init: PID 1 as the host sees it; the janitor's to write, before MESSAGE_GO
 * @size, @used, @ready: bytes, this header included; those before @ready are
 *	there, or come as they are touched
 */
struct shared {
	struct plan plan;
	struct caller caller;
	const char *inherited[INHERITED_COUNT];
	pid_t init;
	size_t size;
	size_t used;
	size_t ready;
};

/**
 * shared_new() - map the memory
 * Return: owned by the caller, until the process ends; NULL without memory.
 */
struct shared *shared_new(void);

/** shared_free() - where it is not to stay; NULL does nothing */
void shared_free(struct shared *shared);

/** shared_alloc() - zeroed room, or NULL when it is full */
void *shared_alloc(struct shared *shared, size_t size);

/**
 * janitor_main() - be the janitor: called in a fork of the host process
 *
 * Clones PID 1, writes the maps, and on MESSAGE_GO makes temporary directory,
 * placeholders and masks. Then it waits: for PID 1 to end,
 * or for the host process to close @host, by whatever death. Either way PID 1
 * is killed and reaped first and everything on the host removed after that.
 * Failures are told to the host by MESSAGE_FAILED.
 * Context: all signals blocked; same session and process group as the caller,
 * which PID 1 inherits before the janitor leaves for a session of its own.
 * @host: socket to the host process
 * @control: PID 1's end of its own socket to the host process
 */
_Noreturn void janitor_main(struct shared *shared, int host, int control);

#endif
