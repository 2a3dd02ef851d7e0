/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what a client says with a user and a password. */
#include "proxy/login.h"

static bool same(struct proxy_text given, struct proxy_text wanted)
{
	volatile unsigned char difference = 0;

	if (given.size != wanted.size)
		return false;
	for (size_t i = 0; i < wanted.size; i++)
		difference |= (unsigned char)(given.data[i] ^ wanted.data[i]);
	return !difference;
}

bool login_user(const struct proxy_login *login, struct proxy_text user,
		struct proxy_text password)
{
	bool known = same(user, login->user);

	return same(password, login->password) && known;
}

/* What follows the name of a scheme, which has no case; NULL: another one. */
static struct proxy_text behind(struct proxy_text value, const char *scheme)
{
	size_t size = strlen(scheme);

	if (value.size <= size ||
	    !proxy_text_is((struct proxy_text){ value.data, size }, scheme))
		return (struct proxy_text){ NULL, 0 };
	return (struct proxy_text){ value.data + size, value.size - size };
}

/* Basic with both, or the password alone as a bearer token (RFC 6750). */
static bool is_right(const struct proxy_login *login, struct proxy_text value)
{
	struct proxy_text given = behind(value, "basic ");

	if (given.data)
		return same(given, behind(login->authorization, "basic "));
	given = behind(value, "bearer ");
	return given.data && same(given, login->password);
}

bool login_head(const struct proxy_login *login,
		const struct proxy_header *headers, size_t count)
{
	const struct proxy_text *value = NULL;

	for (size_t i = 0; i < count; i++) {
		if (!proxy_text_is(headers[i].name, "proxy-authorization"))
			continue;
		if (value)
			return false;
		value = &headers[i].value;
	}
	return value && is_right(login, *value);
}
