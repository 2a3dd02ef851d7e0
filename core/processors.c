/* SPDX-License-Identifier: Apache-2.0 */
/* Where a new process begins. */
#include "core/processors.h"

#include <string.h>

void processors_choose(struct processors *processors)
{
	cpu_set_t *allowed = &processors->allowed;
	int ours = sched_getcpu();

	if (ours < 0 || sched_getaffinity(0, sizeof(*allowed), allowed))
		return;
	processors->others = *allowed;
	CPU_CLR((size_t)ours, &processors->others);
	processors->move = CPU_COUNT(&processors->others) > 0;
}

void processors_part(pid_t child, const struct processors *processors)
{
	if (processors->move)
		(void)sched_setaffinity(child, sizeof(processors->others),
					&processors->others);
}

void processors_restore(const struct processors *processors)
{
	cpu_set_t set;

	if (!processors->move)
		return;
	/* All, which the kernel cuts down to the cpuset: cpuset(7). */
	memset(&set, 0xff, sizeof(set));
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_getaffinity(0, sizeof(set), &set) ||
	    !CPU_EQUAL(&set, &processors->allowed))
		(void)sched_setaffinity(0, sizeof(processors->allowed),
					&processors->allowed);
}
