/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nobody is asked: while a question is on the terminal nothing of the command
 * may run, and without a PID namespace there is no telling what is of it.
 */
#include "core/questions.h"

#include <errno.h>

int question_ask(struct questions *questions, struct question **out,
		 const char *text, size_t size,
		 const struct question_terms *terms,
		 void (*done)(void *owner, enum question_answer answer,
			      unsigned int choice),
		 void *owner)
{
	(void)questions;
	(void)out;
	(void)text;
	(void)size;
	(void)terms;
	(void)done;
	(void)owner;
	return -ENOTTY;
}

void question_cancel(struct question *question)
{
	/* There is none, since none was asked. */
	(void)question;
}
