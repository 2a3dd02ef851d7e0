/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in a session: how one is run, and running it. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/private.h"

extern char **environ;

/* srt-lua exec: options of ours go behind these words of an argv. */
enum { BEFORE = 2 };

/* Return: a list, JSON's null for NULL; NULL without memory. */
static json_t *list_of(const char *const *words)
{
	json_t *list = words ? json_array() : NULL;

	for (size_t i = 0; list && words[i]; i++) {
		if (json_array_append_new(list, json_string(words[i]))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* Sets a member, where there is something. Return: false without memory. */
static bool set_list(json_t *message, const char *key, const char *const *words)
{
	return !words || !json_object_set_new(message, key, list_of(words));
}

static json_t *message_of(const struct srtlua_command *command)
{
	json_t *message = json_pack("{s:s,s:s*,s:s*,s:s*}", "op", "wrap",
				    "command", command->shell, "id",
				    command->id, "text", command->text);

	if (message &&
	    (!set_list(message, "allowedDomains", command->allowed) ||
	     !set_list(message, "deniedDomains", command->denied) ||
	     !set_list(message, "command", command->argv))) {
		json_decref(message);
		return NULL;
	}
	return message;
}

static struct srtlua_wrapped *wrapped_of(const json_t *answer)
{
	const json_t *argv = json_object_get(answer, "argv");
	const json_t *id = json_object_get(answer, "id");
	const json_t *shell = json_object_get(answer, "shell");
	size_t count = json_array_size(argv);
	size_t size = pack_size(id) + pack_size(shell);
	struct packed packed;
	struct srtlua_wrapped *wrapped;

	for (size_t i = 0; i < count; i++)
		size += pack_size(json_array_get(argv, i));
	wrapped = calloc(1, sizeof(*wrapped) + (count + 1) * sizeof(char *) +
				    size);
	if (!wrapped)
		return NULL;
	packed = (struct packed){ (char *)&wrapped->argv[count + 1], size };
	wrapped->argc = count;
	for (size_t i = 0; i < count; i++)
		wrapped->argv[i] = pack(&packed, json_array_get(argv, i));
	wrapped->id = pack(&packed, id);
	wrapped->shell = pack(&packed, shell);
	return wrapped;
}

int srtlua_wrap(struct srtlua_session *session,
		const struct srtlua_command *given, struct srtlua_wrapped **out,
		struct srtlua_error *error)
{
	struct srtlua_command command = { 0 };
	json_t *answer;
	int code;

	*out = NULL;
	read_sized(&command, sizeof(command), given);
	if (!command.shell == !command.argv)
		return fail(error, SRTLUA_USAGE,
			    "a command has either shell or argv");
	code = link_call(session, message_of(&command), &answer, error);
	if (code)
		return code;
	if (!are_strings(json_object_get(answer, "argv"), BEFORE) ||
	    !json_is_string(json_object_get(answer, "id")) ||
	    !json_is_string(json_object_get(answer, "shell")))
		code = fail_answer(error);
	else if (!(*out = wrapped_of(answer)))
		code = fail(error, SRTLUA_SYSTEM, "out of memory");
	json_decref(answer);
	return code;
}

/*
 * Looked at before anything is copied: what was closed may get its number by a
 * copy of ours, and the child would have that.
 */
static int check_files(const struct srtlua_spawn *spawn,
		       struct srtlua_error *error)
{
	for (int i = 0; i < 3; i++)
		if (spawn->fds[i] >= 0 && fcntl(spawn->fds[i], F_GETFD) < 0)
			return fail(error, SRTLUA_USAGE,
				    "descriptor %d, for %d, is not open",
				    spawn->fds[i], i);
	for (size_t i = 0; i < spawn->keep_count; i++)
		if (spawn->keep[i] < 3 || fcntl(spawn->keep[i], F_GETFD) < 0)
			return fail(error, SRTLUA_USAGE,
				    "descriptor %d can't be kept: it is %s",
				    spawn->keep[i],
				    spawn->keep[i] < 3 ? "below 3"
						       : "not open");
	return SRTLUA_OK;
}

/*
 * One of the caller's 0, 1 and 2 for another of them: copied, for by then it
 * is the child's already. @fds: of which what is above 2 and not the caller's
 * is to be closed by close_lifted().
 */
static int lift(const struct srtlua_spawn *spawn, int fds[3])
{
	int error = 0;

	for (int i = 0; i < 3; i++) {
		int fd = spawn->fds[i];

		fds[i] = fd;
		if (fd < 0 || fd > 2 || fd == i)
			continue;
		fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (fds[i] < 0)
			error = errno;
	}
	return error;
}

static void close_lifted(const struct srtlua_spawn *spawn, const int fds[3])
{
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0 && fds[i] != spawn->fds[i])
			close(fds[i]);
}

static int set_files(posix_spawn_file_actions_t *files,
		     const struct srtlua_spawn *spawn, const int fds[3])
{
	int error = 0;

	for (int i = 0; i < 3 && !error; i++)
		if (fds[i] >= 0)
			error = posix_spawn_file_actions_adddup2(files, fds[i],
								 i);
	/* To the same number: this only takes close-on-exec away. */
	for (size_t i = 0; i < spawn->keep_count && !error; i++)
		error = posix_spawn_file_actions_adddup2(files, spawn->keep[i],
							 spawn->keep[i]);
	if (!error && spawn->cwd)
		error = posix_spawn_file_actions_addchdir_np(files, spawn->cwd);
	return error;
}

/* srt-lua exec with the options for more descriptors. */
static char **argv_of(const struct srtlua_wrapped *wrapped,
		      const struct srtlua_spawn *spawn)
{
	enum { OPTION_SIZE = 32 };
	size_t keep = spawn->keep_count;
	size_t words = wrapped->argc + keep + 1;
	char **argv = calloc(1, words * sizeof(char *) + keep * OPTION_SIZE);
	char *text = argv ? (char *)&argv[words] : NULL;

	if (!argv)
		return NULL;
	memcpy(argv, wrapped->argv, BEFORE * sizeof(char *));
	for (size_t i = 0; i < keep; i++, text += OPTION_SIZE) {
		snprintf(text, OPTION_SIZE, "--keep-fd=%d", spawn->keep[i]);
		argv[BEFORE + i] = text;
	}
	memcpy(argv + BEFORE + keep, wrapped->argv + BEFORE,
	       (wrapped->argc - BEFORE) * sizeof(char *));
	return argv;
}

static int start(const struct srtlua_wrapped *wrapped,
		 const struct srtlua_spawn *spawn, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	char **argv = argv_of(wrapped, spawn);
	int fds[3];
	int lifted = lift(spawn, fds);
	int error = argv ? lifted : ENOMEM;

	if (!error)
		error = posix_spawn_file_actions_init(&files);
	if (!error) {
		error = set_files(&files, spawn, fds);
		if (!error)
			error = posix_spawn(pid, argv[0], &files, NULL, argv,
					    spawn->env ? spawn->env : environ);
		posix_spawn_file_actions_destroy(&files);
	}
	close_lifted(spawn, fds);
	free(argv);
	return error;
}

int srtlua_spawn(struct srtlua_session *session,
		 const struct srtlua_command *command,
		 const struct srtlua_spawn *given, pid_t *pid, char **id,
		 struct srtlua_error *error)
{
	struct srtlua_spawn spawn = { .fds = { -1, -1, -1 } };
	struct srtlua_wrapped *wrapped;
	char *name = NULL;
	int code, number;

	if (id)
		*id = NULL;
	if (given)
		read_sized(&spawn, sizeof(spawn), given);
	code = check_files(&spawn, error);
	if (!code)
		code = srtlua_wrap(session, command, &wrapped, error);
	if (code)
		return code;
	if (id)
		name = strdup(wrapped->id);
	number = id && !name ? ENOMEM : start(wrapped, &spawn, pid);
	if (number) {
		code = fail_system(error, number, wrapped->argv[0]);
		free(name);
	} else if (id) {
		*id = name;
	}
	free(wrapped);
	return code;
}

int srtlua_wait(pid_t pid, int *status, struct srtlua_error *error)
{
	int value;

	if (pid <= 0)
		return fail(error, SRTLUA_USAGE, "%ld is no child", (long)pid);
	while (waitpid(pid, &value, 0) < 0)
		if (errno != EINTR)
			return fail_system(error, errno, "waitpid");
	*status =
		WIFSIGNALED(value) ? 128 + WTERMSIG(value) : WEXITSTATUS(value);
	return SRTLUA_OK;
}
