/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves a path as the thread would that named it, to a folder and a name. */
#include "core/guard_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/util.h"

#define PROC_ROOT_INODE 1
#define SRT_ST_NOSYMFOLLOW 0x2000

bool guard_place_slash(const struct guard_place *place)
{
	return strchr(place->name, '/') != NULL;
}

int guard_place_look(const struct guard_place *place)
{
	char name[PATH_MAX];
	struct stat st;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(place->name, "/"),
		 place->name);
	return fstatat(place->dir, name, &st, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

bool guard_place_special(const struct guard_place *place)
{
	size_t size = strcspn(place->name, "/");

	return (size == 1 && place->name[0] == '.') ||
	       (size == 2 && !strncmp(place->name, "..", 2));
}

/* Cuts the text in two: the way, which is returned, and the name. */
static const char *split(struct guard_place *place)
{
	char *end = place->text + strlen(place->text);

	while (end > place->text && end[-1] == '/')
		end--;
	while (end > place->text && end[-1] != '/')
		end--;
	place->name = end;
	if (*end == '/' || !*end) {
		/* Slashes only. */
		place->name = (char *)(uintptr_t) ".";
		return "/";
	}
	if (end == place->text)
		return "";
	if (end - 1 == place->text)
		return "/";
	end[-1] = '\0';
	return place->text;
}

int guard_real_path(int fd, char real[PATH_MAX])
{
	char link[32];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, real, PATH_MAX);
	if (size < 0)
		return -errno;
	if (size >= PATH_MAX)
		return -ENAMETOOLONG;
	real[size] = '\0';
	return (int)size;
}

/* Real path of the folder, and the name. */
static int ask_real(struct guard_place *place)
{
	size_t name = strcspn(place->name, "/");
	int size = guard_real_path(place->dir, place->real);

	if (size < 0)
		return size;
	if (size > 1)
		place->real[size++] = '/';
	memcpy(place->real + size, place->name, name);
	place->real[(size_t)size + name] = '\0';
	return 0;
}

int guard_place_up(struct guard_place *place)
{
	int fd;

	if (strcmp(place->name, "..") != 0)
		return 0;
	fd = openat(place->dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(place->dir);
	place->dir = fd;
	place->name = (char *)(uintptr_t) ".";
	return ask_real(place);
}

/* The process whose folder of /proc a path is in, or 0. */
static pid_t process_of(const char *real)
{
	return strncmp(real, "/proc/", 6) ? 0 : (pid_t)atoi(real + 6);
}

bool guard_place_own(const struct guard_view *view,
		     const struct guard_place *place)
{
	return process_of(place->real) == view->process;
}

bool guard_place_resolvers(const struct guard_view *view,
			   const struct guard_place *place)
{
	return process_of(place->real) == view->self;
}

/*
 * The way in one go, links and all, but magic ones: -ELOOP. It takes /proc/self
 * for the resolver, which shows in the result.
 */
static int open_way(int base, const char *way)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, base, way, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* struct walk - a walk by hand; @at is owned, @rest is what is left of it */
struct walk {
	const struct guard_view *view;
	int at;
	int links;
	char rest[PATH_MAX];
};

static void move(struct walk *walk, int to)
{
	close(walk->at);
	walk->at = to;
}

static bool is_proc_root(const struct walk *walk)
{
	struct stat st;

	return !fstat(walk->at, &st) && st.st_dev == walk->view->proc &&
	       st.st_ino == PROC_ROOT_INODE;
}

/* Puts a link's text before what is left. */
static int put_before(struct walk *walk, const char *text)
{
	char rest[PATH_MAX];
	int root;

	if (++walk->links > GUARD_MAX_LINKS)
		return -ELOOP;
	if (!*text)
		return -ENOENT;
	if ((size_t)snprintf(rest, sizeof(rest), "%s%s", text, walk->rest) >=
	    sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, strlen(rest) + 1);
	if (*text != '/')
		return 0;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	move(walk, root);
	return 0;
}

/* fs.protected_symlinks, which nearly every system has on. */
static int may_follow(int dir, const struct stat *link)
{
	struct statfs fs;
	struct stat folder;

	if (fstat(dir, &folder) || fstatfs(dir, &fs))
		return -errno;
	if (fs.f_flags & SRT_ST_NOSYMFOLLOW)
		return -ELOOP;
	if ((folder.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) &&
	    link->st_uid != geteuid() && link->st_uid != folder.st_uid)
		return -EACCES;
	return 0;
}

/* What /proc/self and /proc/thread-self say to the caller. */
static bool self_text(const struct walk *walk, const char *name, char *text,
		      size_t size)
{
	const struct guard_view *view = walk->view;

	if (!is_proc_root(walk))
		return false;
	if (!strcmp(name, "self"))
		snprintf(text, size, "%d", (int)view->process);
	else if (!strcmp(name, "thread-self"))
		snprintf(text, size, "%d/task/%d", (int)view->process,
			 (int)view->thread);
	else
		return false;
	return true;
}

/* A magic link jumps. */
static int jump(struct walk *walk, const char *name)
{
	struct guard_place here = { .dir = walk->at, .name = (char *)"" };
	int error = ask_real(&here), fd;

	if (error)
		return error;
	if (++walk->links > GUARD_MAX_LINKS)
		return -ELOOP;
	here.name = (char *)(uintptr_t)name;
	fd = guard_place_jump(walk->view, &here, O_DIRECTORY);
	if (fd < 0)
		return fd;
	move(walk, fd);
	return 0;
}

static int read_link(int dir, const char *name, char text[PATH_MAX])
{
	ssize_t size = readlinkat(dir, name, text, PATH_MAX - 1);

	if (size < 0)
		return -errno;
	text[size] = '\0';
	return 0;
}

static int step_link(struct walk *walk, const char *name, const struct stat *st)
{
	char text[PATH_MAX];
	int error;

	if (self_text(walk, name, text, sizeof(text)))
		return put_before(walk, text);
	if (st->st_dev == walk->view->proc && !is_proc_root(walk))
		return jump(walk, name);
	error = may_follow(walk->at, st);
	if (!error)
		error = read_link(walk->at, name, text);
	return error ? error : put_before(walk, text);
}

static int step(struct walk *walk, const char *name)
{
	owned_fd int fd =
		openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return step_link(walk, name, &st);
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	/* Its descriptors and its root are not the sandbox's. */
	if (atoi(name) == walk->view->self && is_proc_root(walk))
		return -EACCES;
	move(walk, steal_fd(&fd));
	return 0;
}

/* Component by component, for what open_way() can't do. */
static int walk_all(struct walk *walk)
{
	int error = 0;

	while (!error) {
		char name[NAME_MAX + 1];
		const char *start = walk->rest + strspn(walk->rest, "/");
		size_t size = strcspn(start, "/");

		if (!size)
			break;
		if (size > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, start, size);
		name[size] = '\0';
		memmove(walk->rest, start + size, strlen(start + size) + 1);
		error = step(walk, name);
	}
	return error;
}

static int walk_way(const struct guard_view *view, int base, const char *way)
{
	struct walk walk = { .view = view, .at = -1 };
	int error;

	walk.at = *way == '/'
			  ? open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)
			  : openat(base, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (walk.at < 0)
		return -errno;
	memcpy(walk.rest, way, strlen(way) + 1);
	error = walk_all(&walk);
	if (!error)
		return walk.at;
	close(walk.at);
	return error;
}

int guard_place_find(const struct guard_view *view, int base,
		     struct guard_place *place)
{
	owned_fd int from = base;
	const char *way;
	int error;

	place->dir = -1;
	if (!place->text[0])
		return -ENOENT;
	way = split(place);
	place->dir = *way ? open_way(from, way) : steal_fd(&from);
	error = place->dir < 0 ? place->dir : ask_real(place);
	/* By hand where it failed, or led to the resolver's own. */
	if (*way && (error || guard_place_resolvers(view, place))) {
		if (place->dir >= 0)
			close(place->dir);
		place->dir = walk_way(view, from, way);
		error = place->dir < 0 ? place->dir : ask_real(place);
	}
	if (error && place->dir >= 0) {
		close(place->dir);
		place->dir = -1;
	}
	return error;
}

int guard_place_follow(const struct guard_view *view, struct guard_place *place,
		       const struct stat *link)
{
	struct walk walk = { .view = view, .at = place->dir };
	int base = place->dir, error;

	place->dir = -1;
	if (self_text(&walk, place->name, place->text, sizeof(place->text)))
		return guard_place_find(view, base, place);
	if (link->st_dev == view->proc && !is_proc_root(&walk)) {
		place->dir = base;
		return 1;
	}
	error = may_follow(base, link);
	if (!error) {
		char text[PATH_MAX];

		error = read_link(base, place->name, text);
		if (!error)
			memcpy(place->text, text, strlen(text) + 1);
	}
	if (!error)
		return guard_place_find(view, base, place);
	close(base);
	return error;
}
