/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the SOCKS parser: no bad access, and the same reading however the
 * bytes arrive. */
#include <stdio.h>
#include <stdlib.h>

#include "proxy/http1.h"
#include "proxy/socks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

struct reading {
	struct socks socks;
	enum socks_step end;
	size_t used;
	unsigned int answers;
	unsigned int sum;
};

static void take_answer(struct reading *reading)
{
	const struct socks *socks = &reading->socks;

	check(socks->answer_size <= SOCKS_REPLY_MAX);
	reading->answers++;
	for (size_t i = 0; i < socks->answer_size; i++)
		reading->sum = reading->sum * 31 + socks->answer[i];
}

/* Memory of the exact size shows reads behind what has come. */
static enum socks_step one_step(struct reading *reading, const char *data,
				size_t size, size_t *used)
{
	char *copy = malloc(size ? size : 1);
	enum socks_step step;

	check(copy != NULL);
	memcpy(copy, data, size);
	step = socks_next(&reading->socks, copy, size, used);
	free(copy);
	check(*used <= size && (step != SOCKS_MORE || !*used));
	check(step != SOCKS_ANSWER || reading->socks.answer_size);
	check(step != SOCKS_MORE || size < SOCKS_MESSAGE_MAX);
	return step;
}

static struct reading read_by(const char *data, size_t size, size_t step)
{
	struct reading reading = { .end = SOCKS_MORE };
	size_t have = 0, used;

	for (;;) {
		reading.end = one_step(&reading, data + reading.used,
				       have - reading.used, &used);
		reading.used += used;
		take_answer(&reading);
		if (reading.end == SOCKS_MORE && have == size)
			return reading;
		if (reading.end == SOCKS_MORE)
			have = step < size - have ? have + step : size;
		else if (reading.end != SOCKS_ANSWER)
			return reading;
	}
}

static void check_request(const struct socks *socks)
{
	check(socks->version == 4 || socks->version == 5);
	check(socks->port != 0);
	check(http1_host(proxy_text_of(socks->host)));
}

/* The first byte says how, the rest is what a client sends. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct reading whole, parts;

	if (size < 2 || !socks_starts(text[0]))
		return 0;
	whole = read_by(text, size - 1, size);
	parts = read_by(text, size - 1, (size_t)data[0] % 32 + 1);
	check(whole.end == parts.end && whole.sum == parts.sum);
	check(whole.socks.port == parts.socks.port);
	check(!strcmp(whole.socks.host, parts.socks.host));
	if (whole.end == SOCKS_REQUEST) {
		check(whole.used == parts.used);
		check_request(&whole.socks);
	} else if (whole.end == SOCKS_BAD) {
		check(whole.socks.reason && whole.socks.answer_size);
	}
	return 0;
}
