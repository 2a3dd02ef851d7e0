/* SPDX-License-Identifier: Apache-2.0 */
/* Which process of the sandbox has a socket open? */
#ifndef SRT_OWNER_H
#define SRT_OWNER_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#define OWNER_PARENTS 16

/**
 * struct owner_process - a process of the sandbox
 * @pid: as the sandbox sees it; @host_pid: as the host does
 * @exe: path of its program; "" where that can't be told
 */
struct owner_process {
	pid_t pid;
	pid_t host_pid;
	char exe[PATH_MAX];
};

/**
 * struct owner - who has a socket open
 * @chain: the process, its parent, and so on up to the command, or to who was
 *	left behind by its parent
 */
struct owner {
	size_t count;
	struct owner_process chain[];
};

/**
 * owner_find() - of the processes of a sandbox, the one that has a socket open
 *
 * Several may: then it is the one nearest to the command, for who inherits a
 * socket is further away than who made it. All are looked through, nearest
 * first, for OWNER_MS of processor time at most. An answer is of a moment: the
 * process had the socket open, was that program, and had those parents; their
 * numbers were not used anew meanwhile. What processes of one sandbox do to
 * each other (pass a descriptor on, be driven by another) it can't show: it is
 * attribution, and no boundary.
 * @init: PID 1, as the host sees it
 * @inode: of the socket (core/socket_inode.h)
 * Context: the host process. Where that is no root, who hides (is not dumpable,
 * or runs a program that it may not read) is not found: /proc shows its
 * descriptors to root only.
 * Return: owned by the caller, free(3); NULL where nobody is found.
 */
struct owner *owner_find(pid_t init, uint64_t inode);

#define OWNER_MS 50

#endif
