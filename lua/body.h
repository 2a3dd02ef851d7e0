/* SPDX-License-Identifier: Apache-2.0 */
/* Where a callback's body() comes from. */
#ifndef SRT_LUA_BODY_H
#define SRT_LUA_BODY_H

#include <stdbool.h>
#include <stddef.h>

/* What @take says of a body that is longer than was asked for. */
#define BODY_TOO_LONG ""

/**
 * struct body_source - the body of the message that a call is about
 * @most: bytes that may be asked for
 * @begin: read up to @max bytes of it; true where it is over already
 * @watch: then call @done, once and from the loop, when it is; NULL: don't
 * @take: the body, without its coding, borrowed until the next call; NULL, or
 *	static text: why it can't be had
 *
 * The subject of a call holds it as light userdata, named "body"; it is valid
 * as long as that call goes on.
 */
struct body_source {
	size_t most;
	bool (*begin)(struct body_source *source, size_t max);
	void (*watch)(struct body_source *source, void (*done)(void *context),
		      void *context);
	const char *(*take)(struct body_source *source, size_t max,
			    const char **data, size_t *size);
};

#endif
