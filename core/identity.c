/* SPDX-License-Identifier: Apache-2.0 */
/* Which ids and capabilities a caller has inside. */
#include "core/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/util.h"

#define BIT(cap) (UINT64_C(1) << (cap))

/* Ordinary file work of a root caller. */
#define ROOT_CAPS                                                   \
	(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER) | \
	 BIT(CAP_FSETID))

/*
 * What mapping many ids and making masks that belong to none of them takes. A
 * root without them (in a container) is mapped like anybody else, and gets no
 * capabilities.
 */
#define MAPPING_CAPS                                          \
	(BIT(CAP_CHOWN) | BIT(CAP_SETGID) | BIT(CAP_SETUID) | \
	 BIT(CAP_SYS_ADMIN))

/* In halves, as the kernel takes and gives them. */
static int read_caps(struct __user_cap_data_struct data[2])
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};

	return syscall(SYS_capget, &header, data) ? -errno : 0;
}

static uint64_t joined(const struct __user_cap_data_struct data[2])
{
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

static uint64_t effective_caps(void)
{
	struct __user_cap_data_struct data[2] = { 0 };

	return read_caps(data) ? 0 : joined(data);
}

int identity_act(uint64_t caps, uint64_t *before)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct data[2] = { 0 };
	int error = read_caps(data);

	if (error)
		return error;
	if (before)
		*before = joined(data);
	for (int half = 0; half < 2; half++)
		data[half].effective =
			(uint32_t)(caps >> (32 * half)) & data[half].permitted;
	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

static bool can_map(void)
{
	return (effective_caps() & MAPPING_CAPS) == MAPPING_CAPS;
}

static int by_first(const void *a, const void *b)
{
	const struct id_extent *left = a, *right = b;

	return left->first < right->first ? -1 : left->first > right->first;
}

/* Identity extents of the caller's own namespace, sorted. */
static int read_map(const char *path, struct id_extent *extents, size_t *count)
{
	owned_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[IDENTITY_EXTENTS * 36 + 1], *at = text;
	ssize_t size = 0, more;

	if (fd < 0)
		return -errno;
	while ((more = read(fd, text + size, sizeof(text) - 1 - (size_t)size)))
		if (more < 0)
			return -errno;
		else
			size += more;
	text[size] = '\0';
	for (*count = 0; *count < IDENTITY_EXTENTS; ++*count) {
		struct id_extent *extent = &extents[*count];
		char *start = at;

		extent->first = (uint32_t)strtoul(at, &at, 10);
		if (at == start)
			break;
		(void)strtoul(at, &at, 10);
		extent->count = (uint32_t)strtoul(at, &at, 10);
	}
	qsort(extents, *count, sizeof(*extents), by_first);
	return *count ? 0 : -EINVAL;
}

/* The masks of denied reads belong to it: nobody inside can be it. */
static void leave_out_last(struct identity *id)
{
	struct id_extent *last = &id->uids[id->uid_count - 1];

	last->count--;
	id->mask_owner = last->first + last->count;
	if (!last->count)
		id->uid_count--;
}

void identity_alone(struct identity *id)
{
	id->root_caller = false;
	id->mask_owner = 0;
	id->caps = 0;
	id->uids[0] = (struct id_extent){ geteuid(), 1 };
	id->gids[0] = (struct id_extent){ getegid(), 1 };
	id->uid_count = id->gid_count = 1;
}

int identity_read(struct identity *id)
{
	int error = read_map("/proc/self/uid_map", id->uids, &id->uid_count);
	bool many = id->uid_count > 1 || id->uids[0].count > 1;

	if (!error)
		error = read_map("/proc/self/gid_map", id->gids,
				 &id->gid_count);
	if (error)
		return error;
	id->close_proc = geteuid() == 0;
	id->root_caller = id->close_proc && many && can_map();
	id->mask_owner = 0;
	id->caps = id->root_caller ? ROOT_CAPS : 0;
	if (id->root_caller) {
		leave_out_last(id);
		return 0;
	}
	identity_alone(id);
	return 0;
}

int identity_bare(struct identity *id)
{
	int error = identity_read(id);

	id->caps = effective_caps() & BIT(CAP_DAC_OVERRIDE);
	return error;
}
