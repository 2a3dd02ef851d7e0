/* SPDX-License-Identifier: Apache-2.0 */
/* What a client has to know before a proxy hears it. Pure. */
#ifndef SRT_PROXY_LOGIN_H
#define SRT_PROXY_LOGIN_H

#include "proxy/http1.h"
#include "proxy/text.h"

/**
 * struct proxy_login - a user and a password, for listeners that others reach
 * @user, @password: as SOCKS5 has them (RFC 1929)
 * @authorization: the value of Proxy-Authorization that they come to, "Basic "
 *	and base64 (RFC 7617)
 */
struct proxy_login {
	struct proxy_text user;
	struct proxy_text password;
	struct proxy_text authorization;
};

/**
 * login_user() - are these the user and the password?
 *
 * It takes as long wherever they begin to differ; only their sizes show.
 */
bool login_user(const struct proxy_login *login, struct proxy_text user,
		struct proxy_text password);

/**
 * login_head() - is there one Proxy-Authorization, and the right one: Basic
 * with user and password, or Bearer with the password?
 */
bool login_head(const struct proxy_login *login,
		const struct proxy_header *headers, size_t count);

#endif
