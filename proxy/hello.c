/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's first bytes in a tunnel are: TLS, HTTP, or neither. */
#include "proxy/hello.h"

#include <stdint.h>

#include "proxy/http1.h"

enum {
	RECORD_LEAST = 20, /* change of cipher, alert, handshake, data: */
	RECORD_HANDSHAKE = 22,
	RECORD_MOST = 23,
	RECORD_HEAD = 5,
	RECORD_MAX = 16384,
	CLIENT_HELLO = 1,
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_VERSIONS = 43,
	NAME_HOST = 0,
	TLS12 = 0x0303,
	SESSION_ID_MAX = 32,
	HELLO_OLD_MAX = 4, /* first bytes of lengths below 1024 */
};

/* Bytes to read; @bad: more was asked for than there is. */
struct reader {
	const unsigned char *data;
	size_t size;
	bool bad;
};

static struct reader take(struct reader *from, size_t size)
{
	struct reader part = { from->data, size, from->bad };

	if (from->bad || size > from->size) {
		from->bad = true;
		return (struct reader){ .bad = true };
	}
	from->data += size;
	from->size -= size;
	return part;
}

static unsigned int number(struct reader *from, size_t bytes)
{
	struct reader part = take(from, bytes);
	unsigned int value = 0;

	for (size_t i = 0; !part.bad && i < bytes; i++)
		value = value << 8 | part.data[i];
	return value;
}

/* What a length of @bytes bytes stands before. */
static struct reader vector(struct reader *from, size_t bytes)
{
	return take(from, number(from, bytes));
}

static bool fail(struct hello *hello, const char *reason)
{
	hello->reason = reason;
	return false;
}

static bool take_name(struct hello *hello, struct reader name)
{
	struct proxy_text text = { (const char *)name.data, name.size };

	/* No address (RFC 6066 3), so no colon either. */
	if (!http1_host(text) || memchr(text.data, ':', text.size) ||
	    text.data[text.size - 1] == '.')
		return fail(hello, "the server name is none");
	for (size_t i = 0; i < text.size; i++) {
		char byte = text.data[i];

		hello->name[i] =
			(char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
	}
	hello->name[text.size] = '\0';
	return true;
}

static bool read_server_name(struct hello *hello, struct reader data)
{
	struct reader list = vector(&data, 2);
	unsigned int kind = number(&list, 1);
	struct reader name = vector(&list, 2);

	/* One name, the only kind there is. */
	if (list.bad || name.bad || data.size || list.size || kind != NAME_HOST)
		return fail(hello, "malformed server name");
	return take_name(hello, name);
}

static bool read_versions(struct hello *hello, struct reader data)
{
	struct reader list = vector(&data, 1);

	if (data.bad || list.bad || data.size || !list.size || list.size % 2)
		return fail(hello, "malformed list of versions");
	hello->newer = true;
	while (list.size) {
		if (number(&list, 2) == TLS12)
			hello->newer = false;
	}
	return true;
}

static bool read_extensions(struct hello *hello, struct reader list)
{
	bool named = false, versioned = false;

	while (list.size && !list.bad) {
		unsigned int kind = number(&list, 2);
		struct reader data = vector(&list, 2);
		bool *seen = kind == EXTENSION_SERVER_NAME ? &named
			     : kind == EXTENSION_VERSIONS  ? &versioned
							   : NULL;

		if (data.bad)
			break;
		if (!seen)
			continue;
		if (*seen)
			return fail(hello, "an extension stands there twice");
		*seen = true;
		if (kind == EXTENSION_SERVER_NAME
			    ? !read_server_name(hello, data)
			    : !read_versions(hello, data))
			return false;
	}
	return !list.bad || fail(hello, "malformed extensions");
}

/* RFC 5246 7.4.1.2 */
static bool read_hello(struct hello *hello, struct reader body)
{
	unsigned int version = number(&body, 2);
	struct reader random = take(&body, 32), session = vector(&body, 1);
	struct reader suites = vector(&body, 2), methods = vector(&body, 1);

	if (random.bad || methods.bad || session.size > SESSION_ID_MAX ||
	    !suites.size || suites.size % 2 || !methods.size)
		return fail(hello, "malformed ClientHello");
	if (version >> 8 != 3)
		return fail(hello, "unknown version in the ClientHello");
	if (version < TLS12)
		hello->newer = false;
	if (body.size) {
		struct reader extensions = vector(&body, 2);

		if (extensions.bad || body.size)
			return fail(hello, "malformed ClientHello");
		return read_extensions(hello, extensions);
	}
	return true;
}

/* One message, perhaps in several records; put together in @message. */
static enum hello_kind gather(struct hello *hello, struct reader from,
			      unsigned char *message, size_t *size)
{
	size_t wanted = 4;

	*size = 0;
	while (*size < wanted) {
		unsigned int kind, major;
		struct reader part;
		size_t room;

		if (from.size < RECORD_HEAD)
			return HELLO_MORE;
		kind = number(&from, 1);
		major = number(&from, 1);
		if (kind != RECORD_HANDSHAKE || major != 3)
			return fail(hello, "no handshake record"), HELLO_BAD;
		number(&from, 1);
		room = number(&from, 2);
		if (!room || room > RECORD_MAX || *size + room > HELLO_MAX)
			return fail(hello, "bad record size"), HELLO_BAD;
		part = take(&from, room < from.size ? room : from.size);
		memcpy(message + *size, part.data, part.size);
		*size += part.size;
		if (*size && message[0] != CLIENT_HELLO)
			return fail(hello, "no ClientHello"), HELLO_BAD;
		if (*size >= 4)
			wanted = 4 + ((size_t)message[1] << 16 |
				      (size_t)message[2] << 8 | message[3]);
		if (wanted > HELLO_MAX)
			return fail(hello, "the ClientHello is too large"),
			       HELLO_BAD;
		if (part.size < room && *size < wanted)
			return HELLO_MORE;
	}
	*size = wanted;
	return HELLO_TLS;
}

static enum hello_kind read_tls(struct hello *hello, struct proxy_text text)
{
	unsigned char message[HELLO_MAX];
	struct reader from = { (const unsigned char *)text.data, text.size,
			       false };
	enum hello_kind kind;
	size_t size;

	kind = gather(hello, from, message, &size);
	if (kind != HELLO_TLS)
		return kind;
	from = (struct reader){ message + 4, size - 4, false };
	return read_hello(hello, from) ? HELLO_TLS : HELLO_BAD;
}

static bool has_version(struct proxy_text line)
{
	for (size_t i = 0; i + 5 <= line.size; i++) {
		if (strncasecmp(line.data + i, "HTTP/", 5) == 0)
			return true;
	}
	return false;
}

static bool begins(struct proxy_text text, const char *with)
{
	size_t size = strlen(with);

	return text.size >= size && strncasecmp(text.data, with, size) == 0;
}

/* HTTP/0.9 has no version, and some servers still take it. */
static bool has_target(struct proxy_text line)
{
	struct proxy_text rest = line;

	while (rest.size && *rest.data != ' ' && *rest.data != '\t') {
		rest.data++;
		rest.size--;
	}
	while (rest.size && (*rest.data == ' ' || *rest.data == '\t')) {
		rest.data++;
		rest.size--;
	}
	return begins(rest, "/") || begins(rest, "http:") ||
	       begins(rest, "https:");
}

static bool is_visible(char byte)
{
	return (unsigned char)byte > ' ' && (unsigned char)byte < 0x7f;
}

/*
 * Can this be the beginning of a request line? Some servers take methods of any
 * length, answer that they have no such one, and read the next request.
 */
static bool has_method(struct proxy_text line)
{
	size_t at = 0;

	while (at < line.size && is_visible(line.data[at]))
		at++;
	return (at <= HELLO_METHOD_MAX ||
		http1_token((struct proxy_text){ line.data, at })) &&
	       (at == line.size || line.data[at] == ' ' ||
		line.data[at] == '\t');
}

/* What is told of a part of a line must hold for the whole of it. */
static enum hello_kind read_line(struct proxy_text text)
{
	const char *end = memchr(text.data, '\n', text.size);
	struct proxy_text line = text;

	if (end)
		line.size = (size_t)(end - text.data);
	if (!has_method(line))
		return HELLO_OTHER;
	/* Its version may be still to come; the parser has a limit. */
	if (line.size > HELLO_LINE_MAX)
		return HELLO_HTTP;
	if (!end)
		return HELLO_MORE;
	return has_version(line) || has_target(line) ? HELLO_HTTP : HELLO_OTHER;
}

/*
 * A ClientHello in the form of SSL 2.0, by which TLS 1.2 can begin as well
 * (RFC 5246 E.2): a length of two bytes, or of three with padding. Most servers
 * still take the first form. It is never read, for no client of today sends it.
 */
static enum hello_kind read_old(struct hello *hello, const char *data,
				size_t size)
{
	size_t head = (unsigned char)data[0] & 0x80 ? 2 : 3;

	if (size <= head)
		return HELLO_MORE;
	if (data[head] != CLIENT_HELLO)
		return HELLO_OTHER;
	if (size == head + 1)
		return HELLO_MORE;
	return data[head + 1] == 3
		       ? (fail(hello, "a ClientHello of SSL 2.0"), HELLO_BAD)
		       : HELLO_OTHER;
}

/* Its first byte is no text's: is it TLS, in any form that a server takes? */
static enum hello_kind read_binary(struct hello *hello, const char *data,
				   size_t size)
{
	unsigned char first = (unsigned char)data[0];

	if (first & 0x80 || first < HELLO_OLD_MAX)
		return read_old(hello, data, size);
	if (first < RECORD_LEAST || first > RECORD_MOST)
		return HELLO_OTHER;
	if (size > 1 && data[1] != 3)
		return HELLO_OTHER;
	return read_tls(hello, (struct proxy_text){ data, size });
}

static bool is_blank(char byte)
{
	return byte == '\r' || byte == '\n' || byte == ' ' || byte == '\t';
}

enum hello_kind hello_read(struct hello *hello, const char *data, size_t size)
{
	size_t skip = 0;

	*hello = (struct hello){ .reason = NULL };
	if (!size)
		return HELLO_MORE;
	if (!is_blank(data[0]) && !is_visible(data[0]))
		return read_binary(hello, data, size);
	/* Servers skip empty lines before a request (RFC 9112 2.2). */
	while (skip < size && is_blank(data[skip]))
		skip++;
	/* As many as it likes: nginx does. The parser has a limit. */
	if (skip > HELLO_LINE_MAX)
		return HELLO_HTTP;
	if (skip == size)
		return HELLO_MORE;
	return read_line((struct proxy_text){ data + skip, size - skip });
}
