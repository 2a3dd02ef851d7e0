/* SPDX-License-Identifier: Apache-2.0 */
/* PEM blocks (RFC 7468): found, decoded and written. */
#include "proxy/pem.h"

#define BEGIN "-----BEGIN "
#define END "-----END "
#define DASHES "-----"

/* The line at the front, without its end; @text is moved behind it. */
static struct proxy_text take_line(struct proxy_text *text)
{
	const char *end = memchr(text->data, '\n', text->size);
	struct proxy_text line = { text->data, end ? (size_t)(end - text->data)
						   : text->size };
	size_t used = line.size + (end != NULL);

	text->data += used;
	text->size -= used;
	while (line.size && strchr("\r \t", line.data[line.size - 1]))
		line.size--;
	return line;
}

/* "-----BEGIN LABEL-----": its label */
static bool is_mark(struct proxy_text line, const char *start,
		    struct proxy_text *label)
{
	size_t before = strlen(start), after = strlen(DASHES);

	if (line.size <= before + after ||
	    memcmp(line.data, start, before) != 0 ||
	    memcmp(line.data + line.size - after, DASHES, after) != 0)
		return false;
	*label = (struct proxy_text){ line.data + before,
				      line.size - before - after };
	return true;
}

bool pem_next(struct proxy_text *text, struct pem_block *block)
{
	struct proxy_text label, line, rest;

	do {
		if (text->size == 0)
			return false;
		line = take_line(text);
	} while (!is_mark(line, BEGIN, &block->label));
	block->body = (struct proxy_text){ text->data, text->size };
	while (text->size) {
		rest = *text;
		line = take_line(text);
		if (is_mark(line, END, &label) &&
		    proxy_text_same(label, block->label)) {
			block->body.size =
				(size_t)(line.data - block->body.data);
			return true;
		}
		if (is_mark(line, BEGIN, &label)) {
			*text = rest;
			break;
		}
	}
	/* Without its end: the dashes in front keep it from being decoded. */
	block->body = (struct proxy_text){ DASHES, strlen(DASHES) };
	return true;
}

bool pem_certificate(const struct pem_block *block)
{
	return proxy_text_equal(block->label, "CERTIFICATE") ||
	       proxy_text_equal(block->label, "X509 CERTIFICATE");
}

size_t pem_size(struct proxy_text body)
{
	return body.size / 4 * 3 + 3;
}

/* By the character; -1 where it is no digit. */
static const signed char digits_of[128] = {
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
	-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 62, -1, -1, -1, 63,
	52, 53, 54, 55, 56, 57, 58, 59, 60, 61, -1, -1, -1, -1, -1, -1,
	-1, 0,	1,  2,	3,  4,	5,  6,	7,  8,	9,  10, 11, 12, 13, 14,
	15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, -1, -1, -1, -1, -1,
	-1, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
	41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, -1, -1, -1, -1, -1,
};

static int digit_of(char c)
{
	return (unsigned char)c < 128 ? digits_of[(unsigned char)c] : -1;
}

static bool is_blank(char c)
{
	return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

/* What may follow the digits: as much padding as they need, and blanks. */
static bool is_end(struct proxy_text body, size_t at, size_t digits)
{
	size_t padding = 0;

	for (; at < body.size; at++) {
		if (body.data[at] == '=')
			padding++;
		else if (!is_blank(body.data[at]))
			return false;
	}
	return digits && digits % 4 != 1 && padding == (4 - digits % 4) % 4;
}

bool pem_decode(struct proxy_text body, unsigned char *bytes, size_t *size)
{
	size_t digits = 0, at;
	unsigned int bits = 0;

	*size = 0;
	for (at = 0; at < body.size; at++) {
		int digit = digit_of(body.data[at]);

		if (digit < 0 && is_blank(body.data[at]))
			continue;
		if (digit < 0)
			break;
		bits = (bits << 6 | (unsigned int)digit) & 0xffffff;
		/* 6, 12, 18, 24 bits are there: a byte with each but the first
		 */
		if (digits % 4)
			bytes[(*size)++] =
				(unsigned char)(bits >> (6 - 2 * (digits % 4)));
		digits++;
	}
	return is_end(body, at, digits);
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			       "abcdefghijklmnopqrstuvwxyz0123456789+/";

/* Up to three bytes make four characters. */
static void write_group(char *group, const unsigned char *bytes, size_t size)
{
	unsigned int bits = (unsigned int)bytes[0] << 16;

	bits |= size > 1 ? (unsigned int)bytes[1] << 8 : 0;
	bits |= size > 2 ? bytes[2] : 0;
	for (size_t i = 0; i < 4; i++)
		group[i] =
			i <= size ? alphabet[bits >> (18 - 6 * i) & 63] : '=';
}

/* Up to 48 bytes. */
static void write_line(struct pbuf *out, const unsigned char *bytes,
		       size_t size)
{
	char line[65];
	size_t used = 0;

	for (size_t at = 0; at < size; at += 3, used += 4)
		write_group(line + used, bytes + at, size - at);
	line[used++] = '\n';
	pbuf_add(out, line, used);
}

void pem_write(struct pbuf *out, const char *label, const unsigned char *bytes,
	       size_t size)
{
	pbuf_format(out, BEGIN "%s" DASHES "\n", label);
	for (size_t at = 0; at < size; at += 48)
		write_line(out, bytes + at, size - at < 48 ? size - at : 48);
	pbuf_format(out, END "%s" DASHES "\n", label);
}
