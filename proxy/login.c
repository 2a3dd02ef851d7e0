/* SPDX-License-Identifier: Apache-2.0 */
/* Compares what a client says with a user and a password. */
#include "proxy/login.h"

enum { SCHEME_SIZE = sizeof("Basic ") - 1 };

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

/* The name of a scheme has no case. */
static bool is_basic(struct proxy_text value)
{
	return value.size > SCHEME_SIZE &&
	       proxy_text_is((struct proxy_text){ value.data, SCHEME_SIZE },
			     "basic ");
}

static struct proxy_text behind_scheme(struct proxy_text value)
{
	return (struct proxy_text){ value.data + SCHEME_SIZE,
				    value.size - SCHEME_SIZE };
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
	return value && is_basic(*value) && is_basic(login->authorization) &&
	       same(behind_scheme(*value), behind_scheme(login->authorization));
}
