/* SPDX-License-Identifier: Apache-2.0 */
/* srt.base64, srt.sha256 and srt.hmac. */
#include <bearssl.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lua/box_secret.h"
#include "lua/box_srt.h"
#include "lua/box_state.h"

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int base64_encode(lua_State *B)
{
	size_t size, left;
	const unsigned char *in;
	luaL_Buffer buffer;
	char *out;

	if (box_secret_is(B, 1))
		return box_secret_wrap(B, "base64", 1);
	in = (const unsigned char *)luaL_checklstring(B, 1, &size);
	box_charge(B, size / 8);
	out = luaL_buffinitsize(B, &buffer, (size + 2) / 3 * 4);
	for (left = size; left > 0; in += 3) {
		uint32_t bits = (uint32_t)in[0] << 16 |
				(left > 1 ? (uint32_t)in[1] << 8 : 0) |
				(left > 2 ? in[2] : 0);

		*out++ = alphabet[bits >> 18];
		*out++ = alphabet[bits >> 12 & 63];
		*out++ = left > 1 ? alphabet[bits >> 6 & 63] : '=';
		*out++ = left > 2 ? alphabet[bits & 63] : '=';
		left -= left < 3 ? left : 3;
	}
	luaL_pushresultsize(&buffer, (size + 2) / 3 * 4);
	return 1;
}

static int sextet(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* Four characters to up to three bytes; how many, or -1. */
static int decode_group(const char *in, bool last, char *out)
{
	int pad = last && in[3] == '=' ? (in[2] == '=' ? 2 : 1) : 0;
	uint32_t bits = 0;

	for (int i = 0; i < 4; i++) {
		int value = i < 4 - pad ? sextet(in[i]) : 0;

		if (value < 0)
			return -1;
		bits = bits << 6 | (uint32_t)value;
	}
	/* Bits beyond the last byte must be 0: one text for one value. */
	if (bits & ((1u << (8 * pad)) - 1))
		return -1;
	out[0] = (char)(bits >> 16);
	out[1] = (char)(bits >> 8);
	out[2] = (char)bits;
	return 3 - pad;
}

static int base64_decode(lua_State *B)
{
	size_t size, used = 0;
	const char *in = luaL_checklstring(B, 1, &size);
	luaL_Buffer buffer;
	char *out;
	int n = size % 4 ? -1 : 0;

	box_charge(B, size / 4);
	out = luaL_buffinitsize(B, &buffer, size / 4 * 3 + 3);
	for (size_t i = 0; i < size && n >= 0; i += 4) {
		n = decode_group(in + i, i + 4 == size, out + used);
		used += n > 0 ? (size_t)n : 0;
	}
	if (n < 0) {
		lua_pushnil(B);
		lua_pushliteral(B, "no base64");
		return 2;
	}
	luaL_pushresultsize(&buffer, used);
	return 1;
}

void box_base64_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "decode", base64_decode },
		{ "encode", base64_encode },
		{ NULL, NULL },
	};

	luaL_newlib(B, functions);
}

static void push_hex(lua_State *B, const unsigned char *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * br_sha256_SIZE];

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 15];
	}
	lua_pushlstring(B, text, 2 * size);
}

static int srt_sha256(lua_State *B)
{
	unsigned char out[br_sha256_SIZE];
	br_sha256_context context;
	const char *text;
	size_t size;

	if (box_secret_is(B, 1))
		return box_secret_wrap(B, "sha256", 1);
	text = luaL_checklstring(B, 1, &size);
	box_charge(B, 50 + size / 2);
	br_sha256_init(&context);
	br_sha256_update(&context, text, size);
	br_sha256_out(&context, out);
	push_hex(B, out, sizeof(out));
	return 1;
}

/* srt.hmac(key, s): HMAC-SHA-256, RFC 2104 */
static int srt_hmac(lua_State *B)
{
	unsigned char out[br_sha256_SIZE];
	br_hmac_key_context key;
	br_hmac_context context;
	size_t key_size, size;
	const char *secret, *text;

	if (box_secret_is(B, 1) || box_secret_is(B, 2))
		return box_secret_wrap(B, "hmac", 2);
	secret = luaL_checklstring(B, 1, &key_size);
	text = luaL_checklstring(B, 2, &size);
	box_charge(B, 200 + (size + key_size) / 2);
	br_hmac_key_init(&key, &br_sha256_vtable, secret, key_size);
	br_hmac_init(&context, &key, 0);
	br_hmac_update(&context, text, size);
	br_hmac_out(&context, out);
	push_hex(B, out, sizeof(out));
	return 1;
}

void box_hash_open(lua_State *B)
{
	static const luaL_Reg functions[] = {
		{ "hmac", srt_hmac },
		{ "sha256", srt_sha256 },
		{ NULL, NULL },
	};

	luaL_setfuncs(B, functions, 0);
}
