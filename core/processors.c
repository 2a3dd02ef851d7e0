/* SPDX-License-Identifier: Apache-2.0 */
/* Where a new process begins. */
#include "core/processors.h"

#include <string.h>

void processors_part(pid_t child, struct processors *processors)
{
	int ours = sched_getcpu();
	cpu_set_t others;

	if (ours < 0 || sched_getaffinity(0, sizeof(others), &others))
		return;
	processors->allowed = others;
	CPU_CLR((size_t)ours, &others);
	processors->moved = CPU_COUNT(&others) &&
			    !sched_setaffinity(child, sizeof(others), &others);
}

void processors_restore(const struct processors *processors)
{
	cpu_set_t set;

	if (!processors->moved)
		return;
	/* All, which the kernel cuts down to the cpuset: cpuset(7). */
	memset(&set, 0xff, sizeof(set));
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_getaffinity(0, sizeof(set), &set) ||
	    !CPU_EQUAL(&set, &processors->allowed))
		(void)sched_setaffinity(0, sizeof(processors->allowed),
					&processors->allowed);
}
