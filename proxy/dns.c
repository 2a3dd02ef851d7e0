/* SPDX-License-Identifier: Apache-2.0 */
/* DNS messages (RFC 1035, 6891, 8914): bytes to a question, an answer to bytes.
 */
#include "proxy/dns.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum {
	HEADER = 12,
	LABEL_MAX = 63,
	CLASS_IN = 1,
	SECONDS = 60, /* addresses hold for the run, which ends any time */
	UDP_SIZE = 1232,
	OPTION_DETAIL = 15,
};

enum {
	FLAG_ANSWER = 0x8000,
	FLAG_OPCODE = 0x7800,
	FLAG_CUT = 0x0200,
	FLAG_RECURSE = 0x0100,
	FLAG_RECURSES = 0x0080,
	FLAG_UNCHECKED = 0x0010,
};

static uint16_t number(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static bool is_letter(uint8_t byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
	       byte == '-' || byte == '_';
}

/* Adds a label to the name; its size with the length byte is within bounds. */
static void add_label(struct dns_query *out, size_t *used, const uint8_t *label,
		      size_t size)
{
	if (*used)
		out->name[(*used)++] = '.';
	for (size_t i = 0; i < size; i++) {
		uint8_t byte = label[i];

		if (byte >= 'A' && byte <= 'Z')
			byte = (uint8_t)(byte + ('a' - 'A'));
		out->plain = out->plain && is_letter(byte);
		out->name[(*used)++] = (char)byte;
	}
}

/* The size of the name at @data, or 0. */
static size_t read_name(struct dns_query *out, const uint8_t *data, size_t size)
{
	size_t at = 0, used = 0;

	out->plain = true;
	while (at < size && data[at]) {
		size_t label = data[at];

		/* 255 bytes with the root's, so the text has room. */
		if (label > LABEL_MAX || at + 1 + label >= size ||
		    at + 1 + label >= DNS_NAME_MAX + 1)
			return 0;
		add_label(out, &used, data + at + 1, label);
		at += 1 + label;
	}
	out->name[used] = '\0';
	return at < size ? at + 1 : 0;
}

/* What follows the question: nothing, or one OPT record to the very end. */
static int read_opt(struct dns_query *out, const uint8_t *data, size_t size,
		    uint16_t records)
{
	enum { FIXED = 11 }; /* root, type, class, TTL, length */

	if (!records)
		return size ? DNS_BAD_FORMAT : DNS_OK;
	if (records > 1 || size < FIXED || data[0] ||
	    number(data + 1) != DNS_OPT || number(data + 9) != size - FIXED)
		return DNS_BAD_FORMAT;
	out->edns = true;
	return data[6] ? DNS_BAD_VERSION : DNS_OK;
}

int dns_read(struct dns_query *out, const uint8_t *data, size_t size)
{
	size_t name;
	int code;

	*out = (struct dns_query){ 0 };
	if (size < HEADER || number(data + 2) & FLAG_ANSWER)
		return -1;
	out->id = number(data);
	out->flags = number(data + 2);
	if (out->flags & FLAG_OPCODE)
		return DNS_NOT_KNOWN;
	if (out->flags & FLAG_CUT || number(data + 4) != 1 ||
	    number(data + 6) || number(data + 8))
		return DNS_BAD_FORMAT;
	name = read_name(out, data + HEADER, size - HEADER);
	if (!name || size - HEADER - name < 4)
		return DNS_BAD_FORMAT;
	out->question = data + HEADER;
	out->question_size = name + 4;
	out->type = number(out->question + name);
	code = read_opt(out, out->question + out->question_size,
			size - HEADER - out->question_size, number(data + 10));
	if (code)
		return code;
	if (number(out->question + name + 2) != CLASS_IN)
		return DNS_REFUSED;
	return out->type >= DNS_META && out->type <= DNS_META_LAST ? DNS_REFUSED
								   : DNS_OK;
}

/* Writes where there is room: the bounds of all that is written fit. */
struct writer {
	uint8_t *out;
	size_t size;
};

static void put(struct writer *w, const void *data, size_t size)
{
	if (size > DNS_ANSWER_MAX - w->size)
		return;
	memcpy(w->out + w->size, data, size);
	w->size += size;
}

static void put_number(struct writer *w, size_t value)
{
	const uint8_t bytes[] = { (uint8_t)(value >> 8), (uint8_t)value };

	put(w, bytes, sizeof(bytes));
}

/* In front of a record's data: the name of the question, at its place. */
static void put_record(struct writer *w, uint16_t type, size_t data)
{
	put_number(w, 0xc000 | HEADER);
	put_number(w, type);
	put_number(w, CLASS_IN);
	put_number(w, 0);
	put_number(w, SECONDS);
	put_number(w, data);
}

static void put_name(struct writer *w, const char *name)
{
	while (*name) {
		size_t label = strcspn(name, ".");
		const uint8_t length = (uint8_t)label;

		put(w, &length, 1);
		put(w, name, label);
		name += label + (name[label] == '.');
	}
	put(w, "", 1);
}

static void put_opt(struct writer *w, const struct dns_answer *answer)
{
	size_t text = answer->text ? strnlen(answer->text, DNS_DETAIL_MAX) : 0;
	size_t option = answer->detail ? 2 + text : 0;

	put(w, "", 1);
	put_number(w, DNS_OPT);
	put_number(w, UDP_SIZE);
	put_number(w, (size_t)(answer->code >> 4) << 8);
	put_number(w, 0);
	put_number(w, option ? 4 + option : 0);
	if (!option)
		return;
	put_number(w, OPTION_DETAIL);
	put_number(w, option);
	put_number(w, answer->detail);
	put(w, answer->text, text);
}

size_t dns_write(uint8_t out[DNS_ANSWER_MAX], const struct dns_query *query,
		 const struct dns_answer *answer)
{
	struct writer w = { .out = out };
	bool record = answer->address_size || answer->pointer;
	uint16_t kept = FLAG_OPCODE | FLAG_RECURSE | FLAG_UNCHECKED;

	put_number(&w, query->id);
	put_number(&w, (size_t)(FLAG_ANSWER | FLAG_RECURSES |
				(query->flags & kept) | (answer->code & 15)));
	put_number(&w, query->question_size ? 1 : 0);
	put_number(&w, record);
	put_number(&w, 0);
	put_number(&w, query->edns);
	if (query->question_size)
		put(&w, query->question, query->question_size);
	if (answer->address_size) {
		put_record(&w, answer->address_size == 4 ? DNS_A : DNS_AAAA,
			   answer->address_size);
		put(&w, answer->address, answer->address_size);
	} else if (answer->pointer) {
		put_record(&w, DNS_PTR, strlen(answer->pointer) + 2);
		put_name(&w, answer->pointer);
	}
	if (query->edns)
		put_opt(&w, answer);
	return w.size;
}

static int digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
				      : -1;
}

/* RFC 3596 2.5: 32 digits, the last one first. */
static size_t reversed_v6(uint8_t address[16], const char *name)
{
	memset(address, 0, 16);
	for (int i = 31; i >= 0; i--, name += 2) {
		int value = digit(name[0]);

		if (value < 0 || name[1] != '.')
			return 0;
		address[i / 2] |= (uint8_t)(i & 1 ? value : value << 4);
	}
	return strcmp(name, "ip6.arpa") ? 0 : 16;
}

size_t dns_reversed(uint8_t address[16], const char *name)
{
	static const char below[] = ".in-addr.arpa";
	char text[INET_ADDRSTRLEN], canonical[INET_ADDRSTRLEN];
	size_t size = strlen(name);
	struct in_addr v4;
	uint32_t turned;

	if (size < sizeof(below) || size - (sizeof(below) - 1) >= sizeof(text))
		return reversed_v6(address, name);
	size -= sizeof(below) - 1;
	memcpy(text, name, size);
	text[size] = '\0';
	if (strcmp(name + size, below) != 0 ||
	    inet_pton(AF_INET, text, &v4) != 1 ||
	    strcmp(inet_ntop(AF_INET, &v4, canonical, sizeof(canonical)),
		   text) != 0)
		return 0;
	turned = __builtin_bswap32(v4.s_addr);
	memcpy(address, &turned, 4);
	return 4;
}
