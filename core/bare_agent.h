/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of a sandbox without namespaces: all that connects is its work. */
#ifndef SRT_BARE_AGENT_H
#define SRT_BARE_AGENT_H

#include <stdint.h>
#include <sys/types.h>

#include "core/notify.h"
#include "core/plan.h"

/**
 * struct bare_agent - what it knows
 * @ports: of each point of the plan, where its listener really is
 * @init: the process that started the command; with it all ends
 * @notify: used once there is a listener
 */
struct bare_agent {
	const struct plan *plan;
	uint16_t ports[PLAN_LISTEN_MAX];
	pid_t init;
	struct notify notify;
};

/**
 * bare_agent_run() - carry out what the command is not let do itself
 *
 * connect(2): on the caller's own socket (pidfd_getfd(2)) and a copy of the
 * address, to a point of the plan or not at all. The host process lets in only
 * who is noted in the plan's origins, by a port that nobody else can have
 * meanwhile; so there is no password, and other users of the machine can't use
 * the listeners. Without namespaces the plan's addresses are names only: what
 * the command calls 127.0.0.1:3128 is where our listener is, and not the
 * host's port 3128. listen(2), with allowAllUnixSockets: for Unix sockets only.
 * Nothing is continued.
 * Context: parent of @agent->init, outside the command's Landlock domain.
 * @socket: the listener comes by it, and the answer goes (core/agent.h)
 */
_Noreturn void bare_agent_run(struct bare_agent *agent, int socket);

#endif
