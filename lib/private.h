/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the library share. Nothing of core/ is used here. */
#ifndef SRTLUA_PRIVATE_H
#define SRTLUA_PRIVATE_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/srtlua.h"

/** struct waiting - a request whose answer is waited for; on a stack */
struct waiting {
	LIST_ENTRY(waiting) link;
	uint64_t seq;
	json_t *answer; /* NULL: not yet */
};

/** struct asked - a question that waits for srtlua_dispatch() */
struct asked {
	STAILQ_ENTRY(asked) link;
	json_t *message; /* owned */
	double until;	 /* whoever asks waits so long, by CLOCK_MONOTONIC */
};

struct srtlua_session {
	int fd;
	pid_t pid;
	pid_t owner;  /* who has opened it; a child of fork(2) has no reader */
	char *socket; /* owned */
	srtlua_ask *ask;
	bool policy_asks;
	void *context;
	int event; /* is there one in @asked? -1: the reader calls @ask */
	pthread_t reader;
	bool reads; /* is there a reader to be joined? */
	pthread_mutex_t sending;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	LIST_HEAD(waiting_list, waiting) waiting;
	STAILQ_HEAD(asked_list, asked) asked;
	size_t asked_count;
	uint64_t seq;
	bool gone;
	char *line; /* owned, the reader's: what has come */
	size_t size, room;
};

/** fail() - fill @error, if there is one. Return: @code. */
int fail(struct srtlua_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** fail_answer() - an answer that no session gives */
int fail_answer(struct srtlua_error *error);

/** fail_system() - the same for an errno value */
int fail_system(struct srtlua_error *error, int number, const char *what);

/**
 * link_start() - begin to read; @session has its descriptor
 * link_stop() - end it; called once
 */
int link_start(struct srtlua_session *session, struct srtlua_error *error);
void link_stop(struct srtlua_session *session);

/** link_say() - one line; @message is taken over */
int link_say(struct srtlua_session *session, json_t *message,
	     struct srtlua_error *error);

/** link_line() - the next line, waited for; owned by the session, or NULL */
const char *link_line(struct srtlua_session *session);

/**
 * link_call() - a request and its answer
 * @message: taken over, also on failure, and NULL where there was no memory
 * @answer: of which "ok" is true; the caller's
 */
int link_call(struct srtlua_session *session, json_t *message, json_t **answer,
	      struct srtlua_error *error);

/** text_of() - a string in a message; "" where it has none */
const char *text_of(const json_t *message, const char *key);

/**
 * questions_take() - a question has come; in the reader
 * @message: taken over
 */
void questions_take(struct srtlua_session *session, json_t *message);

/** questions_drop() - free those that wait; when there is no reader any more */
void questions_drop(struct srtlua_session *session);

/**
 * link_usable() - may this thread use the session?
 * Return: NULL, or why not
 */
const char *link_usable(const struct srtlua_session *session);

/**
 * read_sized() - a struct of the caller's, whose first member is its size; of
 * another version of the library it may be shorter or longer
 */
void read_sized(void *to, size_t room, const void *from);

/** read_settings() - from JSON; the caller's, or NULL with @error and @code
 * filled */
json_t *read_settings(const char *text, int *code, struct srtlua_error *error);

/** are_strings() - is a list one of strings, at least @least? */
bool are_strings(const json_t *list, size_t least);

/** struct packed - memory for one struct and the strings it shows */
struct packed {
	char *at;
	size_t left;
};

/** pack_size() - what a string takes; pack() - its copy, NULL for no string */
size_t pack_size(const json_t *value);
char *pack(struct packed *packed, const json_t *value);

#endif
