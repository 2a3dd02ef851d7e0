/* SPDX-License-Identifier: Apache-2.0 */
/* What answers are called. */
#include <stddef.h>

#include "core/questions.h"

const char *const question_words[] = {
	[QUESTION_NO] = "no",
	[QUESTION_YES] = "yes",
	[QUESTION_LATE] = "late",
	[QUESTION_NOBODY] = "nobody",
	[QUESTION_RESTLESS] = "restless",
	[QUESTION_RAN] = "ran",
	[QUESTION_TAKEN] = "taken",
	[QUESTION_TAKEN + 1] = NULL,
};
