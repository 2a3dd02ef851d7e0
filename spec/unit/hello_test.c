/* SPDX-License-Identifier: Apache-2.0 */
/* What a tunnel's first bytes are taken for; the corpus holds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proxy/hello.h"

static const struct row {
	const char *file;
	enum hello_kind kind;
	const char *name;
	bool newer;
} rows[] = {
	{ "tls", HELLO_TLS, "example.test", false },
	{ "tls12", HELLO_TLS, "a.test", false },
	{ "tls13-only", HELLO_TLS, "a.test", true },
	{ "no-name", HELLO_TLS, "", false },
	{ "no-extensions", HELLO_TLS, "", false },
	{ "alpn", HELLO_TLS, "a.test", false },
	{ "upper", HELLO_TLS, "example.test", false },
	{ "address", HELLO_TLS, "192.168.1.22", false },
	{ "split", HELLO_TLS, "example.test", false },
	{ "bytes", HELLO_TLS, "example.test", false },
	{ "behind", HELLO_TLS, "example.test", false },
	{ "short", HELLO_MORE, NULL, false },
	{ "blank", HELLO_BAD, NULL, false },
	{ "dot", HELLO_BAD, NULL, false },
	{ "nul", HELLO_BAD, NULL, false },
	{ "colon", HELLO_BAD, NULL, false },
	{ "twice", HELLO_BAD, NULL, false },
	{ "tail", HELLO_BAD, NULL, false },
	{ "empty-record", HELLO_BAD, NULL, false },
	{ "huge", HELLO_BAD, NULL, false },
	{ "not-hello", HELLO_BAD, NULL, false },
	{ "lone-16", HELLO_OTHER, NULL, false },
	{ "alert", HELLO_BAD, NULL, false },
	{ "cipher-first", HELLO_BAD, NULL, false },
	{ "sslv2", HELLO_BAD, NULL, false },
	{ "sslv2-padded", HELLO_BAD, NULL, false },
	{ "sslv2-part", HELLO_MORE, NULL, false },
	{ "not-sslv2", HELLO_OTHER, NULL, false },
	{ "postgres", HELLO_OTHER, NULL, false },
	{ "line-get", HELLO_HTTP, NULL, false },
	{ "line-get-part", HELLO_MORE, NULL, false },
	{ "line-bare-cr", HELLO_MORE, NULL, false },
	{ "line-white", HELLO_HTTP, NULL, false },
	{ "line-long-method", HELLO_HTTP, NULL, false },
	{ "line-http09", HELLO_HTTP, NULL, false },
	{ "line-lower", HELLO_HTTP, NULL, false },
	{ "line-blanks", HELLO_HTTP, NULL, false },
	{ "line-only-blanks", HELLO_MORE, NULL, false },
	{ "line-tabs", HELLO_HTTP, NULL, false },
	{ "line-absolute", HELLO_HTTP, NULL, false },
	{ "line-prior", HELLO_HTTP, NULL, false },
	{ "line-hidden", HELLO_HTTP, NULL, false },
	{ "line-ssh", HELLO_OTHER, NULL, false },
	{ "line-smtp", HELLO_OTHER, NULL, false },
	{ "line-redis", HELLO_OTHER, NULL, false },
	{ "line-memcached", HELLO_OTHER, NULL, false },
	{ "line-word-http", HELLO_OTHER, NULL, false },
	{ "line-rtsp", HELLO_OTHER, NULL, false },
	{ "line-binary", HELLO_OTHER, NULL, false },
	{ "line-word", HELLO_MORE, NULL, false },
	{ "line-json", HELLO_OTHER, NULL, false },
	{ "line-word-part", HELLO_MORE, NULL, false },
};

static size_t load(const char *name, char *data, size_t room)
{
	char path[512];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), SPEC_DIR "/fuzz/corpus/hello/%s", name);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("%s is missing", path);
	size = fread(data, 1, room, file);
	fclose(file);
	return size;
}

static void test_corpus(void **state)
{
	char data[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		size_t size = load(row->file, data, sizeof(data));
		struct hello hello;
		enum hello_kind kind = hello_read(&hello, data, size);

		if (kind != row->kind)
			fail_msg("%s is %d, not %d (%s)", row->file, kind,
				 row->kind, hello.reason ? hello.reason : "");
		if (kind != HELLO_TLS)
			continue;
		assert_string_equal(hello.name, row->name);
		assert_int_equal(hello.newer, row->newer);
	}
}

/* Nothing is told before the last byte, and nothing behind it changes it. */
static void test_parts(void **state)
{
	char data[4096];
	size_t size = load("tls12", data, sizeof(data));
	struct hello hello;

	(void)state;
	for (size_t i = 0; i < size; i++)
		assert_int_equal(hello_read(&hello, data, i), HELLO_MORE);
	memset(data + size, 'x', 100);
	assert_int_equal(hello_read(&hello, data, size + 100), HELLO_TLS);
	assert_string_equal(hello.name, "a.test");
}

static void test_long_lines(void **state)
{
	char data[HELLO_LINE_MAX + 100];
	struct hello hello;

	(void)state;
	memset(data, 'a', sizeof(data));
	data[3] = ' ';
	/* "aaa ftp://..." is a request to some servers. */
	assert_int_equal(hello_read(&hello, data, sizeof(data)), HELLO_HTTP);
	assert_int_equal(hello_read(&hello, data, 100), HELLO_MORE);
	data[3] = 'a';
	assert_int_equal(hello_read(&hello, data, sizeof(data)), HELLO_HTTP);
	data[200] = '{';
	assert_int_equal(hello_read(&hello, data, sizeof(data)), HELLO_OTHER);
}

/* nginx skips as many as there are. */
static void test_blank_lines(void **state)
{
	char data[HELLO_LINE_MAX + 100];
	struct hello hello;

	(void)state;
	memset(data, '\n', sizeof(data));
	assert_int_equal(hello_read(&hello, data, sizeof(data)), HELLO_HTTP);
	assert_int_equal(hello_read(&hello, data, 100), HELLO_MORE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_corpus),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_blank_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
