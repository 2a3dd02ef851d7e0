/* SPDX-License-Identifier: Apache-2.0 */
/* Request targets and authorities. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "proxy/http1.h"
#include "proxy/http1_private.h"

enum { HOST_MAX = 255 };

static bool is_letter(unsigned char byte)
{
	byte |= 0x20;
	return byte >= 'a' && byte <= 'z';
}

static bool is_digit(unsigned char byte)
{
	return byte >= '0' && byte <= '9';
}

static bool is_name(struct proxy_text text)
{
	for (size_t i = 0; i < text.size; i++) {
		unsigned char byte = (unsigned char)text.data[i];

		if (!is_letter(byte) && !is_digit(byte) && byte != '-' &&
		    byte != '.' && byte != '_')
			return false;
	}
	return text.size > 0 && text.size <= HOST_MAX;
}

static bool is_ipv6(struct proxy_text text)
{
	char string[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (text.size >= sizeof(string) || memchr(text.data, 0, text.size))
		return false;
	memcpy(string, text.data, text.size);
	string[text.size] = '\0';
	return inet_pton(AF_INET6, string, &address) == 1;
}

bool http1_host(struct proxy_text text)
{
	return text.size > 0 && (is_name(text) || is_ipv6(text));
}

static bool read_port(struct proxy_text text, uint16_t *port)
{
	unsigned int value = 0;

	if (text.size < 1 || text.size > 5 || text.data[0] == '0')
		return false;
	for (size_t i = 0; i < text.size; i++) {
		if (!is_digit((unsigned char)text.data[i]))
			return false;
		value = value * 10 + (unsigned int)(text.data[i] - '0');
	}
	*port = (uint16_t)value;
	return value <= UINT16_MAX;
}

/* Splits "[v6]:port" and "name:port"; @rest is what follows the host. */
static const char *split_host(struct proxy_text text, struct proxy_text *host,
			      struct proxy_text *rest)
{
	const char *end;

	if (text.size && text.data[0] == '[') {
		end = memchr(text.data, ']', text.size);
		if (!end)
			return "unclosed bracket in the host";
		*host = (struct proxy_text){ text.data + 1,
					     (size_t)(end - text.data) - 1 };
		end++;
		if (!is_ipv6(*host))
			return "the brackets hold no plain IPv6 address";
	} else {
		end = text.size ? memchr(text.data, ':', text.size) : NULL;
		if (!end)
			end = text.data + text.size;
		*host = (struct proxy_text){ text.data,
					     (size_t)(end - text.data) };
		if (!host->size)
			return "empty host";
		if (!is_name(*host))
			return "malformed host (letters, digits, '.', '-' and "
			       "'_' only; write other names as xn--)";
	}
	*rest = (struct proxy_text){ end,
				     text.size - (size_t)(end - text.data) };
	return NULL;
}

bool http1_authority(struct proxy_text text, uint16_t standard,
		     struct proxy_text *host, uint16_t *port,
		     struct http1_refusal *refusal)
{
	struct proxy_text rest;
	const char *wrong;

	if (text.size && memchr(text.data, '@', text.size))
		return http1_refuse(refusal, 400,
				    "user information before the host");
	wrong = split_host(text, host, &rest);
	if (wrong)
		return http1_refuse(refusal, 400, wrong);
	if (!rest.size) {
		*port = standard;
		return standard ||
		       http1_refuse(refusal, 400, "the port is missing");
	}
	if (rest.data[0] != ':' ||
	    !read_port((struct proxy_text){ rest.data + 1, rest.size - 1 },
		       port))
		return http1_refuse(refusal, 400,
				    "bad port (1 to 65535, no leading zero)");
	return true;
}

/* RFC 9112 3.2 wants a URI, and a URI is printable ASCII. */
static bool check_bytes(struct proxy_text target, struct http1_refusal *refusal)
{
	for (size_t i = 0; i < target.size; i++) {
		unsigned char byte = (unsigned char)target.data[i];

		if (byte == '#')
			return http1_refuse(refusal, 400,
					    "fragment in the request target");
		if (byte >= 0x80)
			return http1_refuse(refusal, 400,
					    "byte outside ASCII in the "
					    "request target: percent-encode "
					    "it");
		if (byte <= 0x20 || byte == 0x7f)
			return http1_refuse(refusal, 400,
					    "control byte in the request "
					    "target");
	}
	return true;
}

/* The authority of a URL of @wanted, or why the target is not one. */
static const char *find_authority(struct proxy_text target, const char *wanted,
				  struct proxy_text *authority)
{
	const char *colon = memchr(target.data, ':', target.size);
	struct proxy_text scheme, rest;
	size_t size = 0;

	if (target.data[0] == '/' || target.data[0] == '*')
		return "this is a proxy: the request target must be an "
		       "absolute URL such as http://host/path";
	if (!colon)
		return "the request target is not an absolute URL such as "
		       "http://host/path";
	scheme = (struct proxy_text){ target.data,
				      (size_t)(colon - target.data) };
	if (!proxy_text_is(scheme, wanted)) {
		if (wanted[4])
			return "in this tunnel URLs are of the https scheme";
		return proxy_text_is(scheme, "https")
			       ? "https is not fetched in cleartext: use "
				 "CONNECT"
			       : "only URLs of the http scheme are fetched";
	}
	rest = (struct proxy_text){ colon + 1, target.size - scheme.size - 1 };
	if (rest.size < 2 || memcmp(rest.data, "//", 2) != 0)
		return "the URL lacks // before its host";
	rest = (struct proxy_text){ rest.data + 2, rest.size - 2 };
	while (size < rest.size && rest.data[size] != '/' &&
	       rest.data[size] != '?')
		size++;
	*authority = (struct proxy_text){ rest.data, size };
	return NULL;
}

/* Path and query, from what stands behind an authority. */
static bool split_path(struct http1_request *request, struct proxy_text rest,
		       struct http1_refusal *refusal)
{
	const char *mark;

	mark = rest.size ? memchr(rest.data, '?', rest.size) : NULL;
	request->query = (struct proxy_text){ NULL, 0 };
	if (mark) {
		request->query.data = mark + 1;
		request->query.size =
			rest.size - (size_t)(mark - rest.data) - 1;
		rest.size = (size_t)(mark - rest.data);
	}
	/* Some readers take a backslash for a slash. */
	if (rest.size && memchr(rest.data, '\\', rest.size))
		return http1_refuse(refusal, 400, "backslash in the path");
	request->path = rest.size ? rest : proxy_text_of("/");
	return true;
}

bool http1_absolute(struct http1_request *request, const char *scheme,
		    struct http1_refusal *refusal)
{
	struct proxy_text target = request->target, authority, rest;
	const char *wrong;

	if (!check_bytes(target, refusal))
		return false;
	wrong = find_authority(target, scheme, &authority);
	if (wrong)
		return http1_refuse(refusal, 400, wrong);
	if (!http1_authority(authority, http1_standard_port(scheme[4] != '\0'),
			     &request->host, &request->port, refusal))
		return false;
	rest.data = authority.data + authority.size;
	rest.size = target.size - (size_t)(rest.data - target.data);
	return split_path(request, rest, refusal);
}

bool http1_is_inside(const struct http1_inside *inside, struct proxy_text host,
		     uint16_t port)
{
	return port == inside->port && (proxy_text_same(host, inside->host) ||
					proxy_text_same(host, inside->spelled));
}

bool http1_origin(struct http1_request *request,
		  const struct http1_inside *inside,
		  struct http1_refusal *refusal)
{
	if (proxy_text_equal(request->method, "CONNECT"))
		return http1_refuse(refusal, 405, "CONNECT inside a tunnel");
	if (request->target.data[0] == '/') {
		if (!check_bytes(request->target, refusal) ||
		    !split_path(request, request->target, refusal))
			return false;
	} else {
		if (inside->any)
			return http1_refuse(refusal, 400,
					    "the request target must be a "
					    "path: this is no proxy");
		if (!http1_absolute(request, inside->tls ? "https" : "http",
				    refusal))
			return false;
		if (!http1_is_inside(inside, request->host, request->port))
			return http1_refuse(refusal, 421,
					    "the request target differs from "
					    "the tunnel's");
	}
	request->host = inside->host;
	request->port = inside->port;
	return true;
}

bool http1_connect(struct http1_request *request, struct http1_refusal *refusal)
{
	request->connect = true;
	request->path = (struct proxy_text){ NULL, 0 };
	request->query = (struct proxy_text){ NULL, 0 };
	if (!check_bytes(request->target, refusal))
		return false;
	if (memchr(request->target.data, '/', request->target.size))
		return http1_refuse(refusal, 400,
				    "CONNECT takes host:port, not a URL");
	return http1_authority(request->target, 0, &request->host,
			       &request->port, refusal);
}
