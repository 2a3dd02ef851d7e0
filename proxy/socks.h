/* SPDX-License-Identifier: Apache-2.0 */
/* A strict, bounded parser of SOCKS5, SOCKS4 and SOCKS4a (server side). */
#ifndef SRT_PROXY_SOCKS_H
#define SRT_PROXY_SOCKS_H

#include <stdint.h>

#include "proxy/login.h"
#include "proxy/text.h"

/*
 * Like the HTTP/1 parser: nothing here allocates, blocks or knows the event
 * loop. Bytes are used only once a message is whole, and no message is longer
 * than SOCKS_MESSAGE_MAX, so a caller that holds so much need not grow.
 */

enum {
	SOCKS_HOST_MAX = 255,
	SOCKS_USER_MAX = 255,
	SOCKS_MESSAGE_MAX = 8 + SOCKS_USER_MAX + 1 + SOCKS_HOST_MAX + 1,
	SOCKS_REPLY_MAX = 10,
};

/* Replies of RFC 1928 6; SOCKS4 knows only granted and rejected. */
enum socks_code {
	SOCKS_GRANTED = 0x00,
	SOCKS_FAILURE = 0x01,
	SOCKS_DENIED = 0x02, /* not allowed by ruleset */
	SOCKS_NETWORK_UNREACHABLE = 0x03,
	SOCKS_HOST_UNREACHABLE = 0x04,
	SOCKS_REFUSED = 0x05,
	SOCKS_NO_COMMAND = 0x07,
	SOCKS_NO_ADDRESS_TYPE = 0x08,
};

enum socks_state {
	SOCKS_START,
	SOCKS_PASSWORD, /* RFC 1929 */
	SOCKS_AWAIT_REQUEST,
};

enum socks_step {
	SOCKS_MORE,    /* the message is not whole */
	SOCKS_ANSWER,  /* send @answer and go on */
	SOCKS_REQUEST, /* @host, @port are wanted: socks_reply() ends it */
	SOCKS_BAD,     /* send @answer (perhaps nothing) and close */
};

/**
 * struct socks - the negotiation of one client; zeroed at its start but for
 * @login: whom to let in; NULL: everybody. Borrowed. SOCKS4 has no password, so
 *	with it nobody is
 * @version: 4 or 5, once known
 * @host: with SOCKS_REQUEST: NUL-terminated, a host as http1_host() has it; an
 *	address in its usual text form
 * @reason: with SOCKS_BAD: static text
 * @answer, @answer_size: what to send
 */
struct socks {
	const struct proxy_login *login;
	enum socks_state state;
	uint8_t version;
	uint8_t answer_size;
	uint16_t port;
	const char *reason;
	unsigned char answer[SOCKS_REPLY_MAX];
	char host[SOCKS_HOST_MAX + 1];
};

/** socks_starts() - is this the first byte of a SOCKS client? */
static inline bool socks_starts(char byte)
{
	return byte == 4 || byte == 5;
}

/**
 * socks_next() - one step through the negotiation (RFC 1928, RFC 1929)
 * @data, @size: what came and was not used yet
 * @used: out: bytes of it that are done with; 0 with SOCKS_MORE
 *
 * Without a @login any user name and password will do. Commands other than
 * CONNECT, unknown address types, a reserved byte that is not zero and hosts
 * that are none are refused with a whole reply.
 */
enum socks_step socks_next(struct socks *socks, const char *data, size_t size,
			   size_t *used);

/**
 * socks_reply() - write the reply to a request
 * @reply: SOCKS_REPLY_MAX bytes
 * Return: its size.
 */
size_t socks_reply(uint8_t version, enum socks_code code, unsigned char *reply);

#endif
