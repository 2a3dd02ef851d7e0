/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds which entries of which lists: written before a list is changed, so
 * that what a killed run left behind is found and taken back. Pure.
 */
#ifndef SRT_WINDOWS_JOURNAL_H
#define SRT_WINDOWS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/windows/plan.h"

/** struct holder - a process; its number alone is given away again */
struct holder {
	uint32_t pid; /* 0: none, what could not be taken back */
	uint64_t started;
};

/** struct hold - an entry of a path's list, held by one process */
struct hold {
	struct holder holder;
	struct rule rule;
	bool made;  /* the path is an empty folder that we made, or will */
	char *path; /* owned */
};

struct held;

/**
 * struct journal - all of them
 *
 * What many processes hold, and many paths, is found by a table in order: a
 * journal of some ten thousand holds is nothing special.
 * @holds: owned; behind the @count that are there are those that were taken
 * @held: owned; what the first @sorted of them hold, each once, in order
 * @looked: so many of them journal_take() has let be
 */
struct journal {
	struct hold *holds;
	size_t count, total, room;
	struct held *held;
	size_t held_count, sorted;
	size_t looked;
};

/** typedef gone_fn - does a process live no more? */
typedef bool gone_fn(const struct holder *holder, void *data);

/**
 * journal_parse() - read a journal; an empty text is an empty journal
 * Return: 0; -EINVAL; -ENOMEM. Nothing is owned after a failure.
 */
int journal_parse(struct journal *out, const char *text, size_t size);

/**
 * journal_print() - the text of a journal
 * Return: owned by the caller; NULL without memory
 */
char *journal_print(const struct journal *journal);

/**
 * journal_hold() - one more hold
 * @hold: its path is copied
 * Return: 0 or -ENOMEM
 */
int journal_hold(struct journal *journal, const struct hold *hold);

/**
 * journal_conflict() - a path that others were granted and @us was not, or the
 * other way round. All runs have one account, so each would have what was
 * granted to the other.
 * Return: borrowed; NULL where there is none
 */
const char *journal_conflict(struct journal *journal, const struct holder *us);

/** journal_made() - does a hold say that the folder @path is one of ours? */
bool journal_made(struct journal *journal, const char *path);

/**
 * journal_take() - take one hold of a process that is gone out of a journal
 *
 * To be called until there is none left, with one and the same @gone.
 * @out: its path stays the journal's
 * @last: does no other process hold the same?
 * Return: false when there is none left
 */
bool journal_take(struct journal *journal, gone_fn *gone, void *data,
		  struct hold *out, bool *last);

/** journal_free() - free what a journal owns */
void journal_free(struct journal *journal);

#endif
