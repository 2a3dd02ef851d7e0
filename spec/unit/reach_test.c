/* SPDX-License-Identifier: Apache-2.0 */
/* Both ends of reaching servers inside: what PID 1 does, what the host asks. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/inside.h"
#include "core/reach.h"
#include "core/system.h"

static int listen_on(int family, int backlog, uint16_t *port)
{
	struct sockaddr_in6 address = { .sin6_family = (sa_family_t)family };
	socklen_t size = sizeof(address);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (family == AF_INET)
		((struct sockaddr_in *)&address)->sin_addr.s_addr =
			htonl(INADDR_LOOPBACK);
	else
		address.sin6_addr = in6addr_loopback;
	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, backlog), 0);
	getsockname(fd, (struct sockaddr *)&address, &size);
	*port = ntohs(address.sin6_port);
	return fd;
}

/* Sends and receives until @inside has nothing on its way, or @turns. */
static void settle(struct inside *inside, int turns)
{
	struct pollfd fds[INSIDE_MAX];

	while (inside->count && turns-- > 0) {
		nfds_t count = inside_watch(inside, fds);

		assert_true(poll(fds, count, 1000) >= 0);
		inside_progress(inside, fds);
	}
}

static struct message receive(int control, int *fd)
{
	struct message message = { 0 };
	size_t count = 1;

	*fd = -1;
	assert_int_equal(
		sys_receive(control, &message, sizeof(message), fd, &count),
		sizeof(message));
	assert_int_equal(message.kind, MESSAGE_SOCKET);
	return message;
}

static void pair(int ends[2])
{
	assert_int_equal(
		socketpair(AF_UNIX,
			   SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
			   ends),
		0);
}

static void connects_to_either_family(void **state)
{
	static const int families[] = { AF_INET, AF_INET6 };
	int ends[2];

	(void)state;
	pair(ends);
	for (size_t i = 0; i < 2; i++) {
		struct inside inside = { .control = ends[1] };
		struct message ask = { .kind = MESSAGE_CONNECT, .id = 7 };
		uint16_t port;
		int server = listen_on(families[i], 8, &port), fd, peer;

		ask.value = port;
		inside_connect(&inside, &ask);
		settle(&inside, 10);
		ask = receive(ends[0], &fd);
		assert_int_equal(ask.id, 7);
		assert_int_equal(ask.value, 0);
		assert_true(fd >= 0);
		peer = accept(server, NULL, NULL);
		assert_int_equal(write(fd, "x", 1), 1);
		assert_int_equal(read(peer, &port, 1), 1);
		close(peer);
		close(fd);
		close(server);
	}
	close(ends[0]);
	close(ends[1]);
}

static void says_why_not(void **state)
{
	struct inside inside;
	struct message ask = { .kind = MESSAGE_CONNECT, .id = 9 };
	uint16_t port;
	int ends[2], fd, server = listen_on(AF_INET, 1, &port);

	(void)state;
	pair(ends);
	inside = (struct inside){ .control = ends[1] };
	close(server);
	ask.value = port;
	inside_connect(&inside, &ask);
	settle(&inside, 10);
	ask = receive(ends[0], &fd);
	assert_int_equal(ask.id, 9);
	assert_int_equal(ask.value, ECONNREFUSED);
	assert_int_equal(fd, -1);
	close(ends[0]);
	close(ends[1]);
}

/* A server that does not accept: SYNs fall, and so connections wait. */
static void waits_for_a_bounded_number(void **state)
{
	struct inside inside;
	struct message ask = { .kind = MESSAGE_CONNECT };
	uint16_t port;
	int ends[2], fd, server = listen_on(AF_INET, 0, &port);
	size_t made = 0, refused = 0;

	(void)state;
	pair(ends);
	inside = (struct inside){ .control = ends[1] };
	ask.value = port;
	for (int i = 0; i < INSIDE_MAX + 10; i++) {
		ask.id++;
		inside_connect(&inside, &ask);
	}
	assert_int_equal(inside.count, INSIDE_MAX);
	settle(&inside, 1);
	while (made + refused < INSIDE_MAX + 10 - inside.count) {
		ask = receive(ends[0], &fd);
		made += fd >= 0;
		refused += ask.value == EMFILE;
		if (fd >= 0)
			close(fd);
	}
	assert_true(inside.count > 0);
	assert_in_range(refused, 1, 10);
	for (size_t i = 0; i < inside.count; i++)
		close(inside.waiting[i].fd);
	close(server);
	close(ends[0]);
	close(ends[1]);
}

struct asker {
	struct reach_ask ask;
	int fd;
	int times;
};

static void on_done(struct reach_ask *ask, int fd)
{
	struct asker *asker = (struct asker *)ask;

	asker->fd = fd;
	asker->times++;
}

/* How many asks PID 1's end has got; their ids in @ids. */
static size_t drain(int control, uint32_t *ids)
{
	struct message message;
	size_t count = 0;

	while (sys_receive(control, &message, sizeof(message), NULL, NULL) > 0)
		ids[count++] = message.id;
	return count;
}

static void asks_for_a_bounded_number(void **state)
{
	struct asker askers[INSIDE_MAX + 3] = { 0 };
	struct message answer = { .kind = MESSAGE_SOCKET };
	struct reach reach;
	uint32_t ids[INSIDE_MAX + 3];
	int ends[2];

	(void)state;
	pair(ends);
	reach_open(&reach, ends[0]);
	for (size_t i = 0; i < INSIDE_MAX + 3; i++) {
		askers[i].ask.port = 1;
		askers[i].ask.done = on_done;
		reach_start(&reach, &askers[i].ask);
	}
	assert_int_equal(drain(ends[1], ids), INSIDE_MAX);
	/* One that is on its way, one that is not. */
	reach_cancel(&reach, &askers[0].ask);
	reach_cancel(&reach, &askers[INSIDE_MAX].ask);
	assert_int_equal(drain(ends[1], ids + INSIDE_MAX), 0);
	for (size_t i = 0; i < INSIDE_MAX; i++) {
		answer.id = ids[i];
		answer.value = i % 2 ? ECONNREFUSED : 0;
		reach_answer(&reach, &answer, i % 2 ? -1 : dup(0));
	}
	assert_int_equal(drain(ends[1], ids), 2);
	assert_int_equal(askers[0].times, 0);
	for (size_t i = 1; i < INSIDE_MAX; i++) {
		assert_int_equal(askers[i].times, 1);
		if (i % 2)
			assert_int_equal(askers[i].fd, -ECONNREFUSED);
		else
			assert_int_equal(close(askers[i].fd), 0);
	}
	assert_int_equal(reach.unanswered, 2);
	close(ends[0]);
	close(ends[1]);
}

static void fails_when_pid_1_is_gone(void **state)
{
	struct asker asker = { .ask = { .port = 1, .done = on_done } };
	struct reach reach;
	int ends[2];

	(void)state;
	pair(ends);
	close(ends[1]);
	reach_open(&reach, ends[0]);
	reach_start(&reach, &asker.ask);
	assert_int_equal(asker.times, 1);
	assert_int_equal(asker.fd, -EPIPE);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connects_to_either_family),
		cmocka_unit_test(says_why_not),
		cmocka_unit_test(waits_for_a_bounded_number),
		cmocka_unit_test(asks_for_a_bounded_number),
		cmocka_unit_test(fails_when_pid_1_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
