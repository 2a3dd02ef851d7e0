/* SPDX-License-Identifier: Apache-2.0 */
/* What fields say of the connection: its options, what ends at a proxy, what
 * may trail. */
#include "proxy/http1.h"
#include "proxy/http1_private.h"

bool http1_member(struct proxy_text *list, struct proxy_text *member)
{
	while (list->size) {
		const char *comma = memchr(list->data, ',', list->size);
		size_t size = comma ? (size_t)(comma - list->data) : list->size;

		*member = http1_trim((struct proxy_text){ list->data, size });
		size += comma != NULL;
		list->data += size;
		list->size -= size;
		if (member->size)
			return true;
	}
	return false;
}

bool http1_lists_option(const struct proxy_header *headers, size_t count,
			struct proxy_text option)
{
	struct proxy_text member;

	for (size_t i = 0; i < count; i++) {
		struct proxy_text list = headers[i].value;

		if (!proxy_text_is(headers[i].name, "connection"))
			continue;
		while (http1_member(&list, &member)) {
			if (proxy_text_same(member, option))
				return true;
		}
	}
	return false;
}

/*
 * Such a field would end here, though whoever judges the body reads it by it,
 * and the next reader would read the body in another way.
 */
static bool is_of_content(struct proxy_text name)
{
	return proxy_text_is(name, "content-encoding") ||
	       proxy_text_is(name, "content-type");
}

bool http1_check_options(const struct proxy_header *headers, size_t count,
			 struct http1_refusal *refusal)
{
	struct proxy_text member;
	unsigned int members = 0;

	for (size_t i = 0; i < count; i++) {
		struct proxy_text list = headers[i].value;

		if (!proxy_text_is(headers[i].name, "connection"))
			continue;
		while (http1_member(&list, &member)) {
			if (!http1_token(member) ||
			    ++members > HTTP1_OPTIONS_MAX)
				return http1_refuse(
					refusal, 400,
					"malformed or overlong Connection");
			if (is_of_content(member))
				return http1_refuse(
					refusal, 400,
					"Connection names a field of the body");
		}
	}
	return true;
}

static bool is_listed(struct proxy_text name, const char *const *list)
{
	for (; *list; list++) {
		if (proxy_text_is(name, *list))
			return true;
	}
	return name.size >= 6 && strncasecmp(name.data, "proxy-", 6) == 0;
}

static const char *const hop_by_hop[] = {
	"connection",	     "keep-alive", "te", "trailer",
	"transfer-encoding", "upgrade",	   NULL
};

/* By its first letter most names are none of hop_by_hop[], nor "proxy-". */
static bool may_be_hop_by_hop(struct proxy_text name)
{
	return name.size && memchr("cktup", name.data[0] | 0x20, 5);
}

bool http1_hop_by_hop(struct proxy_text name,
		      const struct proxy_header *headers, size_t count)
{
	return (may_be_hop_by_hop(name) && is_listed(name, hop_by_hop)) ||
	       http1_lists_option(headers, count, name);
}

bool http1_reserved(struct proxy_text name)
{
	static const char *const others[] = { "content-length", "host",
					      "expect", NULL };

	return is_listed(name, hop_by_hop) || is_listed(name, others);
}

/* How often @name occurs; @last is its last field. */
size_t http1_find(const struct proxy_header *headers, size_t count,
		  const char *name, const struct proxy_header **last)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++) {
		if (proxy_text_is(headers[i].name, name)) {
			*last = &headers[i];
			found++;
		}
	}
	return found;
}

/* Does the message ask for, or grant, exactly a WebSocket upgrade? */
bool http1_asks_websocket(const struct proxy_header *headers, size_t count)
{
	const struct proxy_header *upgrade = NULL;

	return http1_find(headers, count, "upgrade", &upgrade) == 1 &&
	       proxy_text_is(upgrade->value, "websocket") &&
	       http1_lists_option(headers, count, proxy_text_of("upgrade"));
}

bool http1_trailers(struct proxy_text section, struct proxy_header *headers,
		    size_t capacity, size_t *count)
{
	struct http1_refusal refusal;

	return http1_read_fields(section, headers, capacity, count, &refusal);
}

bool http1_trailing(struct proxy_text name)
{
	static const char *const others[] = { "age",
					      "authorization",
					      "cache-control",
					      "content-encoding",
					      "content-range",
					      "content-type",
					      "cookie",
					      "date",
					      "expires",
					      "if-match",
					      "if-modified-since",
					      "if-none-match",
					      "if-range",
					      "if-unmodified-since",
					      "location",
					      "max-forwards",
					      "range",
					      "retry-after",
					      "set-cookie",
					      "vary",
					      "www-authenticate",
					      NULL };

	return !http1_reserved(name) && !is_listed(name, others);
}

bool http1_wants_trailers(const struct proxy_header *headers, size_t count)
{
	struct proxy_text member;

	for (size_t i = 0; i < count; i++) {
		struct proxy_text list = headers[i].value;

		if (!proxy_text_is(headers[i].name, "te"))
			continue;
		while (http1_member(&list, &member)) {
			if (proxy_text_is(member, "trailers"))
				return true;
		}
	}
	return false;
}
