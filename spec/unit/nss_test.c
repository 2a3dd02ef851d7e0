/* SPDX-License-Identifier: Apache-2.0 */
/* Names and accounts without libc's plugins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/nss.h"

static void test_which_services_are_built_in(void **state)
{
	static const struct {
		const char *conf;
		bool built_in;
	} rows[] = {
		{ "", true },
		{ "passwd: sss\n", true },
		{ "hosts: files dns\n", true },
		{ "# hosts: ldap\nhosts:\tdns  files # sss\n", true },
		{ "hosts: files [NOTFOUND=return] dns", true },
		{ "  hosts: files [!UNAVAIL=return SUCCESS=merge] dns\n",
		  true },
		{ "hosts: files mdns4_minimal [NOTFOUND=return] dns\n", false },
		{ "hosts: files resolve [!UNAVAIL=return] dns\n", false },
		{ "hosts: files dns myhostname\n", false },
		{ "hosts: files [dns\n", false },
		{ "hosts:sss", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (nss_is_built_in(rows[i].conf, "hosts") != rows[i].built_in)
			fail_msg("row %zu: %s", i, rows[i].conf);
}

static void test_a_line_too_long_is_not_understood(void **state)
{
	char conf[3000] = "hosts: files";

	(void)state;
	memset(conf + 12, ' ', sizeof(conf) - 13);
	conf[sizeof(conf) - 1] = '\0';
	assert_false(nss_is_built_in(conf, "hosts"));
}

static void test_names(void **state)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found, *want;
	size_t count = 0;

	(void)state;
	assert_int_equal(nss_getent("localhost", "8080", &hints, &found), 0);
	assert_int_equal(getaddrinfo("localhost", "8080", &hints, &want), 0);
	for (const struct addrinfo *a = found; a; a = a->ai_next) {
		const struct addrinfo *b = want;

		/* In what order is libc's affair, which addresses is not. */
		while (b && (b->ai_addrlen != a->ai_addrlen ||
			     memcmp(b->ai_addr, a->ai_addr, a->ai_addrlen)))
			b = b->ai_next;
		assert_non_null(b);
		assert_int_equal(a->ai_socktype, SOCK_STREAM);
		count++;
	}
	assert_true(count > 0);
	freeaddrinfo(found);
	freeaddrinfo(want);
}

static void test_what_is_no_name(void **state)
{
	struct addrinfo *found;

	(void)state;
	assert_int_equal(nss_getent("nosuch.invalid", NULL, NULL, &found),
			 EAI_NONAME);
	assert_null(found);
	/* An option of getent's it is not. */
	assert_int_equal(nss_getent("--help", NULL, NULL, &found), EAI_NONAME);
	assert_int_equal(nss_getent("localhost", "http", NULL, &found),
			 EAI_SERVICE);
	assert_int_equal(nss_getent("localhost", "65536", NULL, &found),
			 EAI_SERVICE);
}

static void test_accounts(void **state)
{
	struct account account;
	struct passwd *own = getpwuid(geteuid());

	(void)state;
	assert_true(nss_account("root", 12345, &account));
	assert_string_equal(account.name, "root");
	assert_string_equal(account.home, getpwnam("root")->pw_dir);
	assert_int_equal(nss_account(NULL, geteuid(), &account), own != NULL);
	if (own)
		assert_string_equal(account.home, own->pw_dir);
	assert_false(nss_account("no-such-user", 0, &account));
	assert_false(nss_account(NULL, 987654321, &account));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_services_are_built_in),
		cmocka_unit_test(test_a_line_too_long_is_not_understood),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_what_is_no_name),
		cmocka_unit_test(test_accounts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
