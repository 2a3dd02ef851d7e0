/* SPDX-License-Identifier: Apache-2.0 */
/* Stops the sandbox, asks on the terminal, and lets it go on. */
#include "core/questions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/sandbox.h"
#include "core/visible.h"

/* Typing an answer takes longer than LOOK_MS. */
enum { FREEZE_MS = 2000, LOOK_MS = 20 };

struct question {
	TAILQ_ENTRY(question) link;
	struct questions *questions;
	void (*done)(void *owner, enum question_answer answer,
		     unsigned int choice);
	void *owner;
	struct question_terms terms;
	bool marked;
	size_t size;
	char text[];
};

static void show_next(struct questions *q);

void questions_init(struct questions *q)
{
	*q = (struct questions){ .state = QUESTIONS_CLOSED };
	TAILQ_INIT(&q->list);
}

static void on_closed(uv_handle_t *handle)
{
	struct questions *q = handle->data;

	q->handles--;
}

int questions_open(struct questions *q, uv_loop_t *loop,
		   struct sandbox *sandbox, struct terminal *terminal)
{
	int error;

	if (terminal->fd < 0)
		return 0;
	error = uv_poll_init(loop, &q->input, terminal->fd);
	if (error)
		return error;
	uv_timer_init(loop, &q->timer);
	uv_timer_init(loop, &q->looks);
	q->input.data = q->timer.data = q->looks.data = q;
	/* None may keep the loop alive. */
	uv_unref((uv_handle_t *)&q->input);
	uv_unref((uv_handle_t *)&q->timer);
	uv_unref((uv_handle_t *)&q->looks);
	q->handles = 3;
	q->loop = loop;
	q->sandbox = sandbox;
	q->terminal = terminal;
	q->state = QUESTIONS_IDLE;
	return 0;
}

static void answer(struct question *question, enum question_answer how,
		   unsigned int choice)
{
	TAILQ_REMOVE(&question->questions->list, question, link);
	question->done(question->owner, how, choice);
	free(question);
}

static void answer_all(struct questions *q, enum question_answer how)
{
	struct question *question;

	while ((question = TAILQ_FIRST(&q->list)))
		answer(question, how, 0);
}

/* The terminal and the sandbox go on as they were. */
static void go_on(struct questions *q)
{
	uv_timer_stop(&q->timer);
	uv_timer_stop(&q->looks);
	uv_poll_stop(&q->input);
	if (q->state >= QUESTIONS_SHOWN)
		terminal_return(q->terminal);
	if (q->state > QUESTIONS_IDLE)
		sandbox_order(q->sandbox, MESSAGE_THAW);
	q->state = QUESTIONS_IDLE;
	q->shown = NULL;
}

void questions_close(struct questions *q)
{
	if (q->state == QUESTIONS_CLOSED)
		return;
	go_on(q);
	q->state = QUESTIONS_CLOSED;
	answer_all(q, QUESTION_NOBODY);
	uv_close((uv_handle_t *)&q->timer, on_closed);
	uv_close((uv_handle_t *)&q->looks, on_closed);
	uv_close((uv_handle_t *)&q->input, on_closed);
}

static struct question *marked(const struct questions *q)
{
	struct question *question;

	TAILQ_FOREACH(question, &q->list, link)
	if (question->marked)
		return question;
	return NULL;
}

/*
 * Every question of that text, of those that are there now: what @done of one
 * asks anew is a new question, and it may cancel others.
 */
static void answer_alike(struct questions *q, enum question_answer how,
			 unsigned int choice)
{
	const struct question *shown = q->shown;
	struct question *question;

	TAILQ_FOREACH(question, &q->list, link)
	question->marked =
		question->size == shown->size &&
		question->terms.yes == shown->terms.yes &&
		strcmp(question->terms.choices, shown->terms.choices) == 0 &&
		memcmp(question->text, shown->text, shown->size) == 0;
	q->shown = NULL;
	while ((question = marked(q)))
		answer(question, how, choice);
}

static void order_freeze(struct questions *q)
{
	sandbox_freeze(q->sandbox, ++q->order);
}

/* Somebody else is at work: then nobody can be asked safely. */
static void give_up(struct questions *q, enum question_answer how)
{
	static const char *const whys[] = {
		[QUESTION_RESTLESS] =
			"the command does not let itself be stopped, so "
			"nothing is asked; that is a no",
		[QUESTION_RAN] = "the command ran while it was to stand still, "
				 "so the answer counts as no",
		[QUESTION_TAKEN] = "another process set the terminal while the "
				   "question was there, so the answer counts "
				   "as no",
		[QUESTION_TAKEN + 1] = NULL,
	};

	if (q->state >= QUESTIONS_SHOWN)
		terminal_say(q->terminal, " (denied)\n");
	go_on(q);
	if (whys[how])
		dprintf(STDERR_FILENO, "srt-lua: %s\n", whys[how]);
	answer_all(q, how);
}

/* Who sets the terminal, has a key edited and sets it back is seen as well. */
static void on_look(uv_timer_t *looks)
{
	struct questions *q = looks->data;

	if (!terminal_held(q->terminal))
		give_up(q, QUESTION_TAKEN);
}

static void on_late(uv_timer_t *timer);

/* Before an answer counts, PID 1 is asked whether the sandbox stood still. */
static void settle(struct questions *q, enum question_answer how,
		   unsigned int choice, const char *word)
{
	if (!terminal_held(q->terminal)) {
		give_up(q, QUESTION_TAKEN);
		return;
	}
	uv_poll_stop(&q->input);
	q->answer = how;
	q->choice = choice;
	q->word = word;
	q->state = QUESTIONS_CHECKING;
	order_freeze(q);
	uv_timer_start(&q->timer, on_late, FREEZE_MS, 0);
}

/* The terminal is given back only when nothing is left to ask. */
static void conclude(struct questions *q)
{
	uv_timer_stop(&q->timer);
	q->state = QUESTIONS_SHOWN;
	terminal_say(q->terminal, q->word);
	terminal_say(q->terminal, "\n");
	answer_alike(q, q->answer, q->choice);
	show_next(q);
}

static void on_late(uv_timer_t *timer)
{
	struct questions *q = timer->data;

	if (q->state == QUESTIONS_SHOWN)
		settle(q, QUESTION_LATE, 0, " (no answer)");
	else if (q->state == QUESTIONS_CHECKING)
		give_up(q, QUESTION_RAN);
	else
		give_up(q, q->restless ? QUESTION_RESTLESS : QUESTION_NOBODY);
}

/* The number of the choice that was typed, or -1. */
static int chosen(const struct questions *q)
{
	const char *word = q->shown->terms.choices;

	for (int number = 0; *word; number++) {
		size_t size = strcspn(word, " ");

		if ((q->typed_size == 1 || q->typed_size == size) &&
		    strncasecmp(q->typed, word, q->typed_size) == 0)
			return number;
		word += size + (word[size] == ' ');
	}
	return -1;
}

static void settle_line(struct questions *q)
{
	bool yes = q->shown->terms.yes;
	int choice = 0;

	if (q->shown->terms.choices[0]) {
		choice = q->typed_size ? chosen(q) : -1;
		yes = choice >= 0;
	} else if (q->typed_size) {
		yes = strcasecmp(q->typed, "y") == 0 ||
		      strcasecmp(q->typed, "yes") == 0;
	}
	settle(q, yes ? QUESTION_YES : QUESTION_NO,
	       yes ? (unsigned int)choice : 0,
	       yes ? " (allowed)" : " (denied)");
}

/* Return: whether the question is settled. */
static bool take_key(struct questions *q, unsigned char key)
{
	char echo[2] = { (char)key, '\0' };

	if (key == '\r' || key == '\n') {
		settle_line(q);
		return true;
	}
	if ((key == 0x7f || key == '\b') && q->typed_size) {
		q->typed[--q->typed_size] = '\0';
		terminal_say(q->terminal, "\b \b");
	} else if (key > ' ' && key < 0x7f &&
		   q->typed_size + 1 < sizeof(q->typed)) {
		q->typed[q->typed_size++] = (char)key;
		q->typed[q->typed_size] = '\0';
		terminal_say(q->terminal, echo);
	} else if (key < ' ') {
		/* Ctrl-C, Ctrl-D, Ctrl-Z, Ctrl-\, Escape and their like. */
		settle(q, QUESTION_NO, 0, " (denied)");
		return true;
	}
	return false;
}

static void on_input(uv_poll_t *poll, int status, int events)
{
	struct questions *q = poll->data;
	unsigned char keys[64];
	ssize_t size = read(q->terminal->fd, keys, sizeof(keys));

	(void)events;
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (status < 0 || size <= 0) {
		settle(q, QUESTION_NO, 0, " (denied)");
		return;
	}
	if (!terminal_held(q->terminal)) {
		give_up(q, QUESTION_TAKEN);
		return;
	}
	/* What was typed behind an answer is for nobody. */
	for (ssize_t i = 0; i < size; i++)
		if (take_key(q, keys[i]))
			return;
}

/* "[y/N]", or "[No, once, session]": what can be typed. */
static void list_answers(const struct question_terms *terms, char *out,
			 size_t size)
{
	const char *word = terms->choices;
	size_t used;

	if (!*word) {
		snprintf(out, size, "%s", terms->yes ? "[Y/n]" : "[y/N]");
		return;
	}
	used = (size_t)snprintf(out, size, "[No");
	while (*word && used < size) {
		int width = (int)strcspn(word, " ");

		used += (size_t)snprintf(out + used, size - used, ", %.*s",
					 width, word);
		word += width + (word[width] == ' ');
	}
	if (used < size)
		snprintf(out + used, size - used, "]");
}

static void show_next(struct questions *q)
{
	const struct question *question = TAILQ_FIRST(&q->list);
	char text[4 * QUESTION_TEXT + 400], visible[4 * QUESTION_TEXT + 1];
	char answers[3 * QUESTION_CHOICES], cut[100] = "";

	if (q->state != QUESTIONS_SHOWN)
		return;
	if (!question) {
		go_on(q);
		return;
	}
	visible_text(visible, question->text,
		     question->size < QUESTION_TEXT ? question->size
						    : QUESTION_TEXT);
	if (question->size > QUESTION_TEXT)
		snprintf(cut, sizeof(cut),
			 "\n(cut: these are the first %d bytes of %zu)",
			 QUESTION_TEXT, question->size);
	list_answers(&question->terms, answers, sizeof(answers));
	snprintf(text, sizeof(text),
		 "srt-lua: the policy asks, and the command is stopped for %d "
		 "seconds at most:\n  %s%s\nAllow? %s ",
		 (int)((question->terms.ms + 999) / 1000), visible, cut,
		 answers);
	q->shown = question;
	q->typed_size = 0;
	q->typed[0] = '\0';
	if (!terminal_say(q->terminal, text)) {
		go_on(q);
		answer_all(q, QUESTION_NOBODY);
		return;
	}
	terminal_flush(q->terminal);
	uv_timer_start(&q->timer, on_late, question->terms.ms, 0);
	uv_poll_start(&q->input, UV_READABLE, on_input);
}

static void show_first(struct questions *q)
{
	uv_timer_stop(&q->timer);
	if (!TAILQ_EMPTY(&q->list) && terminal_borrow(q->terminal)) {
		q->state = QUESTIONS_SHOWN;
		uv_timer_start(&q->looks, on_look, LOOK_MS, LOOK_MS);
		show_next(q);
		return;
	}
	go_on(q);
	answer_all(q, QUESTION_NOBODY);
}

void questions_frozen(struct questions *q, uint32_t order, bool still)
{
	if (order != q->order)
		return;
	if (q->state == QUESTIONS_CHECKING && still) {
		conclude(q);
	} else if (q->state == QUESTIONS_CHECKING) {
		give_up(q, QUESTION_RAN);
	} else if (q->state == QUESTIONS_FREEZING && still) {
		show_first(q);
	} else if (q->state == QUESTIONS_FREEZING) {
		q->restless = true;
		order_freeze(q);
	}
}

void questions_interrupt(struct questions *q)
{
	if (q->state > QUESTIONS_IDLE)
		give_up(q, QUESTION_NO);
}

int question_ask(struct questions *q, struct question **out, const char *text,
		 size_t size, const struct question_terms *terms,
		 void (*done)(void *owner, enum question_answer answer,
			      unsigned int choice),
		 void *owner)
{
	struct question *question;

	if (q->state == QUESTIONS_CLOSED || !terminal_askable(q->terminal))
		return -ENOTTY;
	question = malloc(sizeof(*question) + size);
	if (!question)
		return -ENOMEM;
	*question = (struct question){ .questions = q,
				       .done = done,
				       .owner = owner,
				       .terms = *terms,
				       .size = size };
	memcpy(question->text, text, size);
	TAILQ_INSERT_TAIL(&q->list, question, link);
	*out = question;
	if (q->state == QUESTIONS_IDLE) {
		q->state = QUESTIONS_FREEZING;
		q->restless = false;
		order_freeze(q);
		uv_timer_start(&q->timer, on_late, FREEZE_MS, 0);
	}
	return 0;
}

void question_cancel(struct question *question)
{
	struct questions *q = question->questions;
	bool shown = question == q->shown;

	TAILQ_REMOVE(&q->list, question, link);
	free(question);
	if (shown) {
		uv_timer_stop(&q->timer);
		q->shown = NULL;
		/* What was answered to it is for none of the others. */
		q->state = QUESTIONS_SHOWN;
		terminal_say(q->terminal, " (nobody waits any more)\n");
		show_next(q);
	}
}
