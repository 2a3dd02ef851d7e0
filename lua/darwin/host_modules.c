/* SPDX-License-Identifier: Apache-2.0 */
/* What the host state has on macOS alone: nothing. */
#include "lua/api.h"

const luaL_Reg host_modules[] = {
	{ NULL, NULL },
};

const char host_system[] = "macos";

bool host_inside(int argc, char **argv, int *status)
{
	(void)argc;
	(void)argv;
	(void)status;
	return false;
}

/* Nothing is forked before the policy is known. */
void host_fork(void)
{
}

void host_join(void)
{
}
