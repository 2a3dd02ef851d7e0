/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of this PID namespace, and how much each has run. */
#ifndef SRT_THREADS_H
#define SRT_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/**
 * struct thread - @state: letter of proc_pid_status(5); @run_ns: time it had
 *	of a processor, 0 where the kernel does not count; @switches: how often
 *	it left one
 */
struct thread {
	pid_t pid, tid;
	char state;
	unsigned long long run_ns, switches;
};

/** struct threads - @items: owned; all zero is an empty one */
struct threads {
	struct thread *items;
	size_t count, room;
};

/**
 * threads_list() - all that live, but for PID 1's
 * Return: false where one of them can't be told about, or memory lacks; what
 *	was found so far is in @out.
 */
bool threads_list(struct threads *out);

/** threads_only() - are all in states of these letters? */
bool threads_only(const struct threads *threads, const char *states);

/** threads_same() - the same threads, and none has run since? */
bool threads_same(const struct threads *before, const struct threads *now);

/** threads_free() */
void threads_free(struct threads *threads);

#endif
