/* SPDX-License-Identifier: Apache-2.0 */
/* What lib/srtlua.h does, for test_library.py: client NAME ORIGIN-PORT */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/srtlua.h"

enum { THREADS = 4, ROUNDS = 3 };

struct asker {
	struct srtlua_session *session;
	int count;
	int nested; /* what a call from within the callback gave */
};

static int ask(void *context, const struct srtlua_question *question,
	       char *reason, size_t size)
{
	struct asker *asker = context;

	if (*question->text) {
		printf("policy asks: %s (%s) of %s, host '%s'\n",
		       question->text, question->choices, question->id,
		       question->host);
		fflush(stdout);
		return strcmp(question->choices, "once session") ? 1 : 2;
	}
	asker->count++;
	asker->nested =
		asker->session ? srtlua_reset(asker->session, NULL) : -1;
	snprintf(reason, size, "asked of %s for %s", question->host,
		 question->id);
	return strcmp(question->host, "b.test") ? 0 : 2;
}

static void told(const char *what, int code, const struct srtlua_error *error)
{
	printf("%s: %d %s\n", what, code, code ? error->text : "ok");
	fflush(stdout);
}

static void errors(const char *program)
{
	struct srtlua_options options = { .size = sizeof(options),
					  .program = program };
	struct srtlua_options nowhere = { .size = sizeof(nowhere),
					  .program = "/no/such" };
	struct srtlua_error error;
	struct srtlua_session *session;

	told("bad lua",
	     srtlua_open_lua(&session, "return { netwrk = {} }", &options,
			     &error),
	     &error);
	told("bad json",
	     srtlua_open_json(&session, "{\n\"network\": }", &options, &error),
	     &error);
	told("bad settings",
	     srtlua_open_json(&session,
			      "{\"network\":{\"allowedDomains\":[\"a b\"]}}",
			      &options, &error),
	     &error);
	told("no file",
	     srtlua_open_file(&session, "/no/policy.lua", &options, &error),
	     &error);
	told("no program",
	     srtlua_open_lua(&session, "return {}", &nowhere, &error), &error);
	printf("none is left: %d\n", !session);
}

/* What would never be answered, and a child of fork(2). */
static void never(struct srtlua_session *session)
{
	enum { TOO_LONG = 17 << 20, WORDS = 40, WORD = 100000 };
	const char *argv[WORDS + 1] = { NULL };
	const struct srtlua_command command = { .size = sizeof(command),
						.argv = argv };
	char *text = malloc(TOO_LONG + 1), *out;
	struct srtlua_error error;
	pid_t pid;

	if (!text)
		exit(99);
	memset(text, 'x', TOO_LONG);
	text[TOO_LONG] = '\0';
	told("too long", srtlua_annotate(session, "x", text, &out, &error),
	     &error);
	for (int i = 0; i < WORDS; i++)
		argv[i] = text + TOO_LONG - WORD;
	told("too many words",
	     srtlua_spawn(session, &command, NULL, &pid, NULL, &error), &error);
	free(text);
	pid = fork();
	if (pid < 0)
		exit(99);
	if (!pid) {
		told("in a child", srtlua_reset(session, &error), &error);
		srtlua_close(session);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	told("no child", srtlua_wait(-1, NULL, &error), &error);
}

/* What a command writes to its standard output and to descriptor 20. */
static void spawn(struct srtlua_session *session)
{
	static const char *const argv[] = {
		"bash", "-c",
		"pwd; echo $A; read x; echo \"<$x>\" >&20; exit 9", NULL
	};
	static char variable[] = "A=from env";
	static char path[] = "PATH=/usr/bin:/bin";
	static char *env[] = { variable, path, NULL };
	struct srtlua_command command = { .size = sizeof(command),
					  .argv = argv,
					  .id = "spawned" };
	struct srtlua_spawn how = { .size = sizeof(how),
				    .keep = (const int[]){ 20 },
				    .keep_count = 1,
				    .cwd = "/",
				    .env = env };
	struct srtlua_error error;
	int in[2], out[2], kept[2], status = -1, code;
	char text[200] = "";
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) ||
	    pipe2(kept, O_CLOEXEC) || dup2(kept[1], 20) != 20)
		exit(99);
	close(kept[1]);
	how.fds[0] = in[0];
	how.fds[1] = out[1];
	how.fds[2] = -1;
	code = srtlua_spawn(session, &command, &how, &pid, NULL, &error);
	told("spawn", code, &error);
	close(out[1]);
	close(20);
	if (!code && write(in[1], "word\n", 5) == 5)
		told("wait", srtlua_wait(pid, &status, &error), &error);
	for (size_t size = 0, got = 1; got > 0; size += got) {
		ssize_t n = read(size < sizeof(text) ? out[0] : -1, text + size,
				 sizeof(text) - 1 - size);

		got = n > 0 ? (size_t)n : 0;
	}
	printf("status %d, out %s", status, text);
	memset(text, 0, sizeof(text));
	if (read(kept[0], text, sizeof(text) - 1) > 0)
		printf("kept %s", text);
}

static int run(struct srtlua_session *session, const char *id, const char *text)
{
	struct srtlua_command command = { .size = sizeof(command),
					  .shell = text,
					  .id = id,
					  .text = "as it is called" };
	struct srtlua_error error;
	int status = -1;
	pid_t pid;

	fflush(stdout);
	if (srtlua_spawn(session, &command, NULL, &pid, NULL, &error) ||
	    srtlua_wait(pid, &status, &error))
		told("run", -1, &error);
	return status;
}

struct work {
	struct srtlua_session *session;
	int number, wrong;
};

/* Each finds what its own commands were denied, and nothing else. */
static void *many(void *context)
{
	struct work *work = context;
	struct srtlua_violations *found;
	char id[32], text[64];

	for (int i = 0; i < ROUNDS; i++) {
		snprintf(id, sizeof(id), "thread %d.%d", work->number, i);
		snprintf(text, sizeof(text), ": 2>/dev/null >t%d.%d",
			 work->number, i);
		(void)run(work->session, id, text);
		if (srtlua_violations(work->session, id, NULL, &found, NULL)) {
			work->wrong++;
			continue;
		}
		work->wrong +=
			found->count != 1 ||
			!strstr(found->list[0].target, strrchr(text, '>') + 1);
		srtlua_free(found);
	}
	return NULL;
}

static void threads(struct srtlua_session *sessions[2])
{
	struct work work[THREADS];
	pthread_t ids[THREADS];
	int wrong = 0;

	for (int i = 0; i < THREADS; i++) {
		work[i] = (struct work){ sessions[i % 2], i, 0 };
		if (pthread_create(&ids[i], NULL, many, &work[i]))
			exit(98);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(ids[i], NULL);
		wrong += work[i].wrong;
	}
	printf("threads: %d wrong\n", wrong);
}

static void reports(struct srtlua_session *session, const struct asker *asker)
{
	struct srtlua_violations *found;
	struct srtlua_updated *updated;
	struct srtlua_error error;
	char *text;

	printf("asked: exit %d\n",
	       run(session, "Q",
		   "curl -sS -m 9 -o /dev/null http://a.test/ 2>/dev/null; "
		   "curl -s -m 9 -o /dev/null -w '%{http_code}\n' "
		   "http://b.test/"));
	printf("asked %d times, nested %d\n", asker->count, asker->nested);
	told("violations",
	     srtlua_violations(session, "Q", "as it is called", &found, &error),
	     &error);
	for (size_t i = 0; i < found->count; i++)
		printf("%s %s: %s; %s\n", found->list[i].kind,
		       found->list[i].target, found->list[i].reason,
		       found->list[i].command);
	srtlua_free(found);
	told("of another text",
	     srtlua_violations(session, "Q", "x", &found, &error), &error);
	printf("%zu\n", found->count);
	srtlua_free(found);
	told("annotate", srtlua_annotate(session, "Q", "its\n", &text, &error),
	     &error);
	printf("%s\n", text);
	srtlua_free(text);
	told("update",
	     srtlua_update_json(session,
				"{\"filesystem\":{\"allowWrite\":[\"/\"]},"
				"\"network\":{\"deniedDomains\":[\"a.test\"]}}",
				&updated, &error),
	     &error);
	printf("%zu commands, %zu held\n", updated->commands,
	       updated->held_count);
	srtlua_free(updated);
	told("no file", srtlua_update_file(session, NULL, NULL, &error),
	     &error);
	told("reset", srtlua_reset(session, &error), &error);
	(void)srtlua_violations(session, NULL, NULL, &found, &error);
	printf("%zu left\n", found->count);
	srtlua_free(found);
}

/* As an event loop does; the callback is called here. */
static void run_dispatching(struct srtlua_session *session, const char *shell)
{
	struct srtlua_command command = { .size = sizeof(command),
					  .shell = shell,
					  .id = "P" };
	struct pollfd ready = { .fd = srtlua_descriptor(session),
				.events = POLLIN };
	struct srtlua_error error;
	size_t count = 0, asked;
	pid_t pid;

	if (srtlua_spawn(session, &command, NULL, &pid, NULL, &error)) {
		told("dispatching", -1, &error);
		return;
	}
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		(void)poll(&ready, 1, 50);
		if (srtlua_dispatch(session, &asked, &error))
			told("dispatch", -1, &error);
		else
			count += asked;
	}
	printf("dispatched %zu, then %d\n", count, poll(&ready, 1, 0));
}

/* What srt.ask asks comes to the callback, and its answer is the policy's. */
static void policy_asks(const struct srtlua_options *given)
{
	static const char policy[] =
		"return { network = { decideConnect = function(conn)\n"
		"if srt.ask('plain?') ~= true then return false, 'no' end\n"
		"return false, srt.ask('which?', { choices = { 'once', "
		"'session' } }) end } }";
	struct srtlua_options options = *given;
	struct srtlua_violations *found;
	struct srtlua_session *session;
	struct srtlua_error error;

	options.policy_asks = options.dispatched = 1;
	if (srtlua_open_lua(&session, policy, &options, &error)) {
		told("policy asks", -1, &error);
		return;
	}
	run_dispatching(session, "curl -s -m 9 http://a.test/ >/dev/null");
	if (!srtlua_violations(session, "P", NULL, &found, NULL)) {
		printf("%zu: %s\n", found->count,
		       found->count ? found->list[0].reason : "");
		srtlua_free(found);
	}
	srtlua_close(session);
}

static void refusals(struct srtlua_session *session)
{
	static const char *const argv[] = { "true", NULL };
	static const char *const bad[] = { "a b", NULL };
	struct srtlua_command command = { .size = sizeof(command) };
	struct srtlua_wrapped *wrapped;
	struct srtlua_error error;

	told("dispatch", srtlua_dispatch(session, NULL, &error), &error);
	told("neither", srtlua_wrap(session, &command, &wrapped, &error),
	     &error);
	command.argv = argv;
	command.allowed = bad;
	told("bad host", srtlua_wrap(session, &command, &wrapped, &error),
	     &error);
	command.allowed = NULL;
	command.id = "\xff";
	told("no utf-8", srtlua_wrap(session, &command, &wrapped, &error),
	     &error);
	command.id = "it's";
	told("wrap", srtlua_wrap(session, &command, &wrapped, &error), &error);
	printf("%s\n", strstr(wrapped->shell, "--id"));
	srtlua_free(wrapped);
}

int main(int argc, char **argv)
{
	struct asker asker = { 0 };
	struct srtlua_options options = { .size = sizeof(options),
					  .program = argv[argc > 1],
					  .ask = ask,
					  .context = &asker };
	struct srtlua_session *sessions[2];
	struct srtlua_error error;

	errors(options.program);
	if (srtlua_open_lua(&sessions[0], "return {}", &options, &error) ||
	    srtlua_open_json(&sessions[1], "{\"filesystem\":{}}", &options,
			     &error)) {
		told("open", -1, &error);
		return 97;
	}
	asker.session = sessions[0];
	policy_asks(&options);
	never(sessions[0]);
	spawn(sessions[0]);
	threads(sessions);
	refusals(sessions[0]);
	reports(sessions[0], &asker);
	srtlua_close(sessions[0]);
	printf("the other: exit %d\n", run(sessions[1], "O", "exit 6"));
	/* It is told by its socket where its process is killed. */
	printf("socket %s\n", srtlua_socket(sessions[1]));
	fflush(stdout);
	if (getchar() == EOF)
		return 96;
	told("gone", srtlua_reset(sessions[1], &error), &error);
	srtlua_close(sessions[1]);
	srtlua_close(NULL);
	return 0;
}
