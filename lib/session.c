/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: the process that has one is started, told its policy, and ended. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/private.h"

extern char **environ;

/* By which number the session has its end. */
#define FD 3

#ifndef SRT_VERSION
#error "SRT_VERSION comes from the build"
#endif

const char *srtlua_version(void)
{
	return SRT_VERSION;
}

/* Its standard streams lead nowhere, but where its warnings are wanted. */
static int set_files(posix_spawn_file_actions_t *files, int theirs,
		     const struct srtlua_options *options)
{
	int error = posix_spawn_file_actions_addopen(files, 0, "/dev/null",
						     O_RDWR, 0);

	if (!error && options->log > 0)
		error = posix_spawn_file_actions_adddup2(files, options->log,
							 2);
	else if (!error)
		error = posix_spawn_file_actions_adddup2(files, 0, 2);
	if (!error)
		error = posix_spawn_file_actions_adddup2(files, 0, 1);
	if (!error)
		error = posix_spawn_file_actions_adddup2(files, theirs, FD);
	/* A pipe of the caller's must not stay open for as long as it lives. */
	if (!error)
		error = posix_spawn_file_actions_addclosefrom_np(files, FD + 1);
	if (!error && options->cwd)
		error = posix_spawn_file_actions_addchdir_np(files,
							     options->cwd);
	return error;
}

/* A group of its own: Ctrl-C on a terminal is for the caller to act upon. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int error;

	sigemptyset(&none);
	sigfillset(&all);
	error = posix_spawnattr_setsigmask(attributes, &none);
	if (!error)
		error = posix_spawnattr_setsigdefault(attributes, &all);
	if (!error)
		error = posix_spawnattr_setflags(
			attributes, POSIX_SPAWN_SETPGROUP |
					    POSIX_SPAWN_SETSIGMASK |
					    POSIX_SPAWN_SETSIGDEF);
	return error;
}

static int start(struct srtlua_session *session, int theirs,
		 const struct srtlua_options *options)
{
	const char *program = options->program ? options->program : "srt-lua";
	const char *argv[] = { program,	       "session",	    "--fd", "3",
			       "--violations", options->violations, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int error;

	if (!options->violations)
		argv[4] = NULL;
	error = posix_spawn_file_actions_init(&files);
	if (error)
		return error;
	error = posix_spawnattr_init(&attributes);
	if (!error) {
		error = set_files(&files, theirs, options);
		if (!error)
			error = set_attributes(&attributes);
		if (!error)
			error = posix_spawnp(&session->pid, program, &files,
					     &attributes,
					     (char **)(uintptr_t)argv, environ);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return error;
}

/* Both ends above what the child's streams are. */
static int make_pair(int pair[2])
{
	int low[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low))
		return -errno;
	for (int i = 0; i < 2; i++)
		pair[i] = fcntl(low[i], F_DUPFD_CLOEXEC, FD + 1);
	close(low[0]);
	close(low[1]);
	if (pair[0] >= 0 && pair[1] >= 0)
		return 0;
	for (int i = 0; i < 2; i++)
		if (pair[i] >= 0)
			close(pair[i]);
	return -EMFILE;
}

/* What the first line of the session says. */
static int read_ready(struct srtlua_session *session,
		      struct srtlua_error *error)
{
	const char *line = link_line(session);
	json_t *message = line ? json_loads(line, 0, NULL) : NULL;
	const char *socket =
		json_string_value(json_object_get(message, "socket"));
	const char *why = json_string_value(json_object_get(message, "error"));
	int code = SRTLUA_OK;

	if (socket)
		session->socket = strdup(socket);
	else if (why)
		code = fail(error, SRTLUA_REFUSED, "%s", why);
	else
		code = fail(error, SRTLUA_GONE,
			    "srt-lua has ended before it was ready");
	if (!code && !session->socket)
		code = fail(error, SRTLUA_SYSTEM, "out of memory");
	json_decref(message);
	return code;
}

static int begin(struct srtlua_session *session, json_t *policy,
		 struct srtlua_error *error)
{
	json_t *answer = NULL;
	int code = link_say(session, policy, error);

	if (!code)
		code = read_ready(session, error);
	if (!code)
		code = link_start(session, error);
	if (!code && session->ask)
		code = link_call(session,
				 json_pack("{s:s,s:b}", "op", "ask", "policy",
					   session->policy_asks),
				 &answer, error);
	json_decref(answer);
	return code;
}

static struct srtlua_session *session_new(const struct srtlua_options *options)
{
	struct srtlua_session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->fd = session->event = -1;
	session->owner = getpid();
	session->ask = options->ask;
	session->policy_asks = options->policy_asks != 0;
	session->context = options->context;
	pthread_mutex_init(&session->sending, NULL);
	pthread_mutex_init(&session->lock, NULL);
	pthread_cond_init(&session->changed, NULL);
	LIST_INIT(&session->waiting);
	STAILQ_INIT(&session->asked);
	return session;
}

/* @policy is taken over; NULL where there was no memory for it. */
static int open_session(struct srtlua_session **out, json_t *policy,
			const struct srtlua_options *given,
			struct srtlua_error *error)
{
	struct srtlua_options options = { 0 };
	struct srtlua_session *session;
	int pair[2] = { -1, -1 }, number;

	*out = NULL;
	if (given)
		read_sized(&options, sizeof(options), given);
	session = policy ? session_new(&options) : NULL;
	if (!session) {
		json_decref(policy);
		return fail(error, SRTLUA_SYSTEM,
			    "out of memory, or a text that is not UTF-8");
	}
	number = 0;
	if (options.ask && options.dispatched) {
		session->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		number = session->event < 0 ? errno : 0;
	}
	if (!number)
		number = -make_pair(pair);
	if (!number) {
		session->fd = pair[0];
		number = start(session, pair[1], &options);
		close(pair[1]);
	}
	if (number) {
		json_decref(policy);
		srtlua_close(session);
		return fail_system(error, number, "srt-lua can't be started");
	}
	number = begin(session, policy, error);
	if (number)
		srtlua_close(session);
	else
		*out = session;
	return number;
}

int srtlua_open_file(struct srtlua_session **out, const char *path,
		     const struct srtlua_options *options,
		     struct srtlua_error *error)
{
	/* The session may have another working directory. */
	char *real = realpath(path, NULL);
	int number = errno, code;

	*out = NULL;
	if (!real)
		return fail_system(error, number, path);
	code = open_session(out,
			    json_pack("{s:s,s:s}", "op", "open", "file", real),
			    options, error);
	free(real);
	return code;
}

int srtlua_open_lua(struct srtlua_session **out, const char *text,
		    const struct srtlua_options *options,
		    struct srtlua_error *error)
{
	return open_session(out,
			    json_pack("{s:s,s:s}", "op", "open", "lua", text),
			    options, error);
}

int srtlua_open_json(struct srtlua_session **out, const char *text,
		     const struct srtlua_options *options,
		     struct srtlua_error *error)
{
	int code = SRTLUA_OK;
	json_t *settings = read_settings(text, &code, error);

	*out = NULL;
	if (!settings)
		return code;
	return open_session(
		out, json_pack("{s:s,s:o}", "op", "open", "settings", settings),
		options, error);
}

/*
 * It ends with its descriptor, unless it is stopped or hangs. Somebody may have
 * reaped it.
 */
static void wait_or_kill(pid_t pid)
{
	enum { TRIES = 1000, PAUSE_NS = 10000000 };
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	const struct timespec first = { .tv_nsec = PAUSE_NS / 10 };
	pid_t got = 0;

	for (int i = 0; i < TRIES && got == 0; i++) {
		got = waitpid(pid, NULL, WNOHANG);
		if (got == 0)
			nanosleep(i < 10 ? &first : &pause, NULL);
	}
	if (got != 0)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void srtlua_close(struct srtlua_session *session)
{
	const char *why = session ? link_usable(session) : NULL;

	if (!session)
		return;
	if (why) {
		/* What its owner goes on to use stays; in a child that is but
		 * a copy. */
		if (session->owner != getpid()) {
			close(session->fd);
			if (session->event >= 0)
				close(session->event);
		}
		return;
	}
	if (session->fd >= 0)
		link_stop(session);
	questions_drop(session);
	if (session->event >= 0)
		close(session->event);
	if (session->pid > 0)
		wait_or_kill(session->pid);
	pthread_cond_destroy(&session->changed);
	pthread_mutex_destroy(&session->lock);
	pthread_mutex_destroy(&session->sending);
	free(session->socket);
	free(session);
}

const char *srtlua_socket(const struct srtlua_session *session)
{
	return session->socket;
}

void srtlua_free(void *memory)
{
	free(memory);
}
