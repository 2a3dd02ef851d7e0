/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of a sandbox: start it, talk to it, end it. */
#ifndef SRT_SANDBOX_H
#define SRT_SANDBOX_H

#include <sys/types.h>

#include "core/janitor.h"
#include "core/message.h"
#include "core/reach.h"
#include "core/system.h"

/**
 * struct sandbox - a sandbox as the host process sees it
 * @pid: the janitor, or 0
 * @janitor: owned socket to it
 * @control: owned socket to PID 1, non-blocking once started
 * @shared: borrowed; its plan says what the listeners are
 * @command: pidfd of the command, owned; or -1
 * @listeners: of each point of the plan; owned until taken (set to -1), and -1
 *	where the machine has no such address
 * @reach: what PID 1 is asked to connect to
 * @alone: PID 1 has said that nothing else is left inside
 * @finishing: the janitor was told to end it
 * @removed: the janitor has removed what was made, as far as it may be
 * @forgotten: and the state file, since it lists nothing else
 * @led: told how sandbox_lead() went: 0 or -errno; NULL for nobody
 * @watched: given the socket of the agent that observes, and the read-only tree
 *	or -1, which it then owns
 */
struct sandbox {
	pid_t pid;
	int janitor;
	int control;
	int command;
	struct shared *shared;
	int listeners[PLAN_LISTEN_MAX];
	size_t listener_count;
	struct reach reach;
	bool alone;
	bool finishing;
	bool removed;
	bool forgotten;
	void (*led)(void *context, int error);
	void *led_context;
	void (*watched)(void *context, int socket, int view);
	void *watch_context;
};

/* Initializer: there is none. */
#define SANDBOX_NONE                                         \
	{                                                    \
		.janitor = -1, .control = -1, .command = -1, \
	}

/**
 * sandbox_prepare() - fork the janitor, which makes PID 1
 *
 * Called first thing: a small process forks fast, and the policy is loaded
 * while namespaces and the parts of the root that no policy changes are built.
 * @shared: its plan says already whether there are to be namespaces; must
 *	outlive the sandbox
 * Return: 0, or -errno with @failure filled and everything undone. That
 * namespaces are refused says only sandbox_await(): a plan may need none.
 */
int sandbox_prepare(struct shared *shared, struct sandbox *out,
		    struct failure *failure);

/**
 * sandbox_prepare_bwrap() - prepare one that bubblewrap will make
 *
 * It makes namespaces by itself, and may where we must not; sandbox_start()
 * forks a janitor that starts it.
 * @shared: new, and apart; its plan has the identity, which is reduced to what
 *	bubblewrap maps
 */
void sandbox_prepare_bwrap(struct shared *shared, struct sandbox *out);

/**
 * sandbox_identity() - wait until the identity of the plan is there
 * Return: 0, or -errno with @failure filled, where it can't be had.
 */
int sandbox_identity(struct sandbox *sandbox, struct failure *failure);

/**
 * sandbox_redirect() - have a prepared sandbox give its network addresses,
 * before the rest of the plan is there; what fails is told by sandbox_await()
 *
 * Context: of the plan, what @redirected of struct shared says is complete.
 */
void sandbox_redirect(struct sandbox *sandbox);

/**
 * sandbox_network() - likewise, have it make what listens inside
 *
 * Context: of the plan, what @network of struct shared says is complete.
 */
void sandbox_network(struct sandbox *sandbox);

/**
 * sandbox_build() - likewise, have it build itself, up to where that takes the
 * state file or the temporary directory; what fails is told by sandbox_await()
 *
 * Context: of the plan, what @built of struct shared says is complete.
 */
void sandbox_build(struct sandbox *sandbox);

/**
 * sandbox_make() - make the temporary directory, and have the sandbox go on, up
 * to a process that waits to be the command
 *
 * Context: once, after sandbox_build(); of the plan, @state is complete, and
 * that file made.
 * Return: 0; or -errno with @failure filled, where the temporary directory
 * can't be made, or the state file not be handed on. What else fails is told by
 * sandbox_await().
 */
int sandbox_make(struct sandbox *sandbox, struct failure *failure);

/**
 * sandbox_start() - have a prepared sandbox build itself by the complete plan
 *
 * It goes on by itself until the command could begin.
 * Return: 0, or -errno with @failure filled; sandbox_close() is owed.
 */
int sandbox_start(struct sandbox *sandbox, struct failure *failure);

/**
 * sandbox_release() - the command may begin, as soon as all is there
 *
 * Where the plan waits, supervise_run() does it.
 */
void sandbox_release(struct sandbox *sandbox);

/**
 * sandbox_await() - wait for the listeners
 *
 * They come when the command has begun or, where the plan waits or has no
 * namespaces, before it may.
 * Return: as of sandbox_start(), whose late failures are told here.
 */
int sandbox_await(struct sandbox *sandbox, struct failure *failure);

/** sandbox_signal() - tell PID 1 of a signal that the host process got */
void sandbox_signal(struct sandbox *sandbox, int sig);

/**
 * sandbox_lead() - have the plan's redirect begin
 * @led: called once, from sandbox_read()
 */
void sandbox_lead(struct sandbox *sandbox,
		  void (*led)(void *context, int error), void *context);

/** sandbox_order() - a message to PID 1 that is only its kind */
void sandbox_order(struct sandbox *sandbox, enum message_kind kind);

/** sandbox_freeze() - MESSAGE_FREEZE, which is answered to @id */
void sandbox_freeze(struct sandbox *sandbox, uint32_t id);

/**
 * sandbox_read() - next message from PID 1
 *
 * When PID 1 is gone without a word that counts as MESSAGE_FAILED, with the
 * janitor's reason if it has one. Sockets that PID 1 made go to who asked for
 * them on the way.
 * Return: 1 with @message filled, 0 for none now, -EPIPE on a broken socket.
 */
int sandbox_read(struct sandbox *sandbox, struct message *message);

/**
 * sandbox_finish() - the command has ended: have all else inside end as well
 *
 * What was made on the host is removed meanwhile; sandbox_close() is owed.
 */
void sandbox_finish(struct sandbox *sandbox);

/**
 * struct leaving - children that have nothing left to do but to end, which
 * takes the kernel a good part of a short run; 0 for none
 * @init: PID 1, alone
 * @forgotten: there is no state file any more
 */
struct leaving {
	pid_t janitor;
	pid_t init;
	bool forgotten;
};

/**
 * sandbox_close() - end everything inside, wait until it is gone, and remove
 * what was made on the host
 *
 * Return: for sandbox_reap().
 */
struct leaving sandbox_close(struct sandbox *sandbox);

/** sandbox_reap() - wait until they have ended */
void sandbox_reap(const struct leaving *leaving);

/** sandbox_end() - both at once */
void sandbox_end(struct sandbox *sandbox);

#endif
