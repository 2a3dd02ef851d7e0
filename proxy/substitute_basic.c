/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces inside the base64 of an Authorization field. */
#include <stdlib.h>

#include "proxy/substitute.h"

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int sextet(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* How many bytes @size digits are, without padding; or -1. */
static ssize_t decode(const char *in, size_t size, unsigned char *out)
{
	uint32_t bits = 0;
	size_t used = 0;

	if (size % 4 == 1)
		return -1;
	for (size_t i = 0; i < size; i++) {
		int value = sextet(in[i]);

		if (value < 0)
			return -1;
		bits = bits << 6 | (uint32_t)value;
		if (i % 4)
			out[used++] = (unsigned char)(bits >> (6 - i % 4 * 2));
	}
	return (ssize_t)used;
}

/* As many digits as @size bytes take, without padding. */
static void encode(const unsigned char *in, size_t size, char *out)
{
	for (size_t i = 0; i < size; i += 3) {
		uint32_t bits = (uint32_t)in[i] << 16;

		if (i + 1 < size)
			bits |= (uint32_t)in[i + 1] << 8;
		if (i + 2 < size)
			bits |= in[i + 2];
		*out++ = alphabet[bits >> 18];
		*out++ = alphabet[bits >> 12 & 63];
		if (i + 1 < size)
			*out++ = alphabet[bits >> 6 & 63];
		if (i + 2 < size)
			*out++ = alphabet[bits & 63];
	}
}

/* The digits of "Basic DIGITS", without padding; size 0 for what is none. */
static struct proxy_text digits_of(const char *value, size_t size)
{
	struct proxy_text digits = { 0 };

	if (size < 7 || strncasecmp(value, "basic ", 6) != 0)
		return digits;
	digits = (struct proxy_text){ value + 6, size - 6 };
	while (digits.size && *digits.data == ' ') {
		digits.data++;
		digits.size--;
	}
	while (digits.size && (digits.data[digits.size - 1] == '=' ||
			       digits.data[digits.size - 1] == ' '))
		digits.size--;
	return digits;
}

size_t substitute_basic(const struct substitute *set, char *value, size_t size)
{
	struct proxy_text digits = digits_of(value, size);
	unsigned char *plain = digits.size ? malloc(digits.size) : NULL;
	size_t count = 0;
	ssize_t bytes;

	if (!plain)
		return 0;
	bytes = decode(digits.data, digits.size, plain);
	if (bytes > 0)
		count = substitute_apply(set, (char *)plain, (size_t)bytes,
					 SUBSTITUTE_BODY);
	/* Of the same size, so it takes the same place. */
	if (count)
		encode(plain, (size_t)bytes, value + (digits.data - value));
	explicit_bzero(plain, digits.size);
	free(plain);
	return count;
}
