/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of DER (X.690): what has a second spelling is refused. */
#include "proxy/der.h"

#include <string.h>

/* More bytes of length than any certificate of ours has. */
enum { LENGTH_BYTES_MAX = 3 };

static bool take_byte(struct der *from, unsigned int *byte)
{
	if (from->size == 0)
		return false;
	*byte = *from->data++;
	from->size--;
	return true;
}

static bool take_length(struct der *from, size_t *length)
{
	unsigned int byte, count;

	if (!take_byte(from, &byte))
		return false;
	*length = byte;
	if (byte < 0x80)
		return true;
	count = byte & 0x7f;
	if (count == 0 || count > LENGTH_BYTES_MAX)
		return false;
	*length = 0;
	for (unsigned int i = 0; i < count; i++) {
		if (!take_byte(from, &byte) || (i == 0 && byte == 0))
			return false;
		*length = *length << 8 | byte;
	}
	return *length >= 0x80;
}

bool der_any(struct der *from, unsigned int *tag, struct der *value)
{
	struct der rest = *from;
	size_t length;

	if (!take_byte(&rest, tag) || (*tag & 0x1f) == 0x1f ||
	    !take_length(&rest, &length) || length > rest.size)
		return false;
	*value = (struct der){ rest.data, length };
	*from = (struct der){ rest.data + length, rest.size - length };
	return true;
}

bool der_take(struct der *from, unsigned int tag, struct der *value)
{
	struct der rest = *from;
	unsigned int found;

	if (!der_any(&rest, &found, value) || found != tag)
		return false;
	*from = rest;
	return true;
}

bool der_whole(struct der *from, unsigned int tag, struct der *whole)
{
	const unsigned char *start = from->data;
	struct der value;

	if (!der_take(from, tag, &value))
		return false;
	*whole = (struct der){ start, (size_t)(from->data - start) };
	return true;
}

bool der_boolean(struct der *from, bool *value)
{
	struct der content;

	if (!der_take(from, DER_BOOLEAN, &content) || content.size != 1 ||
	    (content.data[0] != 0 && content.data[0] != 0xff))
		return false;
	*value = content.data[0] != 0;
	return true;
}

bool der_natural(struct der *from, struct der *value)
{
	if (!der_take(from, DER_INTEGER, value) || value->size == 0 ||
	    value->data[0] & 0x80)
		return false;
	if (value->size > 1 && value->data[0] == 0) {
		if (!(value->data[1] & 0x80))
			return false;
		value->data++;
		value->size--;
	}
	return true;
}

bool der_small(struct der *from, uint32_t *value)
{
	struct der bytes;

	if (!der_natural(from, &bytes) || bytes.size > 4)
		return false;
	*value = 0;
	for (size_t i = 0; i < bytes.size; i++)
		*value = *value << 8 | bytes.data[i];
	return *value < 1U << 31;
}

bool der_bytes(struct der *from, struct der *value)
{
	if (!der_take(from, DER_BITS, value) || value->size == 0 ||
	    value->data[0] != 0)
		return false;
	value->data++;
	value->size--;
	return true;
}

bool der_flags(struct der *from, uint32_t *value)
{
	struct der bits;
	unsigned int unused;

	if (!der_take(from, DER_BITS, &bits) || bits.size == 0)
		return false;
	unused = bits.data[0];
	if (unused > 7 || (bits.size == 1 && unused) ||
	    (bits.size > 1 && bits.data[bits.size - 1] & ((1U << unused) - 1)))
		return false;
	*value = 0;
	for (size_t i = 1; i < bits.size && i < 3; i++) {
		for (unsigned int bit = 0; bit < 8; bit++)
			*value |= (uint32_t)(bits.data[i] >> (7 - bit) & 1)
				  << ((i - 1) * 8 + bit);
	}
	return true;
}

bool der_equal(struct der a, struct der b)
{
	return a.size == b.size &&
	       (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool two_digits(struct der *from, int *value)
{
	unsigned int tens, ones;

	if (!take_byte(from, &tens) || !take_byte(from, &ones) || tens < '0' ||
	    tens > '9' || ones < '0' || ones > '9')
		return false;
	*value = (int)((tens - '0') * 10 + ones - '0');
	return true;
}

static bool read_year(struct der *text, bool is_short, int *year)
{
	int first, second = 0;

	if (!two_digits(text, &first) ||
	    (!is_short && !two_digits(text, &second)))
		return false;
	if (is_short)
		*year = first + (first < 50 ? 2000 : 1900);
	else
		*year = first * 100 + second;
	return true;
}

/* Days from 1970-01-01 in the Gregorian calendar; years from 0 on. */
static int64_t days_of(int year, int month, int day)
{
	/* Counted from March on the leap day is a year's last. */
	int64_t y = month > 2 ? year : year - 1;
	int64_t m = month > 2 ? month - 3 : month + 9;
	int64_t leaps = y < 0 ? -1 : y / 4 - y / 100 + y / 400;

	return y * 365 + leaps + (153 * m + 2) / 5 + day - 1 - 719468;
}

static int days_in(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30,
				    31, 31, 30, 31, 30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap);
}

bool der_time(struct der *from, int64_t *value)
{
	bool is_short = der_is(from, DER_UTC_TIME);
	int year, month, day, hour, minute, second;
	struct der text;

	if (!der_take(from, is_short ? DER_UTC_TIME : DER_TIME, &text) ||
	    !read_year(&text, is_short, &year) || !two_digits(&text, &month) ||
	    !two_digits(&text, &day) || !two_digits(&text, &hour) ||
	    !two_digits(&text, &minute) || !two_digits(&text, &second))
		return false;
	if (text.size != 1 || text.data[0] != 'Z' || month < 1 || month > 12 ||
	    day < 1 || day > days_in(year, month) || hour > 23 || minute > 59 ||
	    second > 59)
		return false;
	*value = ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 +
		 second;
	return true;
}
