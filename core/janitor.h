/* SPDX-License-Identifier: Apache-2.0 */
/* Removes what a run has made on the host, at any end. */
#ifndef SRT_JANITOR_H
#define SRT_JANITOR_H

#include "core/command.h"
#include "core/plan.h"
#include "core/processors.h"

#define INHERITED_COUNT 3
#define SHARED_MOUNTS (16 << 10)

/**
 * struct shared - memory that the host process, the janitor and PID 1 share
 *
 * Mapped before they part, so that pointers into it hold in all three. The host
 * writes the plan while PID 1 builds the sandbox; MESSAGE_GO says that
 * it is complete, and nobody writes afterwards.
 * @plan: of it, @bare is complete before the fork; @id as well, where there are
 *	no namespaces of ours
 * @identified: the plan's @id is there; else the janitor's to write, first of
 *	all
 * @inherited: by what path each standard descriptor is opened anew inside, or
 *	NULL (core/inherited.h)
 * @init: PID 1 as the host sees it; the janitor's to write, before MESSAGE_MAPS
 * @redirected: the plan's @redirect is complete, but for what the agent is told
 *	of, and PID 1 knows (MESSAGE_REDIRECT)
 * @network: likewise @redirect and @listen (MESSAGE_NETWORK)
 * @built: the plan is complete but for @argv, @env and @state, and PID 1 knows
 *	(MESSAGE_BUILD)
 * @temp: the plan's temporary directory may be there, and is to be removed; the
 *	host's to write
 * @processors: janitor's and PID 1's; complete before the fork
 * @mounts, @mounts_size: what /proc/self/mountinfo says, which the janitor
 *	reads meanwhile; bytes, 0 where it has not, or there is no room
 * @size, @used, @ready: bytes, this header included; those before @ready are
 *	there, or come as they are touched
 */
struct shared {
	struct plan plan;
	struct caller caller;
	const char *inherited[INHERITED_COUNT];
	_Atomic(bool) identified;
	pid_t init;
	bool redirected;
	bool network;
	bool built;
	_Atomic(bool) temp;
	struct processors processors;
	_Atomic(size_t) mounts_size;
	char mounts[SHARED_MOUNTS];
	size_t size;
	size_t used;
	size_t ready;
};

/**
 * shared_new() - map the memory
 *
 * @apart: where another program can map it at the same address; else beside
 *	what is mapped already, which takes fewer page tables in three processes
 * Return: owned by the caller, until the process ends; NULL without memory.
 */
struct shared *shared_new(bool apart);

/** shared_free() - where it is not to stay; NULL does nothing */
void shared_free(struct shared *shared);

/** shared_alloc() - zeroed room, or NULL when it is full */
void *shared_alloc(struct shared *shared, size_t size);

/**
 * struct janitor_sockets - what a janitor and PID 1 are given; -1 for none
 * @host: to the host process
 * @control: PID 1's, to the host process
 * @child: to PID 1, in the end only where that is in namespaces of ours
 * @setup: PID 1's, to the janitor
 */
struct janitor_sockets {
	int host;
	int control;
	int child;
	int setup;
};

/* Initializer. */
#define JANITOR_SOCKETS_NONE   \
	{                      \
		-1, -1, -1, -1 \
	}

/**
 * janitor_main() - be the janitor: in a process made by the host process
 *
 * It starts PID 1 or bubblewrap. On MESSAGE_GO it makes placeholders and masks.
 * Then it waits: for PID 1 to end or to be alone, or for the host process to
 * close its socket, by whatever death. Everything inside is dead first, but for
 * a PID 1 that is alone, and everything on the host removed after that. Where
 * the host process is dead the janitor does its part, too.
 * Failures are told to the host by MESSAGE_FAILED.
 * Context: all signals blocked; same session and process group as the caller,
 * which PID 1 inherits before the janitor leaves for a session of its own.
 */
_Noreturn void janitor_main(struct shared *shared,
			    const struct janitor_sockets *sockets);

#endif
