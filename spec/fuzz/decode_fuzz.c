/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the decoder of bodies: bounded, and the same in any order of calls. */
#include <stdint.h>
#include <stdlib.h>

#include "proxy/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECE = 16384 };

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* The first two bytes say how much it may be, the next how it is coded. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const codings[] = {
		"gzip",
		"deflate",
		"gzip, deflate",
		"deflate, gzip, gzip",
		"x-gzip,identity",
		"deflate,deflate",
		"br",
		"identity",
	};
	struct proxy_header header = { proxy_text_of("Content-Encoding"),
				       { NULL, 0 } };
	struct pbuf out = { 0 };
	struct proxy_text text;
	const char *wrong;
	size_t max;
	char *copy;

	if (size < 3)
		return 0;
	max = (size_t)data[0] << 8 | data[1];
	header.value = proxy_text_of(codings[data[2] % 8]);
	text.size = size - 3;
	/* Memory of the exact size shows reads behind it. */
	copy = malloc(text.size ? text.size : 1);
	if (!copy)
		return 0;
	memcpy(copy, data + 3, text.size);
	text.data = copy;
	wrong = decode_body(&header, 1, text, max, &out);
	check(out.size <= max + max / 256 + 1024 + PIECE);
	check(wrong || out.size <= max);
	check(decode_is_coded(&header, 1) || wrong || out.size == text.size);
	pbuf_free(&out);
	free(copy);
	return 0;
}
