/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path as the thread would that named it, to a folder and a name. */
#ifndef SRT_GUARD_PATH_H
#define SRT_GUARD_PATH_H

#include <linux/limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "core/notify.h"

/** Links that one path may lead through, as the kernel counts */
#define GUARD_MAX_LINKS 40

/**
 * struct guard_view - whose paths they are, and who resolves them
 *
 * Resolver and caller share mounts, root, ids and Landlock layers; what differs
 * is what /proc/self leads to.
 * @notify: borrowed
 * @self: pid of the resolver: its own /proc/PID is nobody's business
 * @thread, @process: ids of the caller
 * @proc: device of /proc
 * @powers: lets the calling thread look into processes, or not any more
 */
struct guard_view {
	const struct notify *notify;
	pid_t self;
	pid_t thread;
	pid_t process;
	dev_t proc;
	void (*powers)(void *data, bool on);
	void *data;
};

/**
 * struct guard_place - a name in a folder
 * @dir: owned O_PATH descriptor of the folder
 * @name: the last component with its trailing slashes, within @text; "." for
 *	a path of slashes only
 * @real: real path of the folder and the name, without slashes
 * @text: the path, cut to pieces
 */
struct guard_place {
	int dir;
	char *name;
	char real[2 * PATH_MAX];
	char text[PATH_MAX];
};

/**
 * guard_place_find() - resolve all but the last component
 *
 * The folder is found once and then held by its descriptor, and its real path
 * is asked of the kernel by that: what is judged is where the name will be.
 * @base: the folder that a relative path begins at, taken over; or -1
 * @place: @place->text holds the path; filled
 * Return: 0, with @place->dir owned by the caller, or -errno as the kernel's.
 */
int guard_place_find(const struct guard_view *view, int base,
		     struct guard_place *place);

/**
 * guard_real_path() - the path that the kernel tells of an open file
 * Return: its size, or -errno.
 */
int guard_real_path(int fd, char real[PATH_MAX]);

/** guard_place_slash() - does the name end with a slash? */
bool guard_place_slash(const struct guard_place *place);

/** guard_place_look() - is it there, as a link too? Return: 0 or -errno. */
int guard_place_look(const struct guard_place *place);

/**
 * guard_place_up() - make ".." the "." of where it leads, which has a real path
 * Return: 0, also where the name is another one; or -errno.
 */
int guard_place_up(struct guard_place *place);

/** guard_place_special() - is it "." or "..", which can't be made? */
bool guard_place_special(const struct guard_place *place);

/**
 * guard_place_follow() - go on to where a link as the last component leads
 *
 * @link: what lstat says of the link
 * Return: 0 with @place changed, 1 for a magic link of /proc, which has no path
 * to go on to, or -errno.
 */
int guard_place_follow(const struct guard_view *view, struct guard_place *place,
		       const struct stat *link);

/**
 * guard_place_open() - the very file that a path leads to
 *
 * By hand, as the caller would: no link's text is read twice, /proc/self and
 * magic links are the caller's.
 * @base, @place: as of guard_place_find()
 * @follow: a link as the last component, too
 * Return: O_PATH descriptor owned by the caller, or -errno.
 */
int guard_place_open(const struct guard_view *view, int base,
		     struct guard_place *place, bool follow);

/**
 * guard_place_jump() - where a magic link leads: to what is open already
 *
 * That asks for the right to look into the process, which a process always has
 * for itself.
 * @place: found
 * @flags: besides O_PATH
 * Return: as of guard_place_open()
 */
int guard_place_jump(const struct guard_view *view,
		     const struct guard_place *place, int flags);

/** guard_place_own() - is @place in the caller's own folder of /proc? */
bool guard_place_own(const struct guard_view *view,
		     const struct guard_place *place);

/** guard_place_resolvers() - is @place in the resolver's folder of /proc? */
bool guard_place_resolvers(const struct guard_view *view,
			   const struct guard_place *place);

#endif
