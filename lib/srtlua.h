/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface of srt-lua: sandboxed commands for programs that start them.
 *
 * A session is a process of its own, `srt-lua session`, which has the policy
 * and its proxy. This library starts it, and talks to it over a socket. So
 * nothing of a sandbox happens in the caller: no fork, no signal handler, no
 * global state. srtlua(3) tells more.
 *
 * Threads: a session may be used by any number of threads at once, and each
 * has a thread of its own here, which calls the ask callback. In the callback
 * no function of its session may be called: they answer SRTLUA_USAGE.
 * With struct srtlua_options's dispatched set, srtlua_dispatch() calls it in
 * the caller's thread instead, and it may call all but srtlua_close().
 * srtlua_close() must be the last call. Different sessions share nothing. In a
 * child of fork(2) sessions can't be used: SRTLUA_USAGE; to close one there, or
 * in the callback, leaves it as it is.
 *
 * Errors: 0, or one of enum srtlua_code. Where a struct srtlua_error is given
 * (it may be NULL) its text then says why, in English, without a newline.
 */
#ifndef SRTLUA_H
#define SRTLUA_H

#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum srtlua_code {
	SRTLUA_OK = 0,
	SRTLUA_SYSTEM = 1,  /* the machine: memory, processes, files */
	SRTLUA_REFUSED = 2, /* a policy or a request that can't be used */
	SRTLUA_GONE = 3,    /* the session has ended */
	SRTLUA_USAGE = 4,   /* a call that is wrong whatever the session says */
};

struct srtlua_error {
	int code; /* enum srtlua_code */
	char text[1024];
};

/** struct srtlua_session - opaque */
struct srtlua_session;

/**
 * struct srtlua_question - a connection that no list of the policy decides; or
 * what the policy asks itself (srt.ask), where struct srtlua_options has
 * policy_asks set
 * All strings are borrowed, for the call. @id, @command: of the command.
 * @text: the policy's question, which has no host, port and protocol; else ""
 * @choices: "", or words with a blank between, one of which is to be chosen
 */
struct srtlua_question {
	const char *host;
	unsigned int port;
	const char *protocol; /* "connect", "http", "socks5", "transparent" … */
	const char *id;
	const char *command;
	const char *text;
	const char *choices;
};

/**
 * srtlua_ask - may it be made? The client waits for the answer, and no other
 * is asked meanwhile; after limits.askSeconds of the policy it is denied
 * @reason: room for @size bytes of why not, for the client; empty at first
 * Return: 1 allows, anything else denies. With @choices: 1 for the first of
 * them, 2 for the second …
 */
typedef int srtlua_ask(void *context, const struct srtlua_question *question,
		       char *reason, size_t size);

/** struct srtlua_options - what is zero is as usual; NULL for all of it */
struct srtlua_options {
	size_t size;		/* sizeof(struct srtlua_options) */
	const char *program;	/* path of srt-lua; NULL: found by PATH */
	const char *cwd;	/* that the policy's relative paths mean */
	srtlua_ask *ask;	/* NULL: what nobody decides is denied */
	void *context;		/* for ask */
	const char *violations; /* file, as of srt-lua run --violations */
	int log;	 /* descriptor for its warnings, 0 for none; borrowed */
	int policy_asks; /* not 0: ask is called for srt.ask, too */
	int dispatched;	 /* not 0: ask is called by srtlua_dispatch() alone */
};

/**
 * srtlua_open_file(), _lua(), _json() - start a session under a policy
 * @path: a Lua or JSON file, relative to the caller's working directory
 * @text: a policy in Lua, or settings in JSON
 * @out: the session, to be closed; NULL on failure
 */
int srtlua_open_file(struct srtlua_session **out, const char *path,
		     const struct srtlua_options *options,
		     struct srtlua_error *error);
int srtlua_open_lua(struct srtlua_session **out, const char *text,
		    const struct srtlua_options *options,
		    struct srtlua_error *error);
int srtlua_open_json(struct srtlua_session **out, const char *text,
		     const struct srtlua_options *options,
		     struct srtlua_error *error);

/**
 * srtlua_close() - end a session; commands in it lose their network
 * @session: may be NULL
 */
void srtlua_close(struct srtlua_session *session);

/**
 * srtlua_descriptor() - readable while questions wait for srtlua_dispatch();
 * for poll(2), not to be read. -1: the session has no such questions
 */
int srtlua_descriptor(const struct srtlua_session *session);

/**
 * srtlua_dispatch() - call ask, in this thread, for each question that waits
 * @asked: NULL, or filled with how many there were
 */
int srtlua_dispatch(struct srtlua_session *session, size_t *asked,
		    struct srtlua_error *error);

/** srtlua_socket() - where it listens, for srt-lua exec; the session's */
const char *srtlua_socket(const struct srtlua_session *session);

/**
 * struct srtlua_command - a command, as one string for /bin/sh or as words
 * @id: what its violations are found by; NULL: one is made up
 * @text: what they are reported under; NULL: the command itself
 * @allowed, @denied: hosts as of network.allowedDomains and deniedDomains, for
 * this command alone. @allowed counts where the policy's lists decide nothing
 * and network.strictAllowlist is not set, @denied always.
 */
struct srtlua_command {
	size_t size; /* sizeof(struct srtlua_command) */
	const char *shell;
	const char *const *argv; /* instead of shell; ends with NULL */
	const char *id;
	const char *text;
	const char *const *allowed; /* ends with NULL; may be NULL */
	const char *const *denied;  /* the same */
};

/** struct srtlua_wrapped - how to run it; freed as one */
struct srtlua_wrapped {
	char *id;
	char *shell; /* a command line for a shell */
	size_t argc;
	char *argv[]; /* the same for execvp(3); ends with NULL */
};

/**
 * srtlua_wrap() - say how a command is run in the session
 *
 * Whoever runs it gets its standard streams, exit status and signals as of any
 * child. @out: freed by srtlua_free().
 */
int srtlua_wrap(struct srtlua_session *session,
		const struct srtlua_command *command,
		struct srtlua_wrapped **out, struct srtlua_error *error);

/**
 * struct srtlua_spawn - what a child gets; NULL for all as the caller has it
 * @fds: the caller's descriptors for its 0, 1 and 2; -1: the same ones
 * @keep: more that the command gets, by the same numbers
 */
struct srtlua_spawn {
	size_t size; /* sizeof(struct srtlua_spawn) */
	int fds[3];
	const int *keep;
	size_t keep_count;
	const char *cwd;
	char *const *env; /* NULL: the caller's */
};

/**
 * srtlua_spawn() - wrap and start a command
 * @pid: the child, to be waited for
 * @id: NULL, or filled with its id; freed by srtlua_free()
 */
int srtlua_spawn(struct srtlua_session *session,
		 const struct srtlua_command *command,
		 const struct srtlua_spawn *spawn, pid_t *pid, char **id,
		 struct srtlua_error *error);

/**
 * srtlua_wait() - wait for such a child
 * @status: 0 to 255 as a shell has it (128+N for a signal; 125 where srt-lua
 * failed, 126 and 127 where the command could not be executed or found)
 */
int srtlua_wait(pid_t pid, int *status, struct srtlua_error *error);

/** struct srtlua_updated - what became of an update; freed as one */
struct srtlua_updated {
	size_t commands; /* that run under it now */
	size_t cut;	 /* connections that it denies, and were reset */
	size_t held_count;
	char *held[]; /* keys that count only for commands that join later */
};

/**
 * srtlua_update_json(), srtlua_update_file() - another policy from now on
 *
 * Its network part is in force at once, all of it for commands that join
 * later. On failure the one before it stays. srtlua_update_file(): @path NULL
 * reads the session's policy file again.
 * @out: freed by srtlua_free(); may be NULL
 */
int srtlua_update_json(struct srtlua_session *session, const char *text,
		       struct srtlua_updated **out, struct srtlua_error *error);
int srtlua_update_file(struct srtlua_session *session, const char *path,
		       struct srtlua_updated **out, struct srtlua_error *error);

/** struct srtlua_violation - something that was denied; NULL for what is not
 * known */
struct srtlua_violation {
	double time; /* since 1970 */
	const char
		*kind; /* "connect", "write" …, as srt-lua violations has it */
	const char *target;
	const char *rule;
	const char *reason;
	const char *origin; /* file and line of the rule */
	const char *advice;
	const char *command;
	const char *id;
	const char *program; /* that tried it */
	const char *line;    /* as in a <sandbox_violations> block */
	unsigned long count;
};

/** struct srtlua_violations - freed as one */
struct srtlua_violations {
	size_t count;
	struct srtlua_violation list[]; /* the oldest first */
};

/**
 * srtlua_violations() - the last ones of a session, 1000 at most
 * @id, @text: only of commands with that id (by its first 100 characters), or
 * that text; NULL: of all
 * @out: freed by srtlua_free()
 */
int srtlua_violations(struct srtlua_session *session, const char *id,
		      const char *text, struct srtlua_violations **out,
		      struct srtlua_error *error);

/**
 * srtlua_annotate() - a command's error output, and what was denied to it in a
 * <sandbox_violations> block
 * @out: freed by srtlua_free()
 */
int srtlua_annotate(struct srtlua_session *session, const char *id,
		    const char *text, char **out, struct srtlua_error *error);

/** srtlua_reset() - forget violations, and lists of commands to come */
int srtlua_reset(struct srtlua_session *session, struct srtlua_error *error);

/** srtlua_free() - what was given by a function of this library; or NULL */
void srtlua_free(void *memory);

/** srtlua_version() - of the library, as in "0.1.0"; static storage */
const char *srtlua_version(void);

#ifdef __cplusplus
}
#endif

#endif
