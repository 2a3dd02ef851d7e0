/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to the user, on the terminal that the command uses as well. */
#ifndef SRT_QUESTIONS_H
#define SRT_QUESTIONS_H

#include <stdbool.h>
#include <sys/queue.h>
#include <uv.h>

#include "core/terminal.h"

struct sandbox;

#define QUESTION_TEXT 1000  /* bytes of a question that are shown */
#define QUESTION_CHOICES 64 /* bytes of its choices, with the NUL */

enum question_answer {
	QUESTION_NO,
	QUESTION_YES,
	QUESTION_LATE,	 /* nobody answered in time */
	QUESTION_NOBODY, /* there is no terminal to ask on */
	/* Nothing that was typed counts, nor what the default is: */
	QUESTION_RESTLESS, /* it was not asked, for the sandbox did not stop */
	QUESTION_RAN,	   /* something in the sandbox ran meanwhile */
	QUESTION_TAKEN,	   /* somebody set the terminal otherwise meanwhile */
};

/** question_words - an enum question_answer as a word; NULL behind the last */
extern const char *const question_words[];

struct question;

/**
 * struct question_terms - how a question is answered
 * @ms: time to answer, from when it is on the screen
 * @yes: what an empty line means; "no" where there are @choices
 * @choices: "" for yes or no; else words with a blank between two, and each of
 *	them, or its first letter, is a "yes". These letters differ, none is
 *	"n". A word has less bytes than struct questions.typed.
 */
struct question_terms {
	uint64_t ms;
	bool yes;
	char choices[QUESTION_CHOICES];
};

enum questions_state {
	QUESTIONS_CLOSED, /* nobody can be asked */
	QUESTIONS_IDLE,
	QUESTIONS_FREEZING, /* PID 1 is stopping the tree */
	QUESTIONS_SHOWN,    /* the terminal is ours */
	QUESTIONS_CHECKING, /* and there is an answer: does it count? */
};

/**
 * struct questions - the queue of questions, and the one on the screen
 * @shown: the one of @list that is on the screen, or NULL
 * @typed, @typed_size: of the answer, as far as it can be one
 * @looks: at the terminal, while there is a question on it
 * @answer, @choice, @word: what was answered; @word is shown
 * @order: number of what PID 1 was asked last
 * @restless: PID 1 has tried to stop the sandbox, and could not yet
 */
struct questions {
	enum questions_state state;
	uv_loop_t *loop;
	struct sandbox *sandbox;
	struct terminal *terminal;
	TAILQ_HEAD(question_list, question) list;
	const struct question *shown;
	uv_timer_t timer, looks;
	uv_poll_t input;
	int handles;
	char typed[16];
	size_t typed_size;
	enum question_answer answer;
	unsigned int choice;
	const char *word;
	uint32_t order;
	bool restless;
};

/** questions_init() - nobody can be asked yet; all zero is not enough */
void questions_init(struct questions *questions);

/**
 * questions_open() - from now on there is somebody to ask, perhaps
 * @loop, @sandbox, @terminal: borrowed until questions_close()
 */
int questions_open(struct questions *questions, uv_loop_t *loop,
		   struct sandbox *sandbox, struct terminal *terminal);

/**
 * questions_frozen() - PID 1 has answered order @order
 * @still: nothing in the sandbox runs, nor has since it was said first
 */
void questions_frozen(struct questions *questions, uint32_t order, bool still);

/** questions_interrupt() - a signal for the command: what is asked is "no" */
void questions_interrupt(struct questions *questions);

/**
 * questions_close() - answer all with QUESTION_NOBODY, give the terminal back
 *
 * The loop must turn until @handles is 0.
 */
void questions_close(struct questions *questions);

/**
 * question_ask() - ask, after those that were asked before
 * @text: shown with its control characters made visible, and cut where it is
 *	long, which is said; copied
 * @terms: copied
 * @done: called once from the loop; the question is gone then. With
 *	QUESTION_YES, @choice is the number of the word chosen, from 0.
 *
 * The sandbox is stopped as long as there is a question. One answer is given
 * to all that have the same text, the whole of it, and terms but for their
 * time.
 * Return: 0; -ENOTTY where there is nobody to ask, -ENOMEM.
 */
int question_ask(struct questions *questions, struct question **out,
		 const char *text, size_t size,
		 const struct question_terms *terms,
		 void (*done)(void *owner, enum question_answer answer,
			      unsigned int choice),
		 void *owner);

/** question_cancel() - nobody wants to know any more */
void question_cancel(struct question *question);

#endif
