/* SPDX-License-Identifier: Apache-2.0 */
/* Whose connection it is: looked for only when somebody wants to know. */
#ifndef SRT_LUA_PROCESS_H
#define SRT_LUA_PROCESS_H

#include <lua.h>
#include <stdbool.h>
#include <sys/types.h>

struct proxy_ask;
struct proxy_asker;

/**
 * struct process_finder - how a sandbox's processes are found
 * @diag: of socket_inode_open(), owned; or -1: then nobody is
 * @init: PID 1, as the host sees it
 */
struct process_finder {
	int diag;
	pid_t init;
};

/**
 * struct process_source - the client of an open ask
 *
 * The subject of a call holds it as light userdata, named "process"; it is
 * valid as long as the ask is open.
 */
struct process_source {
	const struct process_finder *finder;
	struct proxy_ask *ask;
};

/**
 * struct process_asker - who asks the resolver for a name, while it is asked
 *
 * What is asked about the name gets it as light userdata, for that long.
 */
struct process_asker {
	const struct process_finder *finder;
	const struct proxy_asker *asker;
};

/**
 * process_push() - a table {pid=, hostPid=, exe=, parents={{pid=, …}…}}, or nil
 *
 * The first call of a connection looks for it (core/owner.h); what it found, or
 * that it found nobody, is the connection's from then on.
 * @L: of whatever state; may throw for want of memory
 */
void process_push(lua_State *L, const struct process_source *source);

#endif
