/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries operations on paths and puts everything back as it was, so that one
 * tree can be tried outside and inside of a sandbox. Operations and their paths
 * come on standard input, each ended by a NUL byte; one answer a line.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* All return a value below 0 with errno set when the kernel refuses. */
typedef int (*operation)(const char *path, const char *other);

/* What can't be put back makes every later answer worthless. */
static void restored(int result)
{
	if (result >= 0)
		return;
	perror("prober: can't put back what was there");
	exit(2);
}

static int closed(int fd)
{
	return fd < 0 ? fd : close(fd);
}

static int try_read(const char *path, const char *other)
{
	char byte;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	(void)other;
	if (fd >= 0)
		(void)!read(fd, &byte, 1);
	return closed(fd);
}

static int try_list(const char *path, const char *other)
{
	DIR *dir = opendir(path);

	(void)other;
	if (!dir)
		return -1;
	errno = 0;
	while (readdir(dir))
		;
	return errno ? -1 : closedir(dir);
}

static int try_stat(const char *path, const char *other)
{
	struct stat st;

	(void)other;
	return lstat(path, &st);
}

static int try_write(const char *path, const char *other)
{
	(void)other;
	return closed(open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY));
}

static int try_append(const char *path, const char *other)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	(void)other;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return close(fd);
	if (write(fd, "a", 1) < 0)
		return -1;
	restored(ftruncate(fd, st.st_size));
	return close(fd);
}

static int try_mmap(const char *path, const char *other)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *map;

	(void)other;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size == 0)
		return close(fd);
	map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -1;
	*(volatile char *)map = *map;
	munmap(map, 1);
	return close(fd);
}

static int try_truncate(const char *path, const char *other)
{
	struct stat st = { 0 };

	(void)other;
	(void)!stat(path, &st);
	return truncate(path, st.st_size);
}

static int try_chmod(const char *path, const char *other)
{
	struct stat st = { .st_mode = 0644 };

	(void)other;
	(void)!stat(path, &st);
	return chmod(path, st.st_mode & 0777);
}

static int try_chown(const char *path, const char *other)
{
	struct stat st = { 0 };

	(void)other;
	if (lstat(path, &st) == 0 && st.st_uid == geteuid())
		return lchown(path, st.st_uid, st.st_gid);
	return lchown(path, (uid_t)-1, (gid_t)-1);
}

static int try_utime(const char *path, const char *other)
{
	(void)other;
	return utimensat(AT_FDCWD, path, NULL, 0);
}

static int try_setxattr(const char *path, const char *other)
{
	(void)other;
	if (setxattr(path, "user.probe", "x", 1, 0))
		return -1;
	restored(removexattr(path, "user.probe"));
	return 0;
}

static int try_tmpfile(const char *path, const char *other)
{
	(void)other;
	return closed(open(path, O_TMPFILE | O_WRONLY, 0644));
}

static int try_create(const char *path, const char *other)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	(void)other;
	if (fd >= 0)
		restored(unlink(path));
	return closed(fd);
}

static int try_mkdir(const char *path, const char *other)
{
	(void)other;
	if (mkdir(path, 0755))
		return -1;
	restored(rmdir(path));
	return 0;
}

static int try_mknod(const char *path, const char *other)
{
	(void)other;
	if (mknod(path, S_IFIFO | 0644, 0))
		return -1;
	restored(unlink(path));
	return 0;
}

static int try_symlink(const char *path, const char *other)
{
	(void)other;
	if (symlink("nowhere", path))
		return -1;
	restored(unlink(path));
	return 0;
}

/*
 * The folder and the name of a path, to put back by: the path itself may lead
 * through what is gone (d/../d).
 */
struct place {
	int dir;
	char name[PATH_MAX];
};

static struct place place_of(const char *path)
{
	char copy[PATH_MAX], *slash;
	struct place place = { .dir = -1 };
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	if (length >= sizeof(copy))
		return place;
	snprintf(copy, sizeof(copy), "%.*s", (int)length, path);
	slash = strrchr(copy, '/');
	snprintf(place.name, sizeof(place.name), "%s",
		 slash ? slash + 1 : copy);
	if (slash)
		slash[1] = '\0';
	place.dir = open(slash ? copy : ".", O_PATH | O_DIRECTORY);
	return place;
}

/*
 * What is another's could not be given back to it: ENOTSUP says so, but where
 * the folder lets nothing be taken away in the first place.
 */
static bool anothers(const struct place *at, const struct stat *st)
{
	return (geteuid() != 0 || getenv("PROBER_WITHOUT_POWERS")) &&
	       st->st_mode && st->st_uid != geteuid() &&
	       faccessat(at->dir, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

/* Nor can what has more names where a removed one is not given back by the
 * file (Landlock's agent): ENOTSUP as well. */
static bool is_kept(const struct place *at, const struct stat *st)
{
	return anothers(at, st) ||
	       (getenv("PROBER_KEEPS_LINKED") && st->st_nlink > 1);
}

/* Makes again what unlink(2) took. @fd still has it: opened with O_PATH. */
static int again(const struct place *at, int fd, const struct stat *st,
		 const char *target)
{
	char by_fd[64];
	int out;

	snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
	if (st->st_nlink > 1)
		return linkat(AT_FDCWD, by_fd, at->dir, at->name,
			      AT_SYMLINK_FOLLOW);
	if (S_ISLNK(st->st_mode))
		return symlinkat(target, at->dir, at->name);
	if (mknodat(at->dir, at->name, (st->st_mode & S_IFMT) | 0600, 0))
		return -1;
	if (S_ISREG(st->st_mode)) {
		out = openat(at->dir, at->name, O_WRONLY);
		if (out < 0 || write(out, "prober", 6) != 6 || close(out))
			return -1;
	}
	if (geteuid() == 0 &&
	    fchownat(at->dir, at->name, st->st_uid, st->st_gid, 0))
		return -1;
	return fchmodat(at->dir, at->name, st->st_mode & 0777, 0);
}

static int try_unlink(const char *path, const char *other)
{
	struct place at = place_of(path);
	int fd = open(path, O_PATH | O_NOFOLLOW);
	char target[PATH_MAX] = "";
	struct stat st = { 0 };
	int result, error;

	(void)other;
	if (fd >= 0) {
		(void)!fstat(fd, &st);
		(void)!readlink(path, target, sizeof(target) - 1);
	}
	result = is_kept(&at, &st) ? -ENOTSUP : unlink(path);
	error = result == -ENOTSUP ? ENOTSUP : errno;
	if (result == 0)
		restored(again(&at, fd, &st, target));
	closed(fd);
	closed(at.dir);
	errno = error;
	return result;
}

static int try_rmdir(const char *path, const char *other)
{
	struct place at = place_of(path);
	struct stat st = { 0 };
	int result, error;

	(void)other;
	(void)!lstat(path, &st);
	result = anothers(&at, &st) ? -ENOTSUP : rmdir(path);
	error = result == -ENOTSUP ? ENOTSUP : errno;
	if (result == 0) {
		restored(mkdirat(at.dir, at.name, 0700));
		if (geteuid() == 0)
			restored(fchownat(at.dir, at.name, st.st_uid, st.st_gid,
					  0));
		restored(fchmodat(at.dir, at.name, st.st_mode & 0777, 0));
	}
	closed(at.dir);
	errno = error;
	return result;
}

static int move(const char *path, const char *other, unsigned int flags)
{
	struct place from = place_of(path), to = place_of(other);
	int result = renameat2(AT_FDCWD, path, AT_FDCWD, other, flags);
	int error = errno;

	if (result == 0)
		restored(
			renameat2(to.dir, to.name, from.dir, from.name, flags));
	closed(from.dir);
	closed(to.dir);
	errno = error;
	return result;
}

/* To a name that is not there outside: what it replaced could not be put back.
 */
static int try_rename(const char *path, const char *other)
{
	return move(path, other, 0);
}

static int try_exchange(const char *path, const char *other)
{
	return move(path, other, RENAME_EXCHANGE);
}

static int try_link(const char *path, const char *other)
{
	if (link(path, other))
		return -1;
	restored(unlink(other));
	return 0;
}

static const struct {
	const char *name;
	int paths;
	operation run;
} operations[] = {
	{ "read", 1, try_read },	 { "list", 1, try_list },
	{ "stat", 1, try_stat },	 { "write", 1, try_write },
	{ "append", 1, try_append },	 { "mmap", 1, try_mmap },
	{ "truncate", 1, try_truncate }, { "chmod", 1, try_chmod },
	{ "chown", 1, try_chown },	 { "utime", 1, try_utime },
	{ "setxattr", 1, try_setxattr }, { "tmpfile", 1, try_tmpfile },
	{ "create", 1, try_create },	 { "mkdir", 1, try_mkdir },
	{ "mknod", 1, try_mknod },	 { "symlink", 1, try_symlink },
	{ "unlink", 1, try_unlink },	 { "rmdir", 1, try_rmdir },
	{ "rename", 2, try_rename },	 { "exchange", 2, try_exchange },
	{ "link", 2, try_link },
};

/* The next word of standard input, the caller's, or NULL at its end. */
static char *word(void)
{
	char *text = NULL;
	size_t room = 0;
	ssize_t length = getdelim(&text, &room, '\0', stdin);

	if (length >= 0)
		return text;
	free(text);
	return NULL;
}

static int run_one(const char *name)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		char *path, *other = NULL;

		if (strcmp(operations[i].name, name))
			continue;
		path = word();
		if (operations[i].paths == 2)
			other = word();
		if (!path || (operations[i].paths == 2 && !other)) {
			free(path);
			break;
		}
		errno = 0;
		puts(operations[i].run(path, other) < 0 ? strerrorname_np(errno)
							: "ok");
		free(path);
		free(other);
		return 0;
	}
	fprintf(stderr, "prober: bad operation %s\n", name);
	return 2;
}

int main(void)
{
	char *name;
	int status = 0;

	while (!status && (name = word())) {
		status = run_one(name);
		free(name);
	}
	return status;
}
