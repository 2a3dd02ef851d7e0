/* SPDX-License-Identifier: Apache-2.0 */
/* Puts back mounts that the kernel dropped when the host replaced a file. */
#include "core/remount.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "core/mounts.h"
#include "core/system.h"

/* The host may replace the file again while we are at it. */
#define TRIES 20
#define LOST 1 /* of a step's state; besides MOVED_NAMES_MISSING */
/* How often one must look who hears nothing; and who hears, but not of all
 * folders, or of names in folders that may be made anew. */
#define DEAF_MS 50
#define PARTLY_MS 1000
/* Looking may take no more of the time than one part in so many. */
#define SHARE 20

int remount_open(struct remount *remount, const struct plan *plan, int masks,
		 void (*tell)(void *context, const struct message *message),
		 void *context)
{
	*remount = (struct remount){
		.changes = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC),
		.plan = plan,
		.masks = masks,
		.state = calloc(plan->step_count + 1, 1),
		.tell = tell,
		.context = context,
		.names = moved_names_open(),
		.look_at = sys_now_ms() + DEAF_MS,
	};
	if (!remount->state)
		return -ENOMEM;
	if (remount->changes < 0)
		return -errno;
	return 0;
}

int remount_wait(const struct remount *remount)
{
	long long left;

	if (remount->watched && !remount->partly && !remount->missing)
		return -1;
	left = remount->look_at - sys_now_ms();
	return left > 0 ? (int)left : 0;
}

void remount_close(struct remount *remount)
{
	const int fds[] = { remount->changes, remount->names };

	sys_abandon(fds, ARRAY_SIZE(fds));
}

static char *read_all(int fd)
{
	size_t size = 64 << 10, used = 0;
	char *text = malloc(size);
	ssize_t more;

	if (lseek(fd, 0, SEEK_SET) < 0)
		goto fail;
	while (text && (more = read(fd, text + used, size - used - 1)) != 0) {
		char *larger = text;

		if (more < 0)
			goto fail;
		used += (size_t)more;
		if (size - used < 4096) {
			size *= 2;
			larger = realloc(text, size);
		}
		if (!larger)
			goto fail;
		text = larger;
	}
	if (text)
		text[used] = '\0';
	return text;
fail:
	free(text);
	return NULL;
}

/* In place: mountinfo writes blank, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
	char *to = text;

	for (char *at = text; *at; at++) {
		if (*at == '\\' && at[1] && at[2] && at[3]) {
			*to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 |
				       (at[3] - '0'));
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The mount points of mountinfo, sorted; they point into @text. */
static char **mount_points(char *text, size_t *count)
{
	size_t lines = 0;
	char **points, *rest = NULL;

	for (const char *at = text; (at = strchr(at, '\n')); at++)
		lines++;
	points = calloc(lines + 1, sizeof(*points));
	*count = 0;
	for (char *line = strtok_r(text, "\n", &rest);
	     points && line && *count < lines;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *fields = NULL, *point = strtok_r(line, " ", &fields);

		/* The fifth one: proc_pid_mountinfo(5). */
		for (int i = 0; point && i < 4; i++)
			point = strtok_r(NULL, " ", &fields);
		if (!point)
			continue;
		unescape(point);
		points[(*count)++] = point;
	}
	if (points)
		qsort(points, *count, sizeof(*points), by_text);
	return points;
}

/* Marks what is not mounted any more. False: it can't be known. */
static bool find_lost(struct remount *remount)
{
	const struct plan *plan = remount->plan;
	owned_ptr char *text = read_all(remount->changes);
	owned_ptr char **points = NULL;
	size_t count = 0;

	if (text)
		points = mount_points(text, &count);
	if (!points)
		return false;
	for (size_t i = 0; i < plan->step_count; i++) {
		remount->state[i] &= (unsigned char)~LOST;
		if (strcmp(plan->steps[i].target, "/") &&
		    !bsearch(&plan->steps[i].target, points, count,
			     sizeof(*points), by_text))
			remount->state[i] |= LOST;
	}
	return true;
}

static int cover_of(const struct remount *remount, size_t index, mode_t mode)
{
	char name[MOUNTS_COVER_SIZE];

	mounts_cover(remount->plan, index, S_ISDIR(mode), name);
	return sys_open_tree(remount->masks, name,
			     OPEN_TREE_CLONE | AT_SYMLINK_NOFOLLOW);
}

/* A new mount of what the step wants, over what its name is now. */
static int put_back(const struct remount *remount, size_t index)
{
	const struct mount_step *step = &remount->plan->steps[index];
	bool bind = step->kind == MOUNT_BIND;
	uint64_t read_only = bind && !step->read_only ? 0 : MOUNT_ATTR_RDONLY;
	owned_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned_fd int at = -1, tree = -1;
	struct stat st;
	int error;

	if (root < 0)
		return -errno;
	at = sys_open_beneath(root, step->target, O_PATH);
	if (at < 0)
		return at;
	if (fstat(at, &st))
		return -errno;
	tree = bind ? sys_open_tree(at, "", AT_EMPTY_PATH | OPEN_TREE_CLONE)
		    : cover_of(remount, index, st.st_mode);
	if (tree < 0)
		return tree;
	error = sys_mount_attr(tree, false, read_only,
			       MOUNT_ATTR_RDONLY & ~read_only);
	return error ? error : sys_move_mount(tree, at, "");
}

int remount_links(const struct plan *plan, int masks, struct failure *failure)
{
	const struct remount remount = { .plan = plan, .masks = masks };

	for (size_t i = 0; i < plan->step_count; i++) {
		const char *target = plan->steps[i].target;
		struct stat st;
		int error;

		if (lstat(target, &st) || !S_ISLNK(st.st_mode))
			continue;
		error = put_back(&remount, i);
		if (error)
			return failure_set(failure, -error, "cannot cover %s",
					   target);
	}
	return 0;
}

/* Is the step's mount what its name leads to? */
static bool holds(const struct remount *remount, size_t index)
{
	const struct mount_step *step = &remount->plan->steps[index];
	owned_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	owned_fd int at = -1;
	struct statvfs fs;

	at = root < 0 ? -1 : sys_open_beneath(root, step->target, O_PATH);
	if (at < 0 || fstatvfs(at, &fs))
		return false;
	if (step->kind == MOUNT_BIND)
		return !step->read_only || (fs.f_flag & ST_RDONLY);
	return mounts_covered(remount->plan, index, remount->masks, at);
}

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void report(struct remount *remount, size_t index, int error,
		   long long since)
{
	struct message message = { .kind = error ? MESSAGE_UNPROTECTED
						 : MESSAGE_RESTORED };

	message.value = error ? -error : (int32_t)(now_us() - since);
	snprintf(message.failure.text, sizeof(message.failure.text), "%s",
		 remount->plan->steps[index].target);
	remount->tell(remount->context, &message);
}

static int try_restore(const struct remount *remount, size_t index)
{
	int error = -EAGAIN;

	for (int i = 0; i < TRIES && error && error != -ENOENT; i++) {
		error = put_back(remount, index);
		if (!error && !holds(remount, index))
			error = -EAGAIN;
	}
	return error;
}

static void be_deaf(struct remount *remount)
{
	close(remount->names);
	remount->names = -1;
	remount->watched = false;
}

static void restore(struct remount *remount, size_t index, long long since)
{
	const char *target = remount->plan->steps[index].target;
	int error = try_restore(remount, index);

	if (error) {
		if (remount->names >= 0 &&
		    moved_names_await(remount->names, target))
			be_deaf(remount);
		/* It may have been made before the watch was there. */
		error = try_restore(remount, index);
	}
	/* What stays away is told once. */
	if (!error || !(remount->state[index] & MOVED_NAMES_MISSING))
		report(remount, index, error, since);
	remount->state[index] = error ? MOVED_NAMES_MISSING : 0;
}

/* A mount that is put back covers those beneath: they follow in the plan. */
static void lose_beneath(struct remount *remount, size_t index)
{
	const struct plan *plan = remount->plan;
	const char *top = plan->steps[index].target;

	for (size_t i = index + 1; i < plan->step_count; i++)
		if (path_below(plan->steps[i].target, top))
			remount->state[i] |= LOST;
}

static void watch_names(struct remount *remount)
{
	int error;

	if (remount->names < 0)
		return;
	if (!remount->words.text)
		moved_names_learn(&remount->words, remount->plan);
	error = moved_names_watch(remount->names, remount->plan,
				  remount->state);
	remount->watched = true;
	remount->partly = error == -EACCES;
	if (error == -ENOSPC)
		be_deaf(remount);
}

/* Puts back what is lost. Return: was anything? */
static bool restore_lost(struct remount *remount, long long since)
{
	const struct plan *plan = remount->plan;
	bool restored = false;

	remount->missing = false;
	for (size_t i = 0; i < plan->step_count; i++) {
		if (!(remount->state[i] & LOST))
			continue;
		restore(remount, i, since);
		if (remount->state[i]) {
			remount->missing = true;
			continue;
		}
		restored = true;
		lose_beneath(remount, i);
	}
	return restored;
}

void remount_check(struct remount *remount, bool names)
{
	long long since = now_us(), took;

	if (names && !moved_names_read(remount->names, &remount->words))
		return;
	/* Before one looks: what is moved then is told. Not from the start: the
	 * end of what has watched takes the kernel milliseconds, and short runs
	 * that lose nothing go without. */
	if (!remount->watched)
		watch_names(remount);
	/* What was made anew is another folder to watch. */
	if (find_lost(remount) && restore_lost(remount, since) &&
	    remount->watched)
		watch_names(remount);
	took = SHARE * (now_us() - since) / 1000;
	if (took < (remount->watched ? PARTLY_MS : DEAF_MS))
		took = remount->watched ? PARTLY_MS : DEAF_MS;
	remount->look_at = sys_now_ms() + took;
}
