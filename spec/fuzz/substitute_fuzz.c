/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes replacing in streams: as in the whole text however the bytes arrive,
 * and nothing that was to be replaced is left. */
#include <stdio.h>
#include <stdlib.h>

#include "proxy/substitute.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* Made of few letters, so that random input meets them. */
static const char *const pairs[][2] = {
	{ "abababab", "01234567" },
	{ "ababababc", "876543210" },
	{ "aaaaaaaa", "-------\n" },
	{ "babababababa", "/\"+&=%?#~._-" },
};

static struct substitute *make(void)
{
	struct substitute *set = substitute_new();

	for (size_t i = 0; set && i < sizeof(pairs) / sizeof(*pairs); i++)
		check(!substitute_add(set, proxy_text_of(pairs[i][0]),
				      proxy_text_of(pairs[i][1])));
	check(set != NULL);
	return set;
}

static void by_steps(struct substitute *set, const char *in, size_t size,
		     size_t step, enum substitute_place place, char *out)
{
	struct substitute_stream stream;
	size_t got = 0, at = 0;

	substitute_begin(&stream, set, place);
	while (at < size) {
		size_t part = size - at < step ? size - at : step, ready;

		ready = substitute_feed(&stream,
					(struct proxy_text){ in + at, part },
					at + part == size);
		check(ready <= stream.held.size);
		if (ready)
			memcpy(out + got, pbuf_text(&stream.held).data, ready);
		got += ready;
		pbuf_drop(&stream.held, ready);
		check(stream.held.size < 12);
		at += part;
	}
	check(got == size && !stream.held.size);
	substitute_end(&stream);
}

static bool holds(const char *text, size_t size, const char *what)
{
	return memmem(text, size, what, strlen(what)) != NULL;
}

/* The first byte says in what steps, the second where the rest stands. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct substitute *set;
	enum substitute_place place;
	char *whole, *parts;
	struct pbuf target = { 0 };

	if (size < 3)
		return 0;
	place = (enum substitute_place)(1 << data[1] % 4);
	whole = malloc(size);
	parts = malloc(size);
	check(whole && parts);
	set = make();
	memcpy(whole, data + 2, size - 2);
	(void)substitute_apply(set, whole, size - 2, place);
	by_steps(set, (const char *)data + 2, size - 2, data[0] % 32 + 1, place,
		 parts);
	check(!memcmp(whole, parts, size - 2));
	check(!holds(whole, size - 2, pairs[0][0]));
	(void)substitute_target(
		set, &target,
		(struct proxy_text){ (const char *)data + 2, size - 2 });
	check(!target.failed &&
	      !holds(pbuf_text(&target).data, target.size, pairs[2][0]));
	pbuf_free(&target);
	memcpy(whole, data + 2, size - 2);
	(void)substitute_basic(set, whole, size - 2);
	substitute_release(set);
	free(whole);
	free(parts);
	return 0;
}
