/* SPDX-License-Identifier: Apache-2.0 */
/* What a refused client gets to read: lines for people, or JSON. */
#include "proxy/internal.h"

enum { TARGET_MAX = 300 };

/* The weight of a member's q parameter in thousandths (RFC 9110 12.4.2). */
static unsigned int weight_of(struct proxy_text member)
{
	const char *q = memmem(member.data, member.size, "q=", 2);
	const char *end = member.data + member.size;
	unsigned int weight = 0, unit = 1000;

	if (!q)
		return 1000;
	for (q += 2; q < end; q++) {
		if (*q == '.')
			continue;
		if (*q < '0' || *q > '9')
			break;
		weight += (unsigned int)(*q - '0') * unit;
		unit /= 10;
	}
	return weight;
}

static bool is_type(struct proxy_text member, const char *type)
{
	const char *end = memchr(member.data, ';', member.size);

	if (end)
		member.size = (size_t)(end - member.data);
	while (member.size && (member.data[member.size - 1] == ' ' ||
			       member.data[member.size - 1] == '\t'))
		member.size--;
	return proxy_text_is(member, type);
}

bool denial_wants_json(const struct proxy_header *headers, size_t count)
{
	unsigned int json = 0, text = 0;
	struct proxy_text member;

	for (size_t i = 0; i < count; i++) {
		struct proxy_text list = headers[i].value;

		if (!proxy_text_is(headers[i].name, "accept"))
			continue;
		while (http1_member(&list, &member)) {
			unsigned int weight = weight_of(member);

			/* Of two that weigh the same the first is meant. */
			if (is_type(member, "application/json"))
				json = weight > text ? weight : json;
			else if (is_type(member, "text/plain") ||
				 is_type(member, "text/html"))
				text = weight > text && weight > json ? weight
								      : text;
		}
	}
	return json > text;
}

/* The length of the UTF-8 sequence at @text, 0 where there is none. */
static size_t sequence(struct proxy_text text)
{
	unsigned char first = (unsigned char)text.data[0];
	size_t size = first < 0x80   ? 1
		      : first < 0xc2 ? 0
		      : first < 0xe0 ? 2
		      : first < 0xf0 ? 3
		      : first < 0xf5 ? 4
				     : 0;

	if (size > text.size)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if (((unsigned char)text.data[i] & 0xc0) != 0x80)
			return 0;
	}
	return size;
}

static void add_string(struct pbuf *out, struct proxy_text text)
{
	pbuf_add(out, "\"", 1);
	while (text.size) {
		size_t size = sequence(text);
		unsigned char byte = (unsigned char)text.data[0];

		if (size == 1 && (byte < 0x20 || byte == 0x7f))
			pbuf_format(out, "\\u%04x", byte);
		else if (size == 1 && (byte == '"' || byte == '\\'))
			pbuf_format(out, "\\%c", byte);
		else if (size)
			pbuf_add(out, text.data, size);
		else
			pbuf_add(out, "\xef\xbf\xbd", 3);
		size = size ? size : 1;
		text.data += size;
		text.size -= size;
	}
	pbuf_add(out, "\"", 1);
}

static void add_member(struct pbuf *out, const char *name, const char *value)
{
	if (!value)
		return;
	pbuf_format(out, ",\"%s\":", name);
	add_string(out, proxy_text_of(value));
}

static void add_line(struct pbuf *out, const char *label, const char *value)
{
	if (!value)
		return;
	pbuf_text_add(out, proxy_text_of(label));
	pbuf_text_add(out, proxy_text_of(value));
	pbuf_add(out, "\n", 1);
}

void denial_target(struct pbuf *out, const struct http1_request *request)
{
	struct proxy_text target = request->target;
	const char *mark = memchr(target.data, '?', target.size);

	/* Queries may hold secrets, and whoever asked knows them. */
	if (mark)
		target.size = (size_t)(mark - target.data);
	if (target.size > TARGET_MAX)
		target.size = TARGET_MAX;
	pbuf_text_add(out, request->method);
	pbuf_add(out, " ", 1);
	pbuf_text_add(out, target);
	pbuf_add(out, "", 1); /* a C string */
}

void denial_body(struct pbuf *out, const struct reply *reply)
{
	if (reply->json) {
		/* Package managers show what is called "error". */
		pbuf_format(out, "{\"error\":");
		add_string(out, proxy_text_of(reply->reason));
		pbuf_format(out, ",\"status\":%u", reply->status);
		add_member(out, "code", reply->code);
		add_member(out, "denied", reply->denied);
		add_member(out, "rule", reply->rule);
		add_member(out, "instead", reply->advice);
		pbuf_add(out, "}\n", 2);
		return;
	}
	add_line(out, "", reply->title);
	add_line(out, "", reply->reason);
	add_line(out, "denied: ", reply->denied);
	add_line(out, "rule: ", reply->rule);
	add_line(out, "instead: ", reply->advice);
}
