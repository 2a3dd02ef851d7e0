/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of JSON to and from the session's process, and who waits for them. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/private.h"

enum {
	PIECE = 65536,
	LINE_MAX_BYTES = 64 << 20,
	SAID_MAX = 16 << 20, /* the session reads no longer lines */
};

int fail(struct srtlua_error *error, int code, const char *format, ...)
{
	va_list list;

	if (!error)
		return code;
	error->code = code;
	va_start(list, format);
	vsnprintf(error->text, sizeof(error->text), format, list);
	va_end(list);
	return code;
}

int fail_answer(struct srtlua_error *error)
{
	return fail(error, SRTLUA_GONE, "the session answered something else");
}

int fail_system(struct srtlua_error *error, int number, const char *what)
{
	char text[128];

	/* The GNU one: strerror() is not for threads. */
	return fail(error, SRTLUA_SYSTEM, "%s: %s", what,
		    strerror_r(number, text, sizeof(text)));
}

static int send_all(int fd, const char *text, size_t size)
{
	while (size) {
		ssize_t sent = send(fd, text, size, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return -errno;
		text += sent;
		size -= (size_t)sent;
	}
	return 0;
}

/*
 * A line, with its end. Not by json_dumps(): where it has no memory for a key
 * of an object it leaves it out and goes on (jansson 2.14).
 */
static char *line_of(const json_t *message, size_t *size)
{
	char *text;

	*size = json_dumpb(message, NULL, 0, JSON_COMPACT);
	text = *size ? malloc(*size + 1) : NULL;
	if (!text)
		return NULL;
	if (json_dumpb(message, text, *size, JSON_COMPACT) != *size) {
		free(text);
		return NULL;
	}
	text[(*size)++] = '\n';
	return text;
}

int link_say(struct srtlua_session *session, json_t *message,
	     struct srtlua_error *error)
{
	size_t size;
	char *text = message ? line_of(message, &size) : NULL;
	int sent;

	json_decref(message);
	if (!text)
		return fail(error, SRTLUA_SYSTEM, "out of memory");
	if (size > SAID_MAX + 1) {
		free(text);
		return fail(error, SRTLUA_REFUSED,
			    "it is too long: a session reads lines of %d bytes",
			    SAID_MAX);
	}
	pthread_mutex_lock(&session->sending);
	sent = send_all(session->fd, text, size);
	pthread_mutex_unlock(&session->sending);
	free(text);
	return sent ? fail(error, SRTLUA_GONE, "the session has ended")
		    : SRTLUA_OK;
}

/* More of the line. Return: false at the end. */
static bool read_more(struct srtlua_session *session)
{
	ssize_t size;

	if (session->room - session->size < PIECE) {
		size_t room = session->room * 2 + 2 * PIECE;
		char *line = room <= LINE_MAX_BYTES
				     ? realloc(session->line, room)
				     : NULL;

		if (!line)
			return false;
		session->line = line;
		session->room = room;
	}
	do {
		size = read(session->fd, session->line + session->size, PIECE);
	} while (size < 0 && errno == EINTR);
	if (size <= 0)
		return false;
	session->size += (size_t)size;
	return true;
}

const char *link_line(struct srtlua_session *session)
{
	/* The one before it ends here, and what came behind it is next. */
	size_t past = session->line && session->size
			      ? strnlen(session->line, session->size)
			      : 0;
	size_t seen = 0;
	char *end = NULL;

	if (past < session->size) {
		session->size -= past + 1;
		memmove(session->line, session->line + past + 1, session->size);
	}
	while (!end) {
		if (session->size > seen)
			end = memchr(session->line + seen, '\n',
				     session->size - seen);
		seen = session->size;
		if (!end && !read_more(session))
			return NULL;
	}
	/* Not of a session: nothing can be told apart behind it. */
	if (memchr(session->line, '\0', (size_t)(end - session->line)))
		return NULL;
	*end = '\0';
	return session->line;
}

/* @message is taken over: it is the waiting thread's alone, or nobody's. */
static void take(struct srtlua_session *session, json_t *message)
{
	uint64_t seq =
		(uint64_t)json_integer_value(json_object_get(message, "seq"));
	struct waiting *one;

	if (!strcmp(text_of(message, "event"), "ask")) {
		questions_take(session, message);
		return;
	}
	pthread_mutex_lock(&session->lock);
	LIST_FOREACH(one, &session->waiting, link)
	if (one->seq == seq && !one->answer) {
		one->answer = message;
		message = NULL;
		break;
	}
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	json_decref(message);
}

static void *read_lines(void *context)
{
	struct srtlua_session *session = context;
	const char *line;

	while ((line = link_line(session))) {
		json_t *message = json_loads(line, 0, NULL);

		/* It might be what somebody waits for. */
		if (!json_is_object(message)) {
			json_decref(message);
			break;
		}
		take(session, message);
	}
	pthread_mutex_lock(&session->lock);
	session->gone = true;
	pthread_cond_broadcast(&session->changed);
	pthread_mutex_unlock(&session->lock);
	return NULL;
}

const char *link_usable(const struct srtlua_session *session)
{
	if (session->owner != getpid())
		return "a child of fork(2) can't use the session";
	if (session->reads && pthread_equal(pthread_self(), session->reader))
		return "the ask callback may not call the session";
	return NULL;
}

int link_start(struct srtlua_session *session, struct srtlua_error *error)
{
	sigset_t all, before;
	int number;

	/* The caller's signals are for its own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	number = pthread_create(&session->reader, NULL, read_lines, session);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (number)
		return fail_system(error, number, "no thread for the session");
	session->reads = true;
	return SRTLUA_OK;
}

void link_stop(struct srtlua_session *session)
{
	shutdown(session->fd, SHUT_RDWR);
	if (session->reads)
		pthread_join(session->reader, NULL);
	close(session->fd);
	free(session->line);
}

/* Waits for the answer to @one, which is in the list. */
static void wait_for(struct srtlua_session *session, struct waiting *one)
{
	pthread_mutex_lock(&session->lock);
	while (!one->answer && !session->gone)
		pthread_cond_wait(&session->changed, &session->lock);
	LIST_REMOVE(one, link);
	pthread_mutex_unlock(&session->lock);
}

int link_call(struct srtlua_session *session, json_t *message, json_t **answer,
	      struct srtlua_error *error)
{
	const char *why = link_usable(session);
	struct waiting one = { 0 };
	int code;

	if (!message)
		return fail(error, SRTLUA_SYSTEM,
			    "out of memory, or a text that is not UTF-8");
	if (why) {
		json_decref(message);
		return fail(error, SRTLUA_USAGE, "%s", why);
	}
	pthread_mutex_lock(&session->lock);
	one.seq = ++session->seq;
	LIST_INSERT_HEAD(&session->waiting, &one, link);
	pthread_mutex_unlock(&session->lock);
	if (json_object_set_new(message, "seq",
				json_integer((json_int_t)one.seq)))
		code = fail(error, SRTLUA_SYSTEM, "out of memory");
	else
		code = link_say(session, json_incref(message), error);
	json_decref(message);
	if (code) {
		pthread_mutex_lock(&session->lock);
		LIST_REMOVE(&one, link);
		pthread_mutex_unlock(&session->lock);
		json_decref(one.answer);
		return code;
	}
	wait_for(session, &one);
	if (!one.answer)
		return fail(error, SRTLUA_GONE, "the session has ended");
	if (!json_is_true(json_object_get(one.answer, "ok"))) {
		const char *reason = text_of(one.answer, "error");

		code = fail(error, SRTLUA_REFUSED, "%s",
			    *reason ? reason : "the session refuses it");
		json_decref(one.answer);
		return code;
	}
	*answer = one.answer;
	return SRTLUA_OK;
}

void read_sized(void *to, size_t room, const void *from)
{
	size_t size;

	memcpy(&size, from, sizeof(size));
	memcpy(to, from, size < room ? size : room);
}

json_t *read_settings(const char *text, int *code, struct srtlua_error *error)
{
	json_error_t wrong;
	json_t *settings = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);

	if (settings)
		return settings;
	/* Mostly it says nothing where it has no memory. */
	*code = *wrong.text == '\0' || json_error_code(&wrong) ==
					       json_error_out_of_memory
			? fail(error, SRTLUA_SYSTEM, "out of memory")
			: fail(error, SRTLUA_REFUSED,
			       "the settings are not valid JSON: line %d: %s",
			       wrong.line, wrong.text);
	return NULL;
}

bool are_strings(const json_t *list, size_t least)
{
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count; i++)
		if (!json_is_string(json_array_get(list, i)))
			return false;
	return json_is_array(list) && count >= least;
}

size_t pack_size(const json_t *value)
{
	return json_is_string(value) ? json_string_length(value) + 1 : 0;
}

char *pack(struct packed *packed, const json_t *value)
{
	size_t size = pack_size(value);
	char *copy = packed->at;

	if (!size || size > packed->left)
		return NULL;
	memcpy(copy, json_string_value(value), size);
	packed->at += size;
	packed->left -= size;
	return copy;
}
