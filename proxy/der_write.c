/* SPDX-License-Identifier: Apache-2.0 */
/* Writes DER from its end to its start, so that lengths are known. */
#include "proxy/der_write.h"

#include <string.h>
#include <time.h>

#include "proxy/der.h"

void der_put(struct der_out *out, const void *data, size_t size)
{
	if (out->failed || size > (size_t)(out->at - out->start)) {
		out->failed = true;
		return;
	}
	out->at -= size;
	if (size)
		memcpy(out->at, data, size);
}

void der_put_byte(struct der_out *out, unsigned int byte)
{
	unsigned char value = (unsigned char)byte;

	der_put(out, &value, 1);
}

void der_head(struct der_out *out, unsigned int tag, const unsigned char *end)
{
	size_t size = (size_t)(end - out->at), rest;
	unsigned int bytes = 0;

	if (size >= 0x80) {
		for (rest = size; rest; rest >>= 8, bytes++)
			der_put_byte(out, rest & 0xff);
		der_put_byte(out, 0x80 | bytes);
	} else {
		der_put_byte(out, (unsigned int)size);
	}
	der_put_byte(out, tag);
}

void der_put_all(struct der_out *out, unsigned int tag, const void *data,
		 size_t size)
{
	const unsigned char *end = out->at;

	der_put(out, data, size);
	der_head(out, tag, end);
}

void der_put_natural(struct der_out *out, const unsigned char *data,
		     size_t size)
{
	const unsigned char *end = out->at;

	while (size > 1 && data[0] == 0) {
		data++;
		size--;
	}
	der_put(out, data, size);
	if (size == 0 || data[0] & 0x80)
		der_put_byte(out, 0);
	der_head(out, DER_INTEGER, end);
}

void der_put_time(struct der_out *out, int64_t seconds)
{
	time_t time = (time_t)seconds;
	bool is_short;
	char text[32];
	struct tm tm;

	if (!gmtime_r(&time, &tm) || tm.tm_year < 50 || tm.tm_year > 8099) {
		out->failed = true;
		return;
	}
	is_short = tm.tm_year < 150;
	strftime(text, sizeof(text), "%Y%m%d%H%M%SZ", &tm);
	if (is_short)
		der_put_all(out, DER_UTC_TIME, text + 2, strlen(text + 2));
	else
		der_put_all(out, DER_TIME, text, strlen(text));
}
