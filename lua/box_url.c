/* SPDX-License-Identifier: Apache-2.0 */
/* srt.url: strict parsing of absolute URLs, and percent-encoding. */
#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

#include "lua/box_srt.h"
#include "lua/box_state.h"

struct span {
	const char *p, *end;
};

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static int url_encode(lua_State *B)
{
	static const char digits[] = "0123456789ABCDEF";
	size_t size;
	const char *in = luaL_checklstring(B, 1, &size);
	luaL_Buffer out;

	box_charge(B, size / 4);
	luaL_buffinit(B, &out);
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)in[i];

		if (c && (isalnum(c) || strchr("-._~", c))) {
			luaL_addchar(&out, in[i]);
			continue;
		}
		luaL_addchar(&out, '%');
		luaL_addchar(&out, digits[c >> 4]);
		luaL_addchar(&out, digits[c & 15]);
	}
	luaL_pushresult(&out);
	return 1;
}

static int refuse(lua_State *B, const char *why)
{
	lua_pushnil(B);
	lua_pushstring(B, why);
	return 2;
}

static int url_decode(lua_State *B)
{
	size_t size, used = 0;
	const char *in = luaL_checklstring(B, 1, &size);
	luaL_Buffer buffer;
	char *out;

	box_charge(B, size / 4);
	out = luaL_buffinitsize(B, &buffer, size);
	for (size_t i = 0; i < size; i++) {
		int high, low;

		if (in[i] != '%') {
			out[used++] = in[i];
			continue;
		}
		high = size - i > 2 ? hex_digit(in[i + 1]) : -1;
		low = size - i > 2 ? hex_digit(in[i + 2]) : -1;
		if (high < 0 || low < 0)
			return refuse(B, "a '%' without two hex digits");
		out[used++] = (char)(high << 4 | low);
		i += 2;
	}
	luaL_pushresultsize(&buffer, used);
	return 1;
}

static void set_span(lua_State *B, const char *name, struct span span)
{
	lua_pushlstring(B, span.p, (size_t)(span.end - span.p));
	lua_setfield(B, -2, name);
}

/* What stands before the first of @ends goes to @out; @in moves there. */
static void take_until(struct span *in, const char *ends, struct span *out)
{
	out->p = in->p;
	/* No byte of a URL is 0 here, which strchr() would find. */
	while (in->p < in->end && !strchr(ends, *in->p))
		in->p++;
	out->end = in->p;
}

static bool take_scheme(lua_State *B, struct span *url)
{
	char scheme[16];
	size_t n = 0;

	while (n < sizeof(scheme) && url->p < url->end && *url->p != ':') {
		unsigned char c = (unsigned char)*url->p++;

		if (!isalpha(c) && !(n && (isdigit(c) || strchr("+-.", c))))
			return false;
		scheme[n++] = (char)tolower(c);
	}
	if (n == 0 || url->end - url->p < 3 || memcmp(url->p, "://", 3) != 0)
		return false;
	url->p += 3;
	lua_pushlstring(B, scheme, n);
	lua_setfield(B, -2, "scheme");
	return true;
}

static bool take_port(lua_State *B, struct span port)
{
	long value = 0;

	if (port.p == port.end || port.end - port.p > 5)
		return false;
	for (; port.p < port.end; port.p++) {
		if (!isdigit((unsigned char)*port.p))
			return false;
		value = value * 10 + (*port.p - '0');
	}
	if (value < 1 || value > 65535)
		return false;
	lua_pushinteger(B, value);
	lua_setfield(B, -2, "port");
	return true;
}

static void standard_port(lua_State *B)
{
	static const struct {
		const char *scheme;
		int port;
	} ports[] = {
		{ "http", 80 }, { "https", 443 }, { "ws", 80 }, { "wss", 443 }
	};

	lua_getfield(B, -1, "scheme");
	for (size_t i = 0; i < sizeof(ports) / sizeof(*ports); i++) {
		if (strcmp(lua_tostring(B, -1), ports[i].scheme) != 0)
			continue;
		lua_pushinteger(B, ports[i].port);
		lua_setfield(B, -3, "port");
	}
	lua_pop(B, 1);
}

/* Lower case; the brackets of an IPv6 address are not part of it. */
static bool set_host(lua_State *B, struct span host, bool brackets)
{
	size_t size = (size_t)(host.end - host.p);
	char name[256];

	if (size == 0 || size >= sizeof(name))
		return false;
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)host.p[i];
		bool fits = brackets ? isxdigit(c) || c == ':' || c == '.'
				     : isalnum(c) || c == '-' || c == '.' ||
					       c == '_';

		if (!fits)
			return false;
		name[i] = (char)tolower(c);
	}
	lua_pushlstring(B, name, size);
	lua_setfield(B, -2, "host");
	return true;
}

/* [user@]host[:port] */
static bool take_authority(lua_State *B, struct span authority)
{
	struct span host = authority;
	const char *at = memchr(host.p, '@', (size_t)(host.end - host.p));
	bool brackets;

	if (at) {
		set_span(B, "user", (struct span){ host.p, at });
		host.p = at + 1;
	}
	brackets = host.p < host.end && *host.p == '[';
	if (brackets) {
		authority.p = ++host.p;
		take_until(&authority, "]", &host);
		if (authority.p++ == authority.end)
			return false;
	} else {
		authority.p = host.p;
		take_until(&authority, ":", &host);
	}
	if (!set_host(B, host, brackets))
		return false;
	if (authority.p == authority.end) {
		standard_port(B);
		return true;
	}
	if (*authority.p++ != ':')
		return false;
	return take_port(B, authority);
}

static bool is_printable(struct span url)
{
	for (; url.p < url.end; url.p++)
		if ((unsigned char)*url.p <= ' ' || *url.p == 0x7f ||
		    *url.p == '\\')
			return false;
	return true;
}

/* srt.url.parse(s): what two readers could read in two ways is refused. */
static int url_parse(lua_State *B)
{
	size_t size;
	const char *text = luaL_checklstring(B, 1, &size);
	static const char root[] = "/";
	struct span url = { text, text + size }, part;

	box_charge(B, size / 4);
	lua_createtable(B, 0, 6);
	if (!is_printable(url))
		return refuse(B, "a space, a control byte or a backslash");
	if (!take_scheme(B, &url))
		return refuse(B, "no scheme://");
	take_until(&url, "/?#", &part);
	if (!take_authority(B, part))
		return refuse(B, "bad host or port");
	take_until(&url, "?#", &part);
	if (part.p == part.end)
		part = (struct span){ root, root + 1 };
	set_span(B, "path", part);
	if (url.p < url.end && *url.p == '?') {
		url.p++;
		take_until(&url, "#", &part);
		set_span(B, "query", part);
	}
	if (url.p < url.end) {
		url.p++;
		set_span(B, "fragment", url);
	}
	return 1;
}

void box_url_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "decode", url_decode },
		{ "encode", url_encode },
		{ "parse", url_parse },
		{ NULL, NULL },
	};

	luaL_newlib(B, functions);
}
