/* SPDX-License-Identifier: Apache-2.0 */
/* What the host state has on Linux alone. */
#include <string.h>

#include "core/bwrap.h"
#include "lua/api.h"

const luaL_Reg host_modules[] = {
	{ "srt.c.channel", luaopen_srt_c_channel },
	{ "srt.c.guard", luaopen_srt_c_guard },
	{ "srt.c.probe", luaopen_srt_c_probe },
	{ "srt.c.question", luaopen_srt_c_question },
	{ "srt.c.redirect", luaopen_srt_c_redirect },
	{ "srt.c.watch", luaopen_srt_c_watch },
	{ NULL, NULL },
};

const char host_system[] = "linux";

bool host_inside(int argc, char **argv, int *status)
{
	if (argc < 2 || strcmp(argv[1], BWRAP_INSIDE))
		return false;
	*status = bwrap_inside(argc, argv);
	return true;
}
