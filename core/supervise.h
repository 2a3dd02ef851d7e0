/* SPDX-License-Identifier: Apache-2.0 */
/* The host process while a command runs: signals, terminal, status. */
#ifndef SRT_SUPERVISE_H
#define SRT_SUPERVISE_H

#include <uv.h>

#include "core/questions.h"
#include "core/sandbox.h"

enum outcome_kind {
	OUTCOME_FAILED,	 /* the sandbox could not be made: @failure */
	OUTCOME_NOT_RUN, /* @value: errno of execve(2) */
	OUTCOME_ENDED,	 /* @value: wait status */
};

#define OUTCOME_NOTICES 16

/**
 * struct notice - a path whose mount was lost while the command ran
 * @times: how often it was put back
 * @longest: microseconds that it took at most
 * @missing: errno of when it could not be put back last, 0 if it is back
 * @was_missing: it was away for a while
 */
struct notice {
	char path[600];
	unsigned int times;
	int longest;
	int missing;
	bool was_missing;
};

/**
 * struct outcome - how a run ended
 * @notices: the first paths of that kind
 * @more_notices: there was no room for another path
 * @unreached: of unreached_count()
 */
struct outcome {
	enum outcome_kind kind;
	int value;
	struct failure failure;
	struct notice notices[OUTCOME_NOTICES];
	size_t notice_count;
	bool more_notices;
	uint32_t unreached;
};

/**
 * supervise_run() - run the loop until the command has ended
 *
 * Signals that reach this process (and signals_hold_for_command() holds) are
 * told to PID 1. When the command stops, this process stops too, so that the
 * user's shell sees the job stopped.
 * @loop: other handles on it (the proxy) are served meanwhile
 * @questions: may be asked meanwhile
 * Return: 0 or -errno; @out says how the run ended.
 */
int supervise_run(uv_loop_t *loop, struct sandbox *sandbox,
		  struct questions *questions, struct outcome *out);

#endif
