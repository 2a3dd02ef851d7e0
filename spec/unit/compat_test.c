/* SPDX-License-Identifier: Apache-2.0 */
/* What macOS's libc lacks does what Linux's does, as far as we ask it to. */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/darwin/compat.h"

static void assert_flags(int fd)
{
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

static void test_sockets(void **state)
{
	const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	struct sockaddr_in own = { .sin_family = AF_INET };
	struct sockaddr *address = (struct sockaddr *)&own;
	socklen_t size = sizeof(own);
	int fd = compat_socket(AF_INET, SOCK_STREAM | flags, 0), from, to;

	(void)state;
	assert_flags(fd);
	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, address, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, address, &size), 0);
	assert_int_equal(compat_accept4(fd, NULL, NULL, flags), -1);
	assert_int_equal(errno, EAGAIN);
	from = compat_socket(AF_INET, SOCK_STREAM, 0);
	assert_false(fcntl(from, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(connect(from, address, size), 0);
	to = compat_accept4(fd, NULL, NULL, flags);
	assert_flags(to);
	close(from);
	close(to);
	close(fd);
}

static void test_pipes(void **state)
{
	const struct timespec now = { 0 };
	struct pollfd poll_fd = { .events = POLLIN };
	sigset_t none;
	int pair[2];

	(void)state;
	sigemptyset(&none);
	assert_int_equal(compat_pipe2(pair, O_CLOEXEC), 0);
	assert_true(fcntl(pair[0], F_GETFD) & fcntl(pair[1], F_GETFD) &
		    FD_CLOEXEC);
	poll_fd.fd = pair[0];
	assert_int_equal(compat_ppoll(&poll_fd, &now, &none), 0);
	assert_int_equal(poll_fd.revents, 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(compat_ppoll(&poll_fd, &now, &none), 1);
	assert_int_equal(poll_fd.revents, POLLIN);
	close(pair[0]);
	close(pair[1]);
}

static void test_bytes(void **state)
{
	char text[] = "a/b/c", more[2][600] = { { 0 } };

	(void)state;
	assert_ptr_equal(compat_memrchr(text, '/', 5), text + 3);
	assert_ptr_equal(compat_memrchr(text, '/', 3), text + 1);
	assert_null(compat_memrchr(text, '/', 1));
	assert_null(compat_memrchr(text, 'x', 5));
	assert_ptr_equal(compat_strchrnul(text, 'b'), text + 2);
	assert_ptr_equal(compat_strchrnul(text, 'x'), text + 5);
	assert_int_equal(compat_getrandom(more[0], 600, 0), 600);
	assert_memory_not_equal(more[0] + 512, more[1] + 512, 88);
	compat_explicit_bzero(more[0], 600);
	assert_memory_equal(more[0], more[1], 600);
	assert_string_equal(compat_strerrorname_np(ENOENT), "ENOENT");
	assert_string_equal(compat_strerrorname_np(EPERM), "EPERM");
}

static void test_pending(void **state)
{
	sigset_t set, before;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &set, &before);
	assert_int_equal(compat_sigtimedwait(&set), -1);
	raise(SIGXFSZ);
	assert_int_equal(compat_sigtimedwait(&set), SIGXFSZ);
	assert_int_equal(compat_sigtimedwait(&set), -1);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_pipes),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_pending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
