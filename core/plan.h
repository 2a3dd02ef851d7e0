/* SPDX-License-Identifier: Apache-2.0 */
/* The data model: what the namespaces backend will do, as plain data. */
#ifndef SRT_PLAN_H
#define SRT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/identity.h"

struct origins;

/** enum mount_kind - one step of building the new root, in order */
enum mount_kind {
	MOUNT_BIND,	/* the host's tree at @source, with its submounts */
	MOUNT_MASK,	/* an empty, unreadable file or directory */
	MOUNT_SCAFFOLD, /* an unlistable directory that leads to slots */
	MOUNT_CONTENT,	/* a read-only file that holds @content */
};

/**
 * struct mount_content - a file of ours
 * @mode: permission bits; whatever they are, nobody inside writes to it
 * @owned: @uid and @gid are wanted; only a root caller gets them
 */
struct mount_content {
	const char *bytes;
	size_t size;
	mode_t mode;
	bool owned;
	uid_t uid;
	gid_t gid;
};

/* A plan's own files are inside at PLAN_FILES/NAME: in the sandbox's /dev. */
#define PLAN_FILES_NAME "srt-lua"
#define PLAN_FILES "/dev/" PLAN_FILES_NAME

/** struct plan_file - a file that covers none of the host's */
struct plan_file {
	const char *name;
	struct mount_content content;
};

/**
 * struct mount_slot - what a scaffold shows
 * @path: relative to its target; a later step mounts over it
 * @link: instead: it is a link, with this target
 */
struct mount_slot {
	const char *path;
	const char *link;
	bool directory;
};

/**
 * struct mount_step - one step; every path is absolute, real and free of links
 *
 * Small, since each process touches all of them, and there may be thousands.
 * @target: path in the new root; must exist there
 * @directory: what @target is; MOUNT_MASK takes the like
 * @read_only: MOUNT_BIND
 * @source: MOUNT_BIND: path in the host's tree
 * @device: MOUNT_BIND by bubblewrap: what @source was (bwrap_note())
 * @inode: likewise
 * @slots: MOUNT_SCAFFOLD
 * @content: MOUNT_CONTENT; the target is a file
 */
struct mount_step {
	const char *target;
	enum mount_kind kind;
	bool directory;
	bool read_only;
	union {
		struct {
			const char *source;
			uint64_t device;
			uint64_t inode;
		};
		struct {
			struct mount_slot *slots;
			size_t slot_count;
		};
		const struct mount_content *content;
	};
};

/**
 * struct seccomp_arg - (argument @index & @mask) == @value
 * @above: instead: argument @index >= @value
 * @differs: instead: argument @index != @value
 */
struct seccomp_arg {
	unsigned int index;
	bool above;
	bool differs;
	uint64_t mask;
	uint64_t value;
};

/**
 * struct seccomp_rule - refuse @call with @error where all @args hold
 * @notify: instead: ask the listener, which refuses it where @error is not 0
 */
struct seccomp_rule {
	const char *call;
	int error;
	bool notify;
	struct seccomp_arg args[3];
	size_t arg_count;
};

/**
 * struct notified - calls that an agent is told of
 * @key: of ready seccomp programs; NULL: they are built of @rules
 * @rules: none where there is a key
 */
struct notified {
	const char *key;
	struct seccomp_rule *rules;
	size_t count;
};

/**
 * struct guard_glob - a pattern of names that may not be made
 * @top: the folder it begins in, a real path
 * @pattern: of what follows, with the slash
 * @floating: only the last component of a path below @top counts
 */
struct guard_glob {
	const char *top;
	const char *pattern;
	bool floating;
};

/**
 * struct guard_name - last components of paths that may not be made
 * @name: one or more components
 * @top: holds below this folder only; or NULL
 * @depth: the first component is at most so many below @top; 0 for any
 */
struct guard_name {
	const char *name;
	const char *top;
	unsigned int depth;
};

/**
 * struct guard_table - names that nothing inside may make
 * @on: an agent makes all names
 * @free: all beneath this folder may be made; or NULL
 * @paths: exact real paths, with all beneath them
 * @skip: folders of these names, below the top of a rule, are free of @names
 */
struct guard_table {
	bool on;
	const char *free;
	const char **paths;
	size_t path_count;
	struct guard_glob *globs;
	size_t glob_count;
	struct guard_name *names;
	size_t name_count;
	const char **skip;
	size_t skip_count;
};

/**
 * struct area_table - where an agent makes all names, and opens for writing
 *
 * Without namespaces: what Landlock allows is told by paths, once, so that
 * nothing of it can hold for a name that is made later.
 * @on: there is such an agent
 * @tops: real paths of what may be written, with all beneath but what the guard
 *	denies
 * @again: real paths of what may be written, with all beneath, within what the
 *	guard denies: nothing is made there, Landlock lets it be written
 * @held: real paths of what can be neither removed nor moved, nor what is above
 */
struct area_table {
	bool on;
	const char **tops;
	size_t top_count;
	const char **again;
	size_t again_count;
	const char **held;
	size_t held_count;
};

/**
 * struct socket_glob - a pattern of Unix sockets that may be connected to
 * @top: the folder it begins in, a real path
 * @pattern: of what follows, with the slash
 */
struct socket_glob {
	const char *top;
	const char *pattern;
};

/**
 * struct socket_table - Unix sockets of the host that may be connected to
 * @on: Unix sockets may be made, and an agent connects them
 * @paths: exact real paths
 * @hidden: real paths beneath which no pattern holds: no mount covers them
 * @shown: and of these, beneath which they do again
 */
struct socket_table {
	bool on;
	const char **paths;
	size_t path_count;
	struct socket_glob *globs;
	size_t glob_count;
	const char **hidden;
	size_t hidden_count;
	const char **shown;
	size_t shown_count;
};

/**
 * struct watch_table - what an agent observes
 * @on: it tells the host process of denied writes and refused calls
 * @reads: of denied reads as well
 * @asks: of opens that are likely denied it asks, and the call waits
 * @connects: it tells of connections that would leave a network without exit
 * @learns: instead it tells of all that is written, and with @reads read
 * @needed: a run where that can't be done is a failure
 */
struct watch_table {
	bool on;
	bool reads;
	bool asks;
	bool connects;
	bool learns;
	bool needed;
};

/**
 * struct landlock_path - what is allowed at a path and all below it
 * @path: absolute, real; opened without following a link
 * @access: of each letter in it: x execute, r read files, l list folders,
 *	w write files, m make and remove what is in folders, s make sockets,
 *	i use devices
 */
struct landlock_path {
	const char *path;
	const char *access;
};

#define PLAN_LISTEN_MAX 128

/**
 * struct listen_point - where PID 1 listens inside, for the host process
 * @address: numeric, IPv4 or IPv6; without IPv6 nothing is there
 * @datagrams: a UDP socket
 * @owners: instead: what is asked who has a socket (core/socket_inode.h); it is
 *	missing where the kernel can't tell
 */
struct listen_point {
	const char *address;
	uint16_t port;
	bool datagrams;
	bool owners;
};

/**
 * struct publish_point - a port of the host that a server inside is to have
 * @address: numeric, of the host
 * @port: the host's
 * @inside: what the command calls it, on loopback
 */
struct publish_point {
	const char *address;
	uint16_t port;
	uint16_t inside;
};

/**
 * struct redirect - TCP to anywhere leads to points of the plan
 * @port: theirs, on 127.0.0.1 and ::1; 0 where nothing is redirected
 * @eager: from the start; else once the host asks for it
 * @needed: a run where it can't be done is a failure; implies @eager
 * @v4, @v6: numeric addresses that the namespace gets
 * @notified: @notified of the plan and, as the agent leads where nf_tables is
 *	missing, what it needs for that; none where it is not to
 * @origins: where it was asked to connect to, for the host (core/origins.h)
 */
struct redirect {
	uint16_t port;
	bool eager;
	bool needed;
	const char *v4;
	const char *v6;
	struct notified notified;
	struct origins *origins;
};

/**
 * struct plan_bwrap - bubblewrap makes namespaces and mounts
 * @program: its path; NULL where we make them
 * @arguments: all but those that name descriptors
 * @masks: folder made on the host for what covers denied reads, which the
 *	arguments name; removed by the janitor
 * @rules: of a seccomp program that holds PID 1 as well
 * @state: a descriptor that holds the state file; PID 1's
 */
struct plan_bwrap {
	const char *program;
	const char **arguments;
	size_t count;
	const char *masks;
	struct seccomp_rule *rules;
	size_t rule_count;
	int state;
};

/**
 * struct plan - everything a run needs; all pointers borrowed for the run
 * @argv, @env: NULL-terminated
 * @program: what @argv names, as it was found on the host, to be tried first;
 *or NULL
 * @cwd: working directory of the command, in the new root
 * @id: whose run it is; known before all the rest
 * @root_read_only: the new root as a whole; steps follow
 * @files: ours, at PLAN_FILES
 * @temp_dir: made on the host (0700) by the host process, removed by the
 *	janitor
 * @placeholders: empty directories made on the host for protected names that
 *	do not exist, removed by the janitor
 * @transient: @state lists no more than @temp_dir, so the janitor removes it as
 *	well
 * @state: file that lists both, for whoever has to remove them (core/state.h);
 *	NULL for none
 * @listen: on loopback, one listener each, given to the host; at most
 *	PLAN_LISTEN_MAX
 * @waits: the host gets the listeners before the command begins
 * @redirect: for programs that ignore proxies
 * @bare: no namespaces: @paths and the filter are all there is; known before
 *	all the rest (core/bare.h)
 * @publish: @bare: where the command may listen
 * @all_sockets: @bare: Unix sockets are no concern of ours
 * @paths: @bare: what is allowed, and nothing else is
 * @bwrap: where that is the backend
 * @landlock: write layer is to be there; @writable are its tops
 * @scope_signals: no signal leaves the sandbox, nor a connection to an abstract
 *	socket (Landlock ABI 6)
 * @keep_fds: descriptors above 2 that the command gets
 * @guard: names that are not to be made
 * @area: @bare: where names are made for the command
 * @sockets: Unix sockets that may be connected to, by path
 * @watch: what is observed
 * @filter: key of a ready seccomp program; NULL: of @rules one is built
 * @notified: the calls which an agent serves
 */
struct plan {
	const char **argv;
	const char *program;
	const char **env;
	const char *cwd;
	struct identity id;
	bool root_read_only;
	struct mount_step *steps;
	size_t step_count;
	struct plan_file *files;
	size_t file_count;
	const char *temp_dir;
	const char **placeholders;
	size_t placeholder_count;
	const char *state;
	bool transient;
	struct listen_point *listen;
	size_t listen_count;
	bool waits;
	struct redirect redirect;
	bool bare;
	struct publish_point *publish;
	size_t publish_count;
	bool all_sockets;
	struct landlock_path *paths;
	size_t path_count;
	struct plan_bwrap bwrap;
	bool landlock;
	bool scope_signals;
	const char **writable;
	size_t writable_count;
	const char *filter;
	struct seccomp_rule *rules;
	size_t rule_count;
	int *keep_fds;
	size_t keep_count;
	struct guard_table guard;
	struct area_table area;
	struct socket_table sockets;
	struct watch_table watch;
	struct notified notified;
};

/** plan_in_namespaces() - of our own: neither bubblewrap's nor none */
static inline bool plan_in_namespaces(const struct plan *plan)
{
	return !plan->bare && !plan->bwrap.program;
}

#endif
