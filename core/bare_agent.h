/* SPDX-License-Identifier: Apache-2.0 */
/* The agent of a sandbox without namespaces: all that connects is its work. */
#ifndef SRT_BARE_AGENT_H
#define SRT_BARE_AGENT_H

#include <stdint.h>
#include <sys/types.h>

#include "core/guard.h"
#include "core/plan.h"

/* So many sockets may be made before one of them is connected. */
#define BARE_SOCKETS 4096

/**
 * struct bare_socket - a socket that was made for the command
 * @inode: of its file, or 0
 * @fd: owned, until it is connected, or listens; then -1
 * @family: of addresses
 * @bound: to a port that is published
 */
struct bare_socket {
	uint64_t inode;
	int fd;
	int family;
	bool bound;
};

/**
 * struct bare_agent - what it knows
 * @ports: of each point of the plan, where its listener really is
 * @watch: socket to the host process, for what is observed; or -1
 * @init: the process that started the command; with it all ends
 * @area: where it makes names, with the plan's area
 * @guard: used once there is a listener
 * @sockets: by inode
 */
struct bare_agent {
	const struct plan *plan;
	uint16_t ports[PLAN_LISTEN_MAX];
	int watch;
	pid_t init;
	struct area area;
	struct guard guard;
	struct bare_socket sockets[BARE_SOCKETS];
};

/**
 * bare_agent_run() - carry out what the command is not let do itself
 *
 * socket(2): a TCP socket is made here and given to the caller, which has it as
 * its own; this process keeps a descriptor of it until it is connected.
 * connect(2): on that, with a copy of the address, to a point of the plan or
 * not at all. The host process lets in only
 * who is noted in the plan's origins, by a port that nobody else can have
 * meanwhile; so there is no password, and other users of the machine can't use
 * the listeners. Without namespaces the plan's addresses are names only: what
 * the command calls 127.0.0.1:3128 is where our listener is, and not the
 * host's port 3128. With allowAllUnixSockets the calls on others are continued.
 *
 * With an area it makes all names, and opens what is written (core/guard.h).
 * Context: parent of @agent->init, outside the command's Landlock domain, but
 * within one that lets nothing be written outside of the area.
 * @socket: the listener comes by it, and the answer goes (core/agent.h)
 */
_Noreturn void bare_agent_run(struct bare_agent *agent, int socket);

#endif
