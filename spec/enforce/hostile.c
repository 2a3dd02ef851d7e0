/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Misuse of lib/srtlua.h, and sessions that lie or die, for test_library.py:
 *
 *	hostile			this program is the session as well
 *	hostile stuck		one that does not end
 *	hostile flood PROGRAM	calls a real one without an end
 */
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/srtlua.h"

enum { CALLS = 7, THREADS = 4, FD = 3, BIG = 1 << 20, HUGE = 90 << 20 };

#define READY "{\"event\":\"ready\",\"socket\":\"/s\"}\n"
/* What every call takes; argv runs true(1). */
#define GOOD                                                            \
	"{\"ok\":true,\"seq\":@,\"argv\":[\"/bin/true\",\"exec\"],"     \
	"\"id\":\"i\",\"shell\":\"s\",\"held\":[],\"violations\":[{}]," \
	"\"stderr\":\"t\"}\n"

static const char *self;

/*
 * The session: FAKE_READY for the first line, FAKE_ANSWER for all others, with
 * their number for "@". "!" dies, "#" never ends a line, "~" hangs behind it;
 * half a line is its last.
 */
static void answer(const char *text, const char *line)
{
	const char *seq = strstr(line, "\"seq\":");

	if (*text == '!')
		raise(SIGKILL);
	if (*text == '#') {
		char *long_line = malloc(HUGE);

		memset(long_line, 'x', HUGE);
		for (size_t done = 0; done < HUGE;) {
			ssize_t size = write(FD, long_line + done, HUGE - done);

			if (size <= 0)
				exit(0);
			done += (size_t)size;
		}
		exit(0);
	}
	for (const char *c = text + (*text == '~'); *c; c++) {
		if (*c == '@')
			dprintf(FD, "%ld", seq ? atol(seq + 6) : 0);
		else
			(void)!write(FD, c, 1);
	}
	while (*text == '~')
		pause();
	if (*text && text[strlen(text) - 1] != '\n')
		exit(0);
}

static int fake(void)
{
	FILE *in = fdopen(dup(FD), "r");
	const char *ready = getenv("FAKE_READY");
	char *line = NULL;
	size_t room = 0;

	if (getline(&line, &room, in) <= 0)
		return 1;
	answer(ready, line);
	/* Of a session that is not there any more only what it said counts. */
	if (strcmp(ready, READY) != 0)
		return 0;
	while (getline(&line, &room, in) > 0)
		answer(getenv("FAKE_ANSWER"), line);
	return 0;
}

static int ask(void *context, const struct srtlua_question *question,
	       char *reason, size_t size)
{
	int *asked = context;

	*asked += strlen(question->host) + strlen(question->text) +
			  strlen(question->choices) <
		  1000;
	memset(reason, 'r', size);
	return 7;
}

static struct srtlua_session *open_fake(const char *ready, const char *text,
					int *asked, struct srtlua_error *error)
{
	struct srtlua_options options = { .size = sizeof(options),
					  .program = self,
					  .ask = asked ? ask : NULL,
					  .context = asked };
	struct srtlua_session *session;

	setenv("FAKE_READY", ready, 1);
	setenv("FAKE_ANSWER", text, 1);
	(void)srtlua_open_lua(&session, "return {}", &options, error);
	return session;
}

static int call(struct srtlua_session *session, int number)
{
	static const char *const argv[] = { "x", NULL };
	const struct srtlua_command command = { .size = sizeof(command),
						.argv = argv };
	struct srtlua_violations *violations = NULL;
	struct srtlua_updated *updated = NULL;
	struct srtlua_wrapped *wrapped = NULL;
	struct srtlua_error error = { 0 };
	char *text = NULL;
	pid_t pid;
	int code = -1, status;

	switch (number) {
	case 0:
		code = srtlua_wrap(session, &command, &wrapped, &error);
		break;
	case 1:
		code = srtlua_spawn(session, &command, NULL, &pid, &text,
				    &error);
		if (!code)
			code = srtlua_wait(pid, &status, &error);
		break;
	case 2:
		code = srtlua_update_json(session, "{}", &updated, &error);
		break;
	case 3:
		code = srtlua_update_file(session, NULL, NULL, &error);
		break;
	case 4:
		code = srtlua_violations(session, NULL, NULL, &violations,
					 &error);
		break;
	case 5:
		code = srtlua_annotate(session, "i", "t", &text, &error);
		break;
	default:
		code = srtlua_reset(session, &error);
	}
	srtlua_free(wrapped);
	srtlua_free(text);
	srtlua_free(updated);
	srtlua_free(violations);
	/* An error has its text, and what there is none of is not shown. */
	if (code != error.code || !code != !*error.text)
		printf("%d without its text\n", code);
	return code;
}

/* Each call, of a session of its own: what it gives. */
static void calls(const char *name, const char *text, int *asked)
{
	printf("%s:", name);
	for (int i = 0; i < CALLS; i++) {
		struct srtlua_session *session =
			open_fake(READY, text, asked, NULL);

		printf(" %d", session ? call(session, i) : -1);
		srtlua_close(session);
	}
	printf("\n");
}

static void opens(void)
{
	static char large[3000] = "{\"error\":\"";
	static const char *const rows[] = { "",
					    "garbage\n",
					    "{\"socket\":\n",
					    "{\"socket\":\"/s\"}",
					    "[]\n",
					    "{\"socket\":7}\n",
					    "{\"socket\":\"\\u0000\"}\n",
					    "!",
					    "#",
					    large };
	struct srtlua_error error;

	memset(large + strlen(large), 'e', 2500);
	strcat(large, "\"}\n");
	printf("open:");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct srtlua_session *session =
			open_fake(rows[i], "", NULL, &error);

		printf(" %d", session ? -1 : error.code);
		srtlua_close(session);
	}
	printf(", %zu bytes\n", strlen(error.text));
}

static void *in_thread(void *session)
{
	return (void *)(long)call(session, CALLS - 1);
}

static void threads(const char *name, const char *text)
{
	struct srtlua_session *session = open_fake(READY, text, NULL, NULL);
	pthread_t ids[THREADS];

	printf("%s:", name);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&ids[i], NULL, in_thread, session))
			exit(98);
	for (int i = 0; i < THREADS; i++) {
		void *code;

		pthread_join(ids[i], &code);
		printf(" %ld", (long)code);
	}
	srtlua_close(session);
	printf("\n");
}

static int spawn(struct srtlua_session *session, const int fds[3], int keep)
{
	static const char *const argv[] = { "x", NULL };
	const struct srtlua_command command = { .size = sizeof(command),
						.argv = argv };
	const struct srtlua_spawn how = { .size = sizeof(how),
					  .fds = { fds[0], fds[1], fds[2] },
					  .keep = &keep,
					  .keep_count = keep != -1 };
	struct srtlua_error error;
	char *id = (char *)"unset";
	int code, status;
	pid_t pid = -1;

	code = srtlua_spawn(session, &command, &how, &pid, &id, &error);
	if (!code) {
		srtlua_free(id);
		return srtlua_wait(pid, &status, &error) ? -1 : -status;
	}
	return id ? -1 : code;
}

/* Descriptors that are not there, and ones that change places. */
static void descriptors(void)
{
	static const char swapped[] =
		"{\"ok\":true,\"seq\":@,\"argv\":[\"/bin/sh\",\"-c\","
		"\"read x; test $x = out; echo in; echo err >&2\"],\"id\":"
		"\"i\",\"shell\":\"s\"}\n";
	struct srtlua_session *session = open_fake(READY, GOOD, NULL, NULL);
	int before[3], in[2], out[2], code;
	char text[20] = "";

	printf("descriptors: %d", spawn(session, (int[]){ -1, 999, -1 }, -1));
	/* The lowest one that is free, which a copy would have been given. */
	code = dup(0);
	close(code);
	printf(" %d", spawn(session, (int[]){ 1, code, -1 }, -1));
	printf(" %d", spawn(session, (int[]){ 1, 0, 2 }, code));
	printf(" %d", spawn(session, (int[]){ -1, -1, -1 }, 1));
	printf(" %d", spawn(session, (int[]){ -1, -1, -1 }, -2));
	printf(" %d", spawn(session, (int[]){ -7, 2, 1 }, -1));
	srtlua_close(session);
	session = open_fake(READY, swapped, NULL, NULL);
	fflush(stdout);
	if (pipe(in) || pipe(out) || write(in[1], "out\n", 4) != 4)
		exit(97);
	for (int i = 0; i < 3; i++)
		before[i] = dup(i);
	/* Its input is our output, its output our input. */
	dup2(out[1], 0);
	dup2(in[0], 1);
	code = spawn(session, (int[]){ 1, 0, 0 }, -1);
	for (int i = 0; i < 3; i++) {
		dup2(before[i], i);
		close(before[i]);
	}
	(void)!read(out[0], text, sizeof(text) - 1);
	for (char *c = text; *c; c++)
		*c = *c == '\n' ? ' ' : *c;
	printf(" swapped %d %s\n", code, text);
	for (int i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
	srtlua_close(session);
}

/* jansson's memory ends at the n-th piece, for every n. */
static atomic_int left;

static void *short_of(size_t size)
{
	return atomic_fetch_sub(&left, 1) == 0 ? NULL : malloc(size);
}

static void memory(void)
{
	struct srtlua_session *session = NULL;
	int wrong = 0, number = 0;
	bool more = true;

	atomic_store(&left, -1);
	json_set_alloc_funcs(short_of, free);
	for (; more; number++) {
		more = false;
		/* wrap, update and violations; the others are like these. */
		for (int i = 0; i < CALLS - 1; i += 2) {
			int code;

			if (!session)
				session = open_fake(READY, GOOD, NULL, NULL);
			atomic_store(&left, number);
			code = call(session, i);
			more = more || atomic_load(&left) < 0;
			atomic_store(&left, -1);
			wrong += code != SRTLUA_OK && code != SRTLUA_SYSTEM &&
				 code != SRTLUA_GONE;
			if (code != SRTLUA_GONE)
				continue;
			/* The reader had no memory for the answer. */
			srtlua_close(session);
			session = NULL;
		}
	}
	srtlua_close(session);
	json_set_alloc_funcs(malloc, free);
	printf("memory: %d wrong, %s\n", wrong, number > 10 ? "many" : "few");
}

static void stuck(void)
{
	struct srtlua_session *session = open_fake(READY, "~" GOOD, NULL, NULL);
	time_t begin = time(NULL);

	(void)call(session, CALLS - 1);
	srtlua_close(session);
	begin = time(NULL) - begin;
	printf("stuck: %d, %s left\n", begin >= 9 && begin < 20,
	       waitpid(-1, NULL, WNOHANG) < 0 ? "none" : "one");
}

static void flood(const char *program)
{
	const struct srtlua_options options = { .size = sizeof(options),
						.program = program };
	struct srtlua_session *session;
	struct srtlua_error error;
	char *text = malloc(BIG), *out;

	memset(text, 'x', BIG - 1);
	text[BIG - 1] = '\0';
	if (srtlua_open_lua(&session, "return {}", &options, &error)) {
		printf("%s\n", error.text);
		return;
	}
	printf("socket %s\n", srtlua_socket(session));
	fflush(stdout);
	while (!srtlua_annotate(session, "i", text, &out, &error))
		srtlua_free(out);
	printf("%s\n", error.text);
}

int main(int argc, char **argv)
{
	int asked = 0;

	setvbuf(stdout, NULL, _IONBF, 0);
	self = argv[0];
	if (argc > 1 && !strcmp(argv[1], "session"))
		return fake();
	if (argc > 2) {
		flood(argv[2]);
		return 1;
	}
	if (argc > 1) {
		stuck();
		return 0;
	}
	opens();
	calls("good", GOOD, NULL);
	calls("dies", "!", NULL);
	calls("garbage", "garbage\n", NULL);
	calls("a list", "[]\n", NULL);
	calls("half", "{\"ok\":true,\"seq\":@", NULL);
	calls("other lines", "{}\n{\"seq\":99}\n{\"event\":\"x\"}\n" GOOD,
	      NULL);
	calls("refused", "{\"seq\":@,\"ok\":1}\n", NULL);
	calls("other types",
	      "{\"ok\":true,\"seq\":@,\"argv\":[1],\"id\":[],\"held\":{},"
	      "\"violations\":7,\"stderr\":{}}\n",
	      NULL);
	/* The question that op ask is told before it is answered. */
	calls("questions",
	      "{\"event\":\"ask\",\"n\":{},\"host\":7,\"choices\":[1,"
	      "\"a\"]}\n" GOOD,
	      &asked);
	printf("asked: %s\n", asked ? "yes" : "no");
	threads("threads", GOOD);
	threads("threads of a dying one", "!");
	descriptors();
	memory();
	printf("children: %s\n",
	       waitpid(-1, NULL, WNOHANG) < 0 ? "none" : "some");
	return 0;
}
