/* SPDX-License-Identifier: Apache-2.0 */
/* Text of somebody else's, made safe to show on a terminal. */
#include "core/visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The size of the character at @s if it is UTF-8 (RFC 3629), else 0. */
static size_t decode(const unsigned char *s, size_t size, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80		   ? 1
		   : (s[0] & 0xe0) == 0xc0 ? 2
		   : (s[0] & 0xf0) == 0xe0 ? 3
		   : (s[0] & 0xf8) == 0xf0 ? 4
					   : 0;
	uint32_t c = n == 1 ? s[0] : s[0] & (0x7fU >> n);

	if (n == 0 || n > size)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	*out = c;
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return n;
}

/*
 * Characters that act on the screen, or are not seen on it; the same that
 * srt.violation_text knows.
 */
static bool is_plain(uint32_t c)
{
	static const uint32_t hidden[][2] = {
		{ 0, 0x1f },	      { 0x7f, 0x9f },	  { 0xad, 0xad },
		{ 0x34f, 0x34f },     { 0x61c, 0x61c },	  { 0x115f, 0x1160 },
		{ 0x180b, 0x180f },   { 0x200b, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f },   { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },
		{ 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 }, { 0xfff9, 0xfffb },
		{ 0xe0000, 0xe0fff },
	};

	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (c >= hidden[i][0] && c <= hidden[i][1])
			return false;
	return true;
}

void visible_text(char *out, const char *text, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	uint32_t c = 0;

	while (size) {
		size_t n = decode(s, size, &c);

		if (n && is_plain(c)) {
			memcpy(out, s, n);
			out += n;
		} else {
			n = n ? n : 1;
			for (size_t i = 0; i < n; i++)
				out += sprintf(out, "\\x%02x", s[i]);
		}
		s += n;
		size -= n;
	}
	*out = '\0';
}
