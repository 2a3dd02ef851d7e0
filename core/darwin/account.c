/* SPDX-License-Identifier: Apache-2.0 */
/* Users, as libc knows them. */
#include <pwd.h>
#include <stdio.h>

#include "core/nss.h"

bool nss_account(const char *user, uid_t uid, struct account *out)
{
	char text[4096];
	struct passwd entry, *found = NULL;
	int error = user ? getpwnam_r(user, &entry, text, sizeof(text), &found)
			 : getpwuid_r(uid, &entry, text, sizeof(text), &found);

	return !error && found &&
	       snprintf(out->name, sizeof(out->name), "%s", entry.pw_name) <
		       (int)sizeof(out->name) &&
	       snprintf(out->home, sizeof(out->home), "%s", entry.pw_dir) <
		       (int)sizeof(out->home);
}
