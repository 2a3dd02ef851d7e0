/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one tree walker. fts(3) and nftw(3) stat every entry; getdents64(2) says
 * what is a directory, so that here a directory costs an open, two reads and a
 * close, and a file next to nothing.
 */
#include "core/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/util.h"

/*
 * Directories on the way down that stay open; of those above, device and inode
 * are kept, so that the way back through ".." is known to be the right one.
 */
#define HELD 128
#define READ_SIZE 32768

/* A directory on the way from the root to the one at hand. */
struct level {
	int fd; /* owned; -1 where it is too far up to stay open */
	uint32_t state;
	size_t path;	   /* bytes of its path, with a slash at the end */
	size_t next, from; /* in walk.queue: the next to enter, and the first */
	size_t to;	   /* the end of them */
	dev_t dev;
	ino_t ino;
};

struct walk {
	const struct walk_rules *rules;
	void *matcher;
	struct walk_limits *limits;
	struct walk_result *result;
	struct level *levels;
	size_t depth, levels_size;
	/* Subdirectories to enter: struct queued and the name, one by one. */
	char *queue;
	size_t queued, queue_size;
	char *path; /* of the directory at hand, with a slash at the end */
	size_t path_used, path_size;
	char *buffer;
	int error; /* why the directory at hand can't be read */
};

struct queued {
	uint32_t state;
	uint32_t size; /* of the name, with its NUL */
};

int walk_grow(struct walk_limits *limits, void *buffer, size_t *size,
	      size_t need)
{
	size_t want = *size ? *size : 256;
	void *bigger;

	if (need <= *size)
		return 0;
	while (want < need)
		want *= 2;
	if (want - *size > limits->bytes)
		return -E2BIG;
	bigger = realloc(*(void **)buffer, want);
	if (!bigger)
		return -ENOMEM;
	limits->bytes -= want - *size;
	*(void **)buffer = bigger;
	*size = want;
	return 0;
}

static int add(struct walk *w, struct walk_list *list, size_t dir_size,
	       const char *name, struct walk_record record)
{
	size_t name_size = strlen(name);
	int error;

	record.at = list->used;
	record.size = dir_size + name_size;
	error = walk_grow(w->limits, &list->text, &list->text_size,
			  list->used + record.size + 1);
	if (!error)
		error = walk_grow(w->limits, &list->records,
				  &list->records_size,
				  (list->count + 1) * sizeof(record));
	if (error)
		return error;
	memcpy(list->text + record.at, w->path, dir_size);
	memcpy(list->text + record.at + dir_size, name, name_size + 1);
	list->used += record.size + 1;
	list->records[list->count++] = record;
	return 0;
}

/* File systems that give no type are asked, where it matters. */
static unsigned char type_of(const struct walk_seen *seen)
{
	struct stat st;

	if (seen->type != DT_UNKNOWN ||
	    fstatat(seen->dir, seen->name, &st, AT_SYMLINK_NOFOLLOW))
		return seen->type;
	return (unsigned char)IFTODT(st.st_mode);
}

int walk_take(struct walk *walk, struct walk_seen *seen, uint32_t tag)
{
	seen->type = type_of(seen);
	return add(walk, &walk->result->taken, walk->path_used, seen->name,
		   (struct walk_record){ .tag = tag, .type = seen->type });
}

int walk_blind(struct walk *walk, uint32_t tag)
{
	/* Without the slash at the end, but for "/". */
	size_t size = walk->path_used > 1 ? walk->path_used - 1 : 1;
	struct walk_record record = { .tag = tag,
				      .type = DT_DIR,
				      .error = walk->error };

	return add(walk, &walk->result->blind, size, "", record);
}

static bool is_avoided(const struct walk *w, const struct walk_seen *seen)
{
	for (size_t i = 0; i < w->limits->avoid_count; i++) {
		const char *path = w->limits->avoid[i];

		if (strlen(path) == w->path_used + seen->size &&
		    !memcmp(path, w->path, w->path_used) &&
		    !strcmp(path + w->path_used, seen->name))
			return true;
	}
	return false;
}

static int queue(struct walk *w, const struct walk_seen *seen)
{
	struct queued item = { seen->child, (uint32_t)seen->size + 1 };
	int error;

	if (is_avoided(w, seen))
		return 0;
	error = walk_grow(w->limits, &w->queue, &w->queue_size,
			  w->queued + sizeof(item) + item.size);

	if (error)
		return error;
	memcpy(w->queue + w->queued, &item, sizeof(item));
	memcpy(w->queue + w->queued + sizeof(item), seen->name, item.size);
	w->queued += sizeof(item) + item.size;
	return 0;
}

/* struct linux_dirent64 has the layout of glibc's struct dirent64. */
static int look(struct walk *w, const struct dirent64 *entry)
{
	const char *name = entry->d_name;
	const struct level *level = &w->levels[w->depth - 1];
	struct walk_seen seen = {
		.name = name,
		.depth = (unsigned int)w->depth,
		.state = level->state,
		.dir = level->fd,
		.type = entry->d_type,
	};
	int error;

	if (*name == '.' && (!name[1] || (name[1] == '.' && !name[2])))
		return 0;
	if (!w->limits->entries--) {
		w->limits->entries = 0;
		return -E2BIG;
	}
	seen.size = strlen(name);
	error = w->rules->look(w->matcher, w, &seen);
	if (error || !seen.enter)
		return error;
	seen.type = type_of(&seen);
	/* What nobody can tell is tried: opening a non-directory fails. */
	return seen.type == DT_DIR || seen.type == DT_UNKNOWN ? queue(w, &seen)
							      : 0;
}

static int look_at_all(struct walk *w, ssize_t size)
{
	for (ssize_t at = 0; at < size;) {
		const struct dirent64 *entry = (void *)(w->buffer + at);
		int error = look(w, entry);

		if (error)
			return error;
		at += entry->d_reclen;
	}
	return 0;
}

static int blind(struct walk *w, uint32_t state, int error)
{
	w->error = error;
	return w->rules->blind(w->matcher, w, state);
}

/* Reads the directory at hand to its end. */
static int read_level(struct walk *w)
{
	struct level *level = &w->levels[w->depth - 1];
	ssize_t size;
	int error;

	do {
		size = getdents64(level->fd, w->buffer, READ_SIZE);
		error = size > 0 ? look_at_all(w, size) : 0;
	} while (!error && size > 0);
	level->to = w->queued;
	if (error || !size)
		return error;
	/* Removed while it was open: there is nothing in it. */
	return errno == ENOENT ? 0 : blind(w, level->state, errno);
}

/* The level that is too far up to stay open. */
static int close_far(struct walk *w)
{
	struct level *far;
	struct stat st;

	if (w->depth <= HELD)
		return 0;
	far = &w->levels[w->depth - 1 - HELD];
	if (far->fd < 0)
		return 0;
	if (fstat(far->fd, &st))
		return -errno;
	far->dev = st.st_dev;
	far->ino = st.st_ino;
	close(far->fd);
	far->fd = -1;
	return 0;
}

/* Takes @fd over, and reads it. */
static int push(struct walk *w, int fd, uint32_t state)
{
	int error = walk_grow(w->limits, &w->levels, &w->levels_size,
			      (w->depth + 1) * sizeof(*w->levels));

	if (error) {
		close(fd);
		return error;
	}
	w->levels[w->depth++] = (struct level){
		.fd = fd,
		.state = state,
		.path = w->path_used,
		.next = w->queued,
		.from = w->queued,
	};
	error = close_far(w);
	return error ? error : read_level(w);
}

static int reopen(struct level *level, int below)
{
	struct stat st;

	level->fd = openat(below, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (level->fd < 0 || fstat(level->fd, &st))
		return -errno;
	return st.st_dev == level->dev && st.st_ino == level->ino ? 0 : -ESTALE;
}

/* Done with the directory at hand. */
static int pop(struct walk *w)
{
	struct level *done = &w->levels[--w->depth];
	struct level *up = w->depth ? done - 1 : NULL;
	int error = 0;

	w->queued = done->from;
	if (up && up->fd < 0)
		error = reopen(up, done->fd);
	close(done->fd);
	done->fd = -1;
	if (up)
		w->path_used = up->path;
	return error;
}

static int append(struct walk *w, const char *name, size_t size)
{
	int error = walk_grow(w->limits, &w->path, &w->path_size,
			      w->path_used + size + 1);

	if (error)
		return error;
	memcpy(w->path + w->path_used, name, size);
	w->path_used += size;
	w->path[w->path_used++] = '/';
	return 0;
}

/* Not there any more, or something else by now. */
static bool is_gone(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP;
}

static bool is_ours(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* Enters the next directory in the queue of the one at hand. */
static int enter(struct walk *w)
{
	struct level *level = &w->levels[w->depth - 1];
	struct queued item;
	const char *name = w->queue + level->next + sizeof(item);
	int fd, error;

	memcpy(&item, w->queue + level->next, sizeof(item));
	level->next += sizeof(item) + item.size;
	fd = openat(level->fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (is_gone(errno) || is_ours(errno)))
		return is_ours(errno) ? -errno : 0;
	error = fd < 0 ? errno : 0;
	if (append(w, name, item.size - 1)) {
		if (fd >= 0)
			close(fd);
		return -E2BIG;
	}
	if (fd >= 0)
		return push(w, fd, item.state);
	error = blind(w, item.state, error);
	w->path_used = level->path;
	return error;
}

/* open(2) for a path that may be longer than PATH_MAX. */
static int open_root(const char *root)
{
	owned_fd int at = -1;
	int flags = O_DIRECTORY | O_CLOEXEC, fd;

	while (strlen(root) >= PATH_MAX) {
		char part[PATH_MAX];
		const char *cut = memrchr(root, '/', PATH_MAX - 1);
		int next;

		if (!cut || cut == root)
			return -ENAMETOOLONG;
		memcpy(part, root, (size_t)(cut - root));
		part[cut - root] = 0;
		next = openat(at, part, O_PATH | flags);
		if (next < 0)
			return -errno;
		if (at >= 0)
			close(at);
		at = next;
		root = cut + 1;
	}
	fd = openat(at < 0 ? AT_FDCWD : at, *root ? root : ".",
		    O_RDONLY | flags);
	return fd < 0 ? -errno : fd;
}

static int walk_all(struct walk *w, const char *root, uint32_t state)
{
	size_t size = strlen(root);
	int fd, error;

	while (size && root[size - 1] == '/')
		size--;
	w->buffer = malloc(READ_SIZE);
	error = w->buffer ? append(w, root, size) : -ENOMEM;
	if (error)
		return error;
	fd = open_root(root);
	if (fd == -EACCES || fd == -EPERM)
		return blind(w, state, -fd);
	error = fd < 0 ? fd : push(w, fd, state);
	while (!error && w->depth) {
		const struct level *level = &w->levels[w->depth - 1];

		error = level->next < level->to ? enter(w) : pop(w);
	}
	return error;
}

int walk_tree(const char *root, const struct walk_rules *rules, void *matcher,
	      uint32_t state, struct walk_limits *limits,
	      struct walk_result *result)
{
	struct walk w = {
		.rules = rules,
		.matcher = matcher,
		.limits = limits,
		.result = result,
	};
	int error = walk_all(&w, root, state);

	for (size_t i = 0; i < w.depth; i++)
		if (w.levels[i].fd >= 0)
			close(w.levels[i].fd);
	/* Only what is found stays; the rest is given back. */
	limits->bytes += w.levels_size + w.queue_size + w.path_size;
	free(w.levels);
	free(w.queue);
	free(w.path);
	free(w.buffer);
	return error;
}
