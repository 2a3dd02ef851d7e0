/* SPDX-License-Identifier: Apache-2.0 */
/* What the SOCKS parser takes and refuses, one row a line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proxy/socks.h"
#include "proxy/ssh.h"

/* clang-format off */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ROW(text) __LINE__, text, sizeof(text) - 1
#define A16 "aaaaaaaaaaaaaaaa"
#define A64 A16 A16 A16 A16
#define A255 A64 A64 A64 A16 A16 A16 "aaaaaaaaaaaaaaa"
#define NONE "\5\1\0"
#define OK5 "05 00 "

/* What comes, and the answers in hex, then the request, "bad" or "more". */
struct row {
	int line;
	const char *input;
	size_t size;
	const char *want;
};

/* The same for a proxy that hears "srt" with "tok" alone. */
static const struct row closed[] = {
	{ ROW("\5\1\0"), "05 ff bad" },
	{ ROW("\5\2\0\2"), "05 02 more" },
	{ ROW("\5\1\2\1\3srt\3tok\5\1\0\1\1\2\3\4\0\20"), "05 02 01 00 5 1.2.3.4:16" },
	{ ROW("\5\1\2\1\3srt\3tok"), "05 02 01 00 more" },
	{ ROW("\5\1\2\1\3srt\3toK"), "05 02 01 01 bad" },
	{ ROW("\5\1\2\1\3srT\3tok"), "05 02 01 01 bad" },
	{ ROW("\5\1\2\1\3srt\2to"), "05 02 01 01 bad" },
	{ ROW("\5\1\2\1\3srt\4tok\0"), "05 02 01 01 bad" },
	{ ROW("\5\1\2\1\0\0"), "05 02 01 01 bad" },
	{ ROW("\5\1\2\1\6srttok\0"), "05 02 01 01 bad" },
	{ ROW("\4\1\0\20\1\2\3\4\0"), "00 5b 00 00 00 00 00 00 bad" },
	{ ROW("\4\1\0\20\0\0\0\1tok\0a.test\0"), "00 5b 00 00 00 00 00 00 bad" },
};

static const struct row rows[] = {
	/* methods: none is preferred, a password will do, others won't */
	{ ROW("\5"), "more" },
	{ ROW("\5\1"), "more" },
	{ ROW("\5\1\0"), "05 00 more" },
	{ ROW("\5\1\2"), "05 02 more" },
	{ ROW("\5\2\2\0"), "05 00 more" },
	{ ROW("\5\3\1\x80\2"), "05 02 more" },
	{ ROW("\5\1\1"), "05 ff bad" },
	{ ROW("\5\0"), "05 ff bad" },
	{ ROW("\5\2\1\xff"), "05 ff bad" },
	/* passwords: any, also empty ones */
	{ ROW("\5\1\2\1\1u\1p"), "05 02 01 00 more" },
	{ ROW("\5\1\2\1\0\0"), "05 02 01 00 more" },
	{ ROW("\5\1\2\1\3srt\0"), "05 02 01 00 more" },
	{ ROW("\5\1\2\1\3srt\3ab"), "05 02 more" },
	{ ROW("\5\1\2\5"), "05 02 01 01 bad" },
	{ ROW("\5\1\2\1\377" A255 "\377" A255 "\5\1\0\1\1\2\3\4\0\20"), "05 02 01 00 5 1.2.3.4:16" },
	/* destinations */
	{ ROW(NONE "\5\1\0\1\177\0\0\1\0\120"), OK5 "5 127.0.0.1:80" },
	{ ROW(NONE "\5\1\0\3\6a.test\1\273"), OK5 "5 a.test:443" },
	{ ROW(NONE "\5\1\0\3\7a.Test.\1\273"), OK5 "5 a.Test.:443" },
	{ ROW(NONE "\5\1\0\3\005127.1\377\377"), OK5 "5 127.1:65535" },
	{ ROW(NONE "\5\1\0\3\0122130706433\0\1"), OK5 "5 2130706433:1" },
	{ ROW(NONE "\5\1\0\3\3::1\0\120"), OK5 "5 ::1:80" },
	{ ROW(NONE "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\120"), OK5 "5 ::1:80" },
	{ ROW(NONE "\5\1\0\4\0\0\0\0\0\0\0\0\0\0\377\377\177\0\0\1\0\120"), OK5 "5 ::ffff:127.0.0.1:80" },
	{ ROW(NONE "\5\1\0\3\377" A255 "\0\120"), OK5 "5 " A255 ":80" },
	{ ROW(NONE "\5\1\0\3\6a.test\1"), OK5 "more" },
	{ ROW(NONE "\5\1\0\3"), OK5 "more" },
	/* hosts that are none */
	{ ROW(NONE "\5\1\0\3\0\0\120"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\3\5a\0b.c\0\120"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\3\5a\r\nb:\0\120"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\3\5[::1]\0\120"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\3\7fe80::%\0\120"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\3\7m\303\274n.de\0\120"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\3\4a b \0\120"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\3\4u@ab\0\120"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\1\177\0\0\1\0\0"), OK5 "05 02 00 01 00 00 00 00 00 00 bad" },
	/* what is not served: whole replies */
	{ ROW(NONE "\5\2\0\1\177\0\0\1\0\120"), OK5 "05 07 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\3\0\1\0\0\0\0\0\0"), OK5 "05 07 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\0\0\1\0\0\0\0\0\0"), OK5 "05 07 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\2\0\1\177\0\0"), OK5 "more" },
	{ ROW(NONE "\5\1\0\2\0\0\0\0\0\0"), OK5 "05 08 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\0\0\0"), OK5 "05 08 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\5\1\1\1\177\0\0\1\0\120"), OK5 "05 01 00 01 00 00 00 00 00 00 bad" },
	{ ROW(NONE "\4\1\0\1\177\0\0\1\0\120"), OK5 "05 01 00 01 00 00 00 00 00 00 bad" },
	/* SOCKS4 and 4a */
	{ ROW("\4"), "more" },
	{ ROW("\4\1\0\120\177\0\0\1"), "more" },
	{ ROW("\4\1\0\120\177\0\0\1\0"), "4 127.0.0.1:80" },
	{ ROW("\4\1\0\120\177\0\0\1user\0"), "4 127.0.0.1:80" },
	{ ROW("\4\1\0\120\177\0\0\1user"), "more" },
	{ ROW("\4\1\0\120\0\0\0\0\0"), "4 0.0.0.0:80" },
	{ ROW("\4\1\0\120\0\0\0\1\0a.test\0"), "4 a.test:80" },
	{ ROW("\4\1\0\120\0\0\0\377u\0a.test\0"), "4 a.test:80" },
	{ ROW("\4\1\0\120\0\0\0\1\0a.test"), "more" },
	{ ROW("\4\1\0\120\0\0\0\1\0\0"), "00 5b 00 00 00 00 00 00 bad" },
	{ ROW("\4\1\0\120\0\0\0\1\0a/b\0"), "00 5b 00 00 00 00 00 00 bad" },
	{ ROW("\4\1\0\0\177\0\0\1\0"), "00 5b 00 00 00 00 00 00 bad" },
	{ ROW("\4\2\0\120\177\0\0\1\0"), "00 5b 00 00 00 00 00 00 bad" },
	{ ROW("\4\1\0\120\177\0\0\1" A255 "\0"), "4 127.0.0.1:80" },
	{ ROW("\4\1\0\120\177\0\0\1" A255 "a\0"), "00 5b 00 00 00 00 00 00 bad" },
	{ ROW("\4\1\0\120\177\0\0\1" A255 "a"), "00 5b 00 00 00 00 00 00 bad" },
	{ ROW("\4\1\0\120\177\0\0\1" A255), "more" },
	{ ROW("\4\1\0\120\0\0\0\1" A255 "\0" A255 "\0"), "4 " A255 ":80" },
	{ ROW("\4\1\0\120\0\0\0\1" A255 "\0" A255 "a\0"), "00 5b 00 00 00 00 00 00 bad" },
};

/* clang-format on */

static size_t add_answer(char *got, const struct socks *socks)
{
	size_t size = 0;

	for (size_t i = 0; i < socks->answer_size; i++)
		size += (size_t)sprintf(got + size, "%02x ", socks->answer[i]);
	return size;
}

/* Goes through a negotiation of which @step more bytes are there each time. */
static size_t negotiate_with(const struct proxy_login *login,
			     const struct row *row, size_t step, char *got)
{
	struct socks socks = { .login = login };
	size_t have = 0, done = 0, used;

	for (;;) {
		enum socks_step next = socks_next(&socks, row->input + done,
						  have - done, &used);

		assert_true(used <= have - done);
		assert_true(next != SOCKS_MORE || !used);
		done += used;
		got += add_answer(got, &socks);
		if (next == SOCKS_REQUEST) {
			sprintf(got, "%u %s:%u", socks.version, socks.host,
				socks.port);
			return done;
		}
		if (next == SOCKS_BAD) {
			assert_non_null(socks.reason);
			strcpy(got, "bad");
			return done;
		}
		if (next == SOCKS_MORE && have == row->size) {
			strcpy(got, "more");
			return done;
		}
		if (next == SOCKS_MORE)
			have += step < row->size - have ? step
							: row->size - have;
	}
}

static size_t negotiate(const struct row *row, size_t step, char *got)
{
	return negotiate_with(NULL, row, step, got);
}

static void check_rows(const struct proxy_login *login, const struct row *list,
		       size_t count)
{
	static const size_t steps[] = { 10000, 1, 3 };

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < COUNT(steps); j++) {
			char got[2000];

			negotiate_with(login, &list[i], steps[j], got);
			if (strcmp(got, list[i].want) != 0)
				fail_msg("%d, by %zu: %s\nwanted %s",
					 list[i].line, steps[j], got,
					 list[i].want);
		}
	}
}

static void test_rows(void **state)
{
	(void)state;
	check_rows(NULL, rows, COUNT(rows));
}

static void test_login(void **state)
{
	static const struct proxy_login login = { .user = { "srt", 3 },
						  .password = { "tok", 3 } };

	(void)state;
	check_rows(&login, closed, COUNT(closed));
}

/* What follows a request is the tunnel's: not one byte of it is used. */
static void test_payload_is_left(void **state)
{
	static const struct row five = { ROW(NONE "\5\1\0\3\6a.test\1\273"
						  "payload"),
					 NULL };
	static const struct row four = { ROW("\4\1\0\120\0\0\0\1\0a.test\0"
					     "payload"),
					 NULL };
	char got[100];

	(void)state;
	assert_int_equal(negotiate(&five, 10000, got), five.size - 7);
	assert_int_equal(negotiate(&four, 10000, got), four.size - 7);
}

static void test_replies(void **state)
{
	unsigned char reply[SOCKS_REPLY_MAX];

	(void)state;
	assert_int_equal(socks_reply(5, SOCKS_GRANTED, reply), 10);
	assert_memory_equal(reply, "\5\0\0\1\0\0\0\0\0\0", 10);
	assert_int_equal(socks_reply(5, SOCKS_REFUSED, reply), 10);
	assert_memory_equal(reply, "\5\5\0\1\0\0\0\0\0\0", 10);
	assert_int_equal(socks_reply(4, SOCKS_GRANTED, reply), 8);
	assert_memory_equal(reply, "\0\132\0\0\0\0\0\0", 8);
	assert_int_equal(socks_reply(4, SOCKS_REFUSED, reply), 8);
	assert_memory_equal(reply, "\0\133\0\0\0\0\0\0", 8);
}

static size_t number(const char *bytes)
{
	size_t value = 0;

	for (int i = 0; i < 4; i++)
		value = value << 8 | (unsigned char)bytes[i];
	return value;
}

/* RFC 4253 6: lengths add up to whole blocks, with 4 bytes of padding. */
static void check_refusal(const char *reason, const char *description)
{
	static const char line[] = "SSH-2.0-srt_lua\r\n";
	struct pbuf out = { 0 };
	const char *packet;
	size_t size, padding, text;

	ssh_refuse(&out, reason);
	assert_memory_equal(pbuf_text(&out).data, line, sizeof(line) - 1);
	packet = pbuf_text(&out).data + sizeof(line) - 1;
	size = number(packet);
	padding = (unsigned char)packet[4];
	text = number(packet + 10);
	assert_int_equal(out.size, sizeof(line) - 1 + 4 + size);
	assert_int_equal((4 + size) % 8, 0);
	assert_true(padding >= 4 && padding <= 11);
	assert_int_equal(packet[5], 1);
	assert_int_equal(number(packet + 6), 1);
	assert_int_equal(text, strlen(description));
	assert_memory_equal(packet + 14, description, text);
	assert_int_equal(number(packet + 14 + text), 0);
	assert_int_equal(5 + 1 + 4 + 4 + text + 4 + padding, 4 + size);
	pbuf_free(&out);
}

static void test_ssh(void **state)
{
	char reason[1000], cut[SSH_REASON_MAX + 1];

	(void)state;
	for (size_t size = 0; size < 20; size++) {
		memset(reason, 'r', size);
		reason[size] = '\0';
		check_refusal(reason, reason);
	}
	check_refusal("a\nb\x1b[31m\x7f", "a b [31m ");
	memset(reason, 'x', sizeof(reason) - 1);
	reason[sizeof(reason) - 1] = '\0';
	memset(cut, 'x', SSH_REASON_MAX);
	cut[SSH_REASON_MAX] = '\0';
	check_refusal(reason, cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_login),
		cmocka_unit_test(test_payload_is_left),
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_ssh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
