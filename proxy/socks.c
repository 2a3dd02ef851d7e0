/* SPDX-License-Identifier: Apache-2.0 */
/* A strict, bounded parser of SOCKS5, SOCKS4 and SOCKS4a (server side). */
#include "proxy/socks.h"

#include <arpa/inet.h>

#include "proxy/http1.h"

enum {
	COMMAND_CONNECT = 1,
	METHOD_NONE = 0x00,
	METHOD_PASSWORD = 0x02,
	METHOD_UNACCEPTABLE = 0xff,
	ADDRESS_V4 = 1,
	ADDRESS_NAME = 3,
	ADDRESS_V6 = 4,
	V4_GRANTED = 90,
	V4_REJECTED = 91,
};

size_t socks_reply(uint8_t version, enum socks_code code, unsigned char *reply)
{
	/* No bound address is told: it is the host's affair. */
	if (version == 4) {
		memset(reply, 0, 8);
		reply[1] = code == SOCKS_GRANTED ? V4_GRANTED : V4_REJECTED;
		return 8;
	}
	memset(reply, 0, 10);
	reply[0] = 5;
	reply[1] = (unsigned char)code;
	reply[3] = ADDRESS_V4;
	return 10;
}

static enum socks_step answer(struct socks *socks, enum socks_step step,
			      unsigned char version, unsigned char value)
{
	socks->answer[0] = version;
	socks->answer[1] = value;
	socks->answer_size = 2;
	return step;
}

static enum socks_step refuse(struct socks *socks, enum socks_code code,
			      const char *reason)
{
	socks->reason = reason;
	socks->answer_size =
		(uint8_t)socks_reply(socks->version, code, socks->answer);
	return SOCKS_BAD;
}

static uint16_t read_port(const unsigned char *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

/* The request is whole: is it one that can be asked about? */
static enum socks_step request(struct socks *socks, struct proxy_text host,
			       uint16_t port)
{
	if (!http1_host(host))
		return refuse(socks, SOCKS_DENIED,
			      "the host holds bytes that no host name has");
	if (!port)
		return refuse(socks, SOCKS_DENIED, "the port is 0");
	if (host.data != socks->host)
		memcpy(socks->host, host.data, host.size);
	socks->host[host.size] = '\0';
	socks->port = port;
	return SOCKS_REQUEST;
}

static enum socks_step request_address(struct socks *socks, int family,
				       const unsigned char *bytes,
				       uint16_t port)
{
	inet_ntop(family, bytes, socks->host, sizeof(socks->host));
	return request(socks, proxy_text_of(socks->host), port);
}

/* VER NMETHODS METHODS */
static enum socks_step greeting(struct socks *socks, const unsigned char *data,
				size_t size, size_t *used)
{
	size_t count = size > 1 ? data[1] : 0;

	if (size < 2 || size < 2 + count)
		return SOCKS_MORE;
	*used = 2 + count;
	if (!socks->login && memchr(data + 2, METHOD_NONE, count)) {
		socks->state = SOCKS_AWAIT_REQUEST;
		return answer(socks, SOCKS_ANSWER, 5, METHOD_NONE);
	}
	if (memchr(data + 2, METHOD_PASSWORD, count)) {
		socks->state = SOCKS_PASSWORD;
		return answer(socks, SOCKS_ANSWER, 5, METHOD_PASSWORD);
	}
	socks->reason = "no method that is offered will do";
	return answer(socks, SOCKS_BAD, 5, METHOD_UNACCEPTABLE);
}

static bool lets_in(const struct socks *socks, const char *data, size_t user,
		    size_t password)
{
	return !socks->login ||
	       login_user(socks->login, (struct proxy_text){ data + 2, user },
			  (struct proxy_text){ data + 3 + user, password });
}

/* VER ULEN UNAME PLEN PASSWD */
static enum socks_step password(struct socks *socks, const unsigned char *data,
				size_t size, size_t *used)
{
	size_t user, whole;

	if (data[0] != 1) {
		*used = 1;
		socks->reason = "the version of the sub-negotiation is not 1";
		return answer(socks, SOCKS_BAD, 1, 1);
	}
	if (size < 2)
		return SOCKS_MORE;
	user = data[1];
	if (size < 3 + user)
		return SOCKS_MORE;
	whole = 3 + user + data[2 + user];
	if (size < whole)
		return SOCKS_MORE;
	*used = whole;
	if (!lets_in(socks, (const char *)data, user, data[2 + user])) {
		socks->reason = "the user or the password is another one";
		return answer(socks, SOCKS_BAD, 1, 1);
	}
	socks->state = SOCKS_AWAIT_REQUEST;
	return answer(socks, SOCKS_ANSWER, 1, 0);
}

/* Size of the address with its type; 0 when that is unknown. */
static size_t address_size(const unsigned char *data)
{
	switch (data[3]) {
	case ADDRESS_V4:
		return 1 + 4;
	case ADDRESS_V6:
		return 1 + 16;
	case ADDRESS_NAME:
		return 2 + (size_t)data[4];
	default:
		return 0;
	}
}

static enum socks_step check_head(struct socks *socks,
				  const unsigned char *data)
{
	if (data[0] != 5)
		return refuse(socks, SOCKS_FAILURE,
			      "the version of the request is not 5");
	if (data[2] != 0)
		return refuse(socks, SOCKS_FAILURE,
			      "the reserved byte is not zero");
	if (!address_size(data))
		return refuse(socks, SOCKS_NO_ADDRESS_TYPE,
			      "the address type is unknown");
	return SOCKS_REQUEST;
}

/* VER CMD RSV ATYP DST.ADDR DST.PORT */
static enum socks_step request5(struct socks *socks, const unsigned char *data,
				size_t size, size_t *used)
{
	size_t whole;
	uint16_t port;

	if (size < 5)
		return SOCKS_MORE;
	if (check_head(socks, data) == SOCKS_BAD) {
		*used = size;
		return SOCKS_BAD;
	}
	whole = 3 + address_size(data) + 2;
	if (size < whole)
		return SOCKS_MORE;
	*used = whole;
	/* Known only now, so that the client has sent all before it reads. */
	if (data[1] != COMMAND_CONNECT)
		return refuse(socks, SOCKS_NO_COMMAND,
			      "only CONNECT is served");
	port = read_port(data + whole - 2);
	if (data[3] == ADDRESS_V4)
		return request_address(socks, AF_INET, data + 4, port);
	if (data[3] == ADDRESS_V6)
		return request_address(socks, AF_INET6, data + 4, port);
	return request(socks,
		       (struct proxy_text){ (const char *)data + 5, data[4] },
		       port);
}

/*
 * A text that ends in NUL, at @from. Its size, or -1: not whole yet, or, with
 * @bad set, too long.
 */
static ptrdiff_t text_size(const unsigned char *data, size_t size, size_t from,
			   size_t limit, bool *bad)
{
	size_t have = size > from ? size - from : 0;
	const unsigned char *end =
		have ? memchr(data + from, 0,
			      have > limit + 1 ? limit + 1 : have)
		     : NULL;

	*bad = !end && have > limit;
	return end ? end - (data + from) : -1;
}

static enum socks_step too_long(struct socks *socks, bool bad, size_t size,
				size_t *used)
{
	if (!bad)
		return SOCKS_MORE;
	*used = size;
	return refuse(socks, SOCKS_FAILURE, "user or host is too long");
}

/* VN CD DSTPORT DSTIP USERID NULL, and for 0.0.0.x also HOST NULL (4a) */
static enum socks_step request4(struct socks *socks, const unsigned char *data,
				size_t size, size_t *used)
{
	ptrdiff_t user, host = 0;
	bool named, bad;
	size_t whole;

	if (size < 9)
		return SOCKS_MORE;
	named = !data[4] && !data[5] && !data[6] && data[7];
	user = text_size(data, size, 8, SOCKS_USER_MAX, &bad);
	if (user < 0)
		return too_long(socks, bad, size, used);
	whole = 8 + (size_t)user + 1;
	if (named) {
		host = text_size(data, size, whole, SOCKS_HOST_MAX, &bad);
		if (host < 0)
			return too_long(socks, bad, size, used);
	}
	*used = whole + (named ? (size_t)host + 1 : 0);
	if (socks->login)
		return refuse(socks, SOCKS_DENIED, "SOCKS4 has no password");
	if (data[1] != COMMAND_CONNECT)
		return refuse(socks, SOCKS_NO_COMMAND,
			      "only CONNECT is served");
	if (!named)
		return request_address(socks, AF_INET, data + 4,
				       read_port(data + 2));
	return request(
		socks,
		(struct proxy_text){ (const char *)data + whole, (size_t)host },
		read_port(data + 2));
}

enum socks_step socks_next(struct socks *socks, const char *data, size_t size,
			   size_t *used)
{
	const unsigned char *bytes = (const unsigned char *)data;

	*used = 0;
	socks->answer_size = 0;
	if (!size)
		return SOCKS_MORE;
	if (socks->state == SOCKS_START)
		socks->version = bytes[0];
	if (socks->version == 4)
		return request4(socks, bytes, size, used);
	if (socks->state == SOCKS_START)
		return greeting(socks, bytes, size, used);
	if (socks->state == SOCKS_PASSWORD)
		return password(socks, bytes, size, used);
	return request5(socks, bytes, size, used);
}
