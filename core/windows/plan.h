/* SPDX-License-Identifier: Apache-2.0 */
/* A plan of backends/windows.lua, read and checked. Pure. */
#ifndef SRT_WINDOWS_PLAN_H
#define SRT_WINDOWS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/util.h"
#include "core/windows/fence.h"
#include "core/windows/json.h"

/** enum trustee - whom an entry is for; the plan knows no identifiers */
enum trustee {
	TRUSTEE_ACCOUNT,
	TRUSTEE_OWNER_RIGHTS, /* S-1-3-4: whoever owns the object */
};

/** struct rule - an entry of a list, before it is known who the account is */
struct rule {
	bool deny;
	enum trustee trustee;
	uint8_t flags;
	uint32_t mask;
};

enum { RULES_MOST = 6 };

/** struct plan_path - a path and the entries that it gets */
struct plan_path {
	const char *path; /* borrowed */
	bool make;	  /* an empty folder, where there is nothing */
	unsigned count;
	struct rule rules[RULES_MOST];
};

/* Groups of a token, as bits. */
enum {
	GROUP_ACCOUNT = 1,
	GROUP_USERS = 2,
	GROUP_EVERYONE = 4,
	GROUP_LOGON = 8
};

/** struct win_plan - all that a run needs */
struct win_plan {
	struct json *root; /* owned; what is borrowed below is in it */
	const char *account, *group, *cwd, *sublayer; /* borrowed */
	const char *ca; /* borrowed; NULL where no TLS is terminated */
	struct port_range range;
	unsigned keep_groups, restricting;		       /* GROUP_… */
	const struct json *set, *unset, *pass, *account_names; /* borrowed */
	struct plan_path *paths;			       /* owned */
	size_t path_count;
};

/**
 * win_plan_read() - read a plan
 * @out: owned by the caller, freed by win_plan_free()
 * Return: 0, or -errno with @failure filled. What is not known is refused, and
 * so are filters that are not those of fence_filters(): they were installed.
 */
int win_plan_read(struct win_plan *out, const char *text, size_t size,
		  struct failure *failure);

/** win_plan_free() - free what a plan owns */
void win_plan_free(struct win_plan *plan);

#endif
