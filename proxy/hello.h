/* SPDX-License-Identifier: Apache-2.0 */
/* What a client's first bytes in a tunnel are: TLS, HTTP, or neither. */
#ifndef SRT_PROXY_HELLO_H
#define SRT_PROXY_HELLO_H

#include "proxy/text.h"

enum {
	HELLO_NAME_MAX = 255,
	HELLO_MAX = 16384,     /* bytes of a ClientHello with its records */
	HELLO_LINE_MAX = 8192, /* of an HTTP request line */
	HELLO_METHOD_MAX = 32,
};

enum hello_kind {
	HELLO_MORE, /* more bytes are needed to tell */
	HELLO_TLS,  /* a whole ClientHello, @hello is filled in */
	HELLO_HTTP, /* a request line, or what some server would take for one */
	HELLO_OTHER, /* neither */
	HELLO_BAD,   /* TLS, but malformed */
};

/**
 * struct hello - what of a ClientHello counts
 * @name: the server name of its SNI, in lower case; "" for none
 * @newer: it offers no TLS 1.2
 * @reason: of HELLO_BAD, static text
 */
struct hello {
	char name[HELLO_NAME_MAX + 1];
	bool newer;
	const char *reason;
};

/**
 * hello_read() - look at the bytes from the first one on, each time anew
 *
 * What may be HTTP for any server is HELLO_HTTP, however odd, so that a strict
 * parser refuses it rather than nobody reads it. A ClientHello is read strictly
 * (RFC 5246 7.4.1.2, RFC 6066 3, RFC 8446 4.2.1): what is too long, or named
 * twice, is HELLO_BAD, and so is what only some servers take for the beginning
 * of TLS: a ClientHello of SSL 2.0, another record before it.
 */
enum hello_kind hello_read(struct hello *hello, const char *data, size_t size);

#endif
