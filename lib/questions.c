/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the session asks: the caller's callback is called for it, by the reader
 * or, where the caller wants to choose the thread, by srtlua_dispatch().
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "lib/private.h"

enum {
	REASON_MAX = 1000,
	CHOICES_MAX = 256,
	ASKED_MAX = 1000, /* that wait for srtlua_dispatch() */
};

const char *text_of(const json_t *message, const char *key)
{
	const char *text = json_string_value(json_object_get(message, key));

	return text ? text : "";
}

/* The words with a blank between. */
static void join(const json_t *words, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (size_t i = 0; i < json_array_size(words) && used < size; i++) {
		const char *word = json_string_value(json_array_get(words, i));

		used += (size_t)snprintf(out + used, size - used, "%s%s",
					 i ? " " : "", word ? word : "");
	}
}

static void answer(struct srtlua_session *session, const json_t *message,
		   bool allow, const char *choice, const char *reason)
{
	/* A reason that is no UTF-8 is left out: there has to be an answer. */
	(void)link_say(
		session,
		json_pack("{s:s,s:I,s:b,s:s*,s:o*}", "op", "answer", "n",
			  json_integer_value(json_object_get(message, "n")),
			  "allow", allow, "choice", choice, "reason",
			  *reason ? json_string(reason) : NULL),
		NULL);
}

static void ask(struct srtlua_session *session, const json_t *message)
{
	const json_t *words = json_object_get(message, "choices");
	char reason[REASON_MAX] = "", choices[CHOICES_MAX];
	struct srtlua_question question = {
		.host = text_of(message, "host"),
		.port = (unsigned int)json_integer_value(
			json_object_get(message, "port")),
		.protocol = text_of(message, "protocol"),
		.id = text_of(message, "commandId"),
		.command = text_of(message, "command"),
		.text = text_of(message, "text"),
		.choices = choices,
	};
	const char *choice;
	int said;

	join(words, choices, sizeof(choices));
	said = session->ask ? session->ask(session->context, &question, reason,
					   sizeof(reason))
			    : 0;
	choice = said > 0 ? json_string_value(
				    json_array_get(words, (size_t)said - 1))
			  : NULL;
	reason[sizeof(reason) - 1] = '\0';
	answer(session, message, said == 1 || choice, choice, reason);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Return: false where too many wait, or there is no memory. */
static bool keep(struct srtlua_session *session, json_t *message)
{
	struct asked *one = malloc(sizeof(*one));
	bool fits;

	if (!one)
		return false;
	one->message = message;
	one->until =
		now() + json_number_value(json_object_get(message, "seconds"));
	pthread_mutex_lock(&session->lock);
	fits = session->asked_count < ASKED_MAX;
	if (fits) {
		STAILQ_INSERT_TAIL(&session->asked, one, link);
		/* It is read when there is none any more. */
		if (session->asked_count++ == 0)
			(void)eventfd_write(session->event, 1);
	}
	pthread_mutex_unlock(&session->lock);
	if (!fits)
		free(one);
	return fits;
}

void questions_take(struct srtlua_session *session, json_t *message)
{
	if (session->event < 0)
		ask(session, message);
	else if (keep(session, message))
		return;
	else
		answer(session, message, false, NULL,
		       "too many questions wait for an answer");
	json_decref(message);
}

/* The next that somebody waits for, or NULL. */
static json_t *next(struct srtlua_session *session)
{
	json_t *message = NULL;
	eventfd_t ignored;

	pthread_mutex_lock(&session->lock);
	while (!message && session->asked_count) {
		struct asked *one = STAILQ_FIRST(&session->asked);

		STAILQ_REMOVE_HEAD(&session->asked, link);
		if (--session->asked_count == 0)
			(void)eventfd_read(session->event, &ignored);
		if (now() < one->until)
			message = one->message;
		else
			json_decref(one->message);
		free(one);
	}
	pthread_mutex_unlock(&session->lock);
	return message;
}

void questions_drop(struct srtlua_session *session)
{
	struct asked *one;

	while ((one = STAILQ_FIRST(&session->asked))) {
		STAILQ_REMOVE_HEAD(&session->asked, link);
		json_decref(one->message);
		free(one);
	}
}

int srtlua_descriptor(const struct srtlua_session *session)
{
	return session->event;
}

int srtlua_dispatch(struct srtlua_session *session, size_t *asked,
		    struct srtlua_error *error)
{
	const char *why = link_usable(session);
	size_t count = 0;
	json_t *message;

	if (!why && session->event < 0)
		why = "the session has no ask callback that is dispatched";
	if (why)
		return fail(error, SRTLUA_USAGE, "%s", why);
	for (; (message = next(session)); count++) {
		ask(session, message);
		json_decref(message);
	}
	if (asked)
		*asked = count;
	return SRTLUA_OK;
}
