/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's observation of what is denied: it tells, and never decides. */
#include "core/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guard.h"
#include "core/seccomp.h"
#include "core/system.h"
#include "core/watch_calls.h"
#include "core/watch_connect.h"

/* Records in a burst, and each second from then on. */
#define BURST 1000
#define PER_SECOND 100
/* The same is not told again before, but for what EACH and doubling tell. */
#define AGAIN_MS 1000
#define EACH 8
/* For learning the host process is waited for: so long it never takes. */
#define PATIENCE_MS 2000

int watch_open(struct watch *watch, const struct watch_table *table,
	       const struct notified *notified, int socket)
{
	struct failure failure;

	*watch = (struct watch){ .socket = socket,
				 .table = table,
				 .tokens = BURST };
	return seccomp_refusals(notified, &watch->refusals, &failure);
}

bool watch_serves(const struct watch *watch, int number)
{
	if (number == SYS_connect)
		return watch->table->connects;
	return watch->table->on && watch_knows(number);
}

static uint64_t add_hash(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

static uint64_t hash_of(const struct watch_message *message)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	hash = add_hash(hash, &message->action, sizeof(message->action));
	hash = add_hash(hash, message->args, sizeof(message->args));
	return add_hash(hash, message->text, strlen(message->text));
}

/* The end of a run comes unannounced: what it may leave untold is bounded. */
static bool has_doubled(uint32_t times)
{
	return times <= EACH || !(times & (times - 1));
}

/* If not, @message will stand for all that was not told. */
static bool was_told(struct watch *watch, struct watch_message *message,
		     long long now)
{
	uint64_t hash = hash_of(message);
	struct watch_told *told = &watch->told[hash % WATCH_TOLD];

	if (told->hash != hash) {
		watch->lost += told->merged;
		*told = (struct watch_told){ .hash = hash };
	} else if (watch->table->learns) {
		return true;
	}
	told->times++;
	told->merged++;
	if (now < told->until && !has_doubled(told->times))
		return true;
	message->count = told->merged;
	told->merged = 0;
	told->until = now + AGAIN_MS;
	return false;
}

static bool take_token(struct watch *watch, long long now)
{
	long long more = (now - watch->refilled) * PER_SECOND / 1000;

	if (more > 0) {
		watch->refilled = now;
		watch->tokens = more > BURST - watch->tokens
					? BURST
					: watch->tokens + (unsigned int)more;
	}
	if (!watch->tokens)
		return false;
	watch->tokens--;
	return true;
}

static bool send(const struct watch *watch, const struct watch_message *message)
{
	return !sys_send(watch->socket, message,
			 WATCH_HEAD + strlen(message->text) + 1, NULL, 0);
}

static bool send_waiting(const struct watch *watch,
			 const struct watch_message *message)
{
	struct pollfd room = { .fd = watch->socket, .events = POLLOUT };

	return send(watch, message) ||
	       (poll(&room, 1, PATIENCE_MS) == 1 && send(watch, message));
}

static bool send_soon(struct watch *watch, const struct watch_message *message,
		      long long now)
{
	if (watch->table->learns)
		return send_waiting(watch, message);
	return take_token(watch, now) && send(watch, message);
}

static void tell_lost(struct watch *watch)
{
	struct watch_message message;

	memset(&message, 0, WATCH_HEAD + 1);
	message.kind = WATCH_LOST;
	message.args[0] = watch->lost;
	if (send(watch, &message))
		watch->lost_told = watch->lost;
}

static void name_program(const struct guard *guard,
			 struct watch_message *message)
{
	char name[32];
	ssize_t size;

	snprintf(name, sizeof(name), "%d/exe", (int)guard->view.thread);
	size = readlinkat(guard->notify.proc, name, message->exe,
			  sizeof(message->exe) - 1);
	message->exe[size < 0 ? 0 : size] = '\0';
}

/*
 * Whose call it is; false where it waits no more: its id may then have been
 * another's already when path or program were read by it. Nothing was done.
 */
static bool attribute(const struct guard *guard, struct watch_message *message)
{
	message->pid = guard->view.thread;
	name_program(guard, message);
	return notify_valid(&guard->notify);
}

/* Answers in time go before records, but for learning. */
static void tell(struct guard *guard, struct watch_message *message)
{
	struct watch *watch = &guard->watch;
	long long now = sys_now_ms();
	bool sent;

	watch->said = true;
	if (!attribute(guard, message) || was_told(watch, message, now))
		return;
	sent = send_soon(watch, message, now);
	if (!sent)
		watch->lost += message->count;
	if (watch->lost > watch->lost_told &&
	    (sent || watch->lost >= 2 * watch->lost_told))
		tell_lost(watch);
}

void watch_tell(struct guard *guard, enum watch_kind kind,
		enum watch_action action, const char *text)
{
	struct watch_message message;

	if (guard->watch.socket < 0 || guard->watch.said)
		return;
	memset(&message, 0, WATCH_HEAD);
	message.kind = kind;
	message.action = action;
	snprintf(message.text, sizeof(message.text), "%s", text);
	tell(guard, &message);
}

/* How many of a call's arguments say more than a pointer would. */
static size_t plain_arguments(const char *call)
{
	if (!strcmp(call, "socket") || !strcmp(call, "socketpair"))
		return 3;
	return !strcmp(call, "clone") || !strcmp(call, "unshare");
}

static void tell_refusal(struct guard *guard)
{
	const struct seccomp_data *data = &guard->notify.request->data;
	struct watch_message message;
	size_t count;

	memset(&message, 0, WATCH_HEAD);
	message.kind = WATCH_CALL;
	seccomp_name(data->nr, message.text, sizeof(message.text));
	count = plain_arguments(message.text);
	for (size_t i = 0; i < count; i++)
		message.args[i] = data->args[i];
	tell(guard, &message);
}

int watch_refuses(struct guard *guard)
{
	uint32_t answer = seccomp_eval(&guard->watch.refusals,
				       &guard->notify.request->data);

	guard->watch.said = false;
	if (answer == SECCOMP_RET_ALLOW)
		return 0;
	tell_refusal(guard);
	return -(int)(answer & SECCOMP_RET_DATA);
}

/* Of what there is to be opened, and only that. */
static bool ask(struct guard *guard, struct watch_message *message)
{
	struct watch *watch = &guard->watch;
	struct seccomp_notif *request = guard->notify.request;

	if (!watch->table->asks || message->action > WATCH_WRITE ||
	    (message->args[0] & O_DIRECTORY) ||
	    watch->waiting_count == WATCH_WAITING)
		return false;
	message->kind = WATCH_ASK;
	message->id = request->id;
	if (!attribute(guard, message) || !send(watch, message))
		return false;
	watch->waiting[watch->waiting_count++] = *request;
	return true;
}

static bool find(struct guard *guard, size_t *from,
		 struct watch_message *message)
{
	size_t begun = *from;
	int found;

	memset(message, 0, WATCH_HEAD);
	message->kind = WATCH_PATH;
	found = watch_find(guard, from, message);
	if (found == -EPERM) {
		*from = begun;
		guard_powers(guard, true);
		found = watch_find(guard, from, message);
		guard_powers(guard, false);
	}
	return found == 1;
}

static void look_at_connect(struct guard *guard)
{
	char text[WATCH_INET_SIZE];
	int leaves = watch_leaves(guard, text);

	if (leaves == -EPERM) {
		guard_powers(guard, true);
		leaves = watch_leaves(guard, text);
		guard_powers(guard, false);
	}
	if (leaves == 1)
		watch_tell(guard, WATCH_INET, WATCH_READ, text);
}

bool watch_look(struct guard *guard)
{
	struct watch_message message;
	size_t from = 0;

	if (guard->notify.request->data.nr == SYS_connect) {
		look_at_connect(guard);
		return false;
	}
	if (!find(guard, &from, &message))
		return false;
	if (guard->watch.table->learns) {
		do
			tell(guard, &message);
		while (find(guard, &from, &message));
		return false;
	}
	if (ask(guard, &message))
		return true;
	message.kind = WATCH_PATH;
	tell(guard, &message);
	return false;
}

/* Makes the call that waits under @id the one in @guard->notify. */
static bool take_waiting(struct guard *guard, uint64_t id)
{
	struct watch *watch = &guard->watch;

	for (size_t i = 0; i < watch->waiting_count; i++) {
		if (watch->waiting[i].id != id)
			continue;
		*guard->notify.request = watch->waiting[i];
		watch->waiting[i] = watch->waiting[--watch->waiting_count];
		guard->view.thread = (pid_t)guard->notify.request->pid;
		return true;
	}
	return false;
}

/* Nobody answers any more: the kernel denies all that waits. */
static void give_up(struct guard *guard, void (*go_on)(struct guard *guard))
{
	while (guard->watch.waiting_count)
		if (take_waiting(guard, guard->watch.waiting[0].id))
			go_on(guard);
}

static void take_answer(struct guard *guard, void (*go_on)(struct guard *guard))
{
	struct watch_answer answer;
	size_t count = 1;
	int fd = -1;
	ssize_t size = sys_receive(guard->watch.socket, &answer, sizeof(answer),
				   &fd, &count);

	if (size == -EAGAIN)
		return;
	if (size != sizeof(answer)) {
		give_up(guard, go_on);
	} else if (take_waiting(guard, answer.id)) {
		if (fd < 0)
			go_on(guard);
		else
			notify_answer_fd(
				&guard->notify, steal_fd(&fd),
				watch_closes(&guard->notify.request->data));
	}
	if (fd >= 0)
		close(fd);
}

bool watch_wait(struct guard *guard, void (*go_on)(struct guard *guard))
{
	struct pollfd fds[] = {
		{ .fd = guard->notify.listener, .events = POLLIN },
		{ .fd = guard->watch.socket, .events = POLLIN },
	};

	if (!guard->watch.waiting_count)
		return true;
	if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
		/* The kernel refuses all that is asked of nobody. */
		if (errno != EINTR && errno != ENOMEM)
			_exit(1);
		return false;
	}
	if (fds[1].revents)
		take_answer(guard, go_on);
	/* A call that is gone by then would have us wait for the next one. */
	if (fds[0].revents)
		guard_hurry();
	return fds[0].revents;
}
