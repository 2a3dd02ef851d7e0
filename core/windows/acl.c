/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of access control, as bytes: little-endian, entries back to back. */
#include "core/windows/acl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_HEAD = 8, ENTRY_HEAD = 4, ENTRY_MASK = 8 };
enum { ALLOWS = 0, DENIES = 1, INHERITED = 0x10, REVISION = 2 };

static unsigned u16(const uint8_t *at)
{
	return at[0] | (unsigned)at[1] << 8;
}

static void put_u16(uint8_t *at, size_t value)
{
	at[0] = value & 0xff;
	at[1] = value >> 8 & 0xff;
}

static bool number(const char **at, uint64_t most, uint64_t *out)
{
	const char *first = *at;

	for (*out = 0; **at >= '0' && **at <= '9'; (*at)++) {
		*out = *out * 10 + (uint64_t)(**at - '0');
		if (*out > most)
			return false;
	}
	return *at != first;
}

bool sid_parse(struct sid *out, const char *text)
{
	uint64_t value;
	unsigned parts = 0;

	*out = (struct sid){ 0 };
	if (strncmp(text, "S-1-", 4) != 0)
		return false;
	text += 4;
	if (!number(&text, (1ULL << 48) - 1, &value))
		return false;
	for (unsigned i = 0; i < 6; i++)
		out->bytes[2 + i] = value >> (40 - 8 * i) & 0xff;
	while (*text == '-' && parts < 15) {
		text++;
		if (!number(&text, UINT32_MAX, &value))
			return false;
		for (unsigned i = 0; i < 4; i++)
			out->bytes[8 + 4 * parts + i] = value >> 8 * i & 0xff;
		parts++;
	}
	out->bytes[0] = 1;
	out->bytes[1] = (uint8_t)parts;
	out->size = (uint8_t)(8 + 4 * parts);
	return parts && !*text;
}

bool acl_valid(const uint8_t *bytes, size_t size)
{
	size_t at = LIST_HEAD;

	if (size < LIST_HEAD || size > ACL_MOST || u16(bytes + 2) != size)
		return false;
	for (unsigned i = u16(bytes + 4); i; i--) {
		size_t entry =
			size - at >= ENTRY_HEAD ? u16(bytes + at + 2) : 0;

		if (entry < ENTRY_HEAD || entry > size - at)
			return false;
		at += entry;
	}
	return true;
}

static size_t entry_size(const struct ace *ace)
{
	return (size_t)ENTRY_MASK + ace->sid.size;
}

static void entry_write(uint8_t *at, const struct ace *ace)
{
	at[0] = ace->deny ? DENIES : ALLOWS;
	at[1] = ace->flags;
	put_u16(at + 2, entry_size(ace));
	for (unsigned i = 0; i < 4; i++)
		at[ENTRY_HEAD + i] = ace->mask >> 8 * i & 0xff;
	memcpy(at + ENTRY_MASK, ace->sid.bytes, ace->sid.size);
}

static bool entry_is(const uint8_t *at, const struct ace *ace)
{
	uint8_t wanted[ENTRY_MASK + SID_MOST];

	if (u16(at + 2) != entry_size(ace))
		return false;
	entry_write(wanted, ace);
	return memcmp(at, wanted, entry_size(ace)) == 0;
}

unsigned acl_count(const uint8_t *bytes, const struct ace *ace)
{
	unsigned count = 0;
	size_t at = LIST_HEAD;

	for (unsigned i = u16(bytes + 4); i; i--, at += u16(bytes + at + 2))
		count += entry_is(bytes + at, ace);
	return count;
}

/* 0 denies, 1 allows or asks for audit, 2 is inherited: they come so. */
static unsigned rank(const uint8_t *at)
{
	if (at[1] & INHERITED)
		return 2;
	/* Object, callback and callback object entries that deny. */
	return at[0] == DENIES || at[0] == 6 || at[0] == 10 || at[0] == 12 ? 0
									   : 1;
}

/* Where an entry goes: before the first one that ranks above it. */
static int place(const uint8_t *bytes, bool deny, size_t *where)
{
	size_t at = LIST_HEAD;
	unsigned last = 0;

	*where = 0;
	for (unsigned i = u16(bytes + 4); i; i--, at += u16(bytes + at + 2)) {
		unsigned now = rank(bytes + at);

		if (now < last)
			return -EINVAL;
		last = now;
		if (!*where && now > (deny ? 0U : 1U))
			*where = at;
	}
	if (!*where)
		*where = at;
	return 0;
}

int acl_add(const uint8_t *bytes, const struct ace *ace, struct acl_bytes *out)
{
	static const uint8_t empty[LIST_HEAD] = { REVISION, 0, LIST_HEAD };
	size_t where, more = entry_size(ace), size;
	int error;

	if (!bytes)
		bytes = empty;
	size = u16(bytes + 2);
	error = place(bytes, ace->deny, &where);
	if (error)
		return error;
	if (size + more > ACL_MOST)
		return -E2BIG;
	out->bytes = malloc(size + more);
	if (!out->bytes)
		return -ENOMEM;
	out->size = size + more;
	memcpy(out->bytes, bytes, where);
	entry_write(out->bytes + where, ace);
	memcpy(out->bytes + where + more, bytes + where, size - where);
	put_u16(out->bytes + 2, out->size);
	put_u16(out->bytes + 4, u16(bytes + 4) + 1);
	return 0;
}

int acl_remove(const uint8_t *bytes, const struct ace *ace,
	       struct acl_bytes *out)
{
	size_t at = LIST_HEAD, size = u16(bytes + 2), less = entry_size(ace);
	unsigned left = u16(bytes + 4);

	for (; left && !entry_is(bytes + at, ace); left--)
		at += u16(bytes + at + 2);
	if (!left)
		return -ENOENT;
	out->bytes = malloc(size - less);
	if (!out->bytes)
		return -ENOMEM;
	out->size = size - less;
	memcpy(out->bytes, bytes, at);
	memcpy(out->bytes + at, bytes + at + less, size - at - less);
	put_u16(out->bytes + 2, out->size);
	put_u16(out->bytes + 4, u16(bytes + 4) - 1);
	return 0;
}
