/* SPDX-License-Identifier: Apache-2.0 */
/* What the host state has on Linux. */
#include <string.h>

#include "core/bwrap.h"
#include "lua/api.h"

const luaL_Reg host_modules[] = {
	{ "srt.c.box", luaopen_srt_c_box },
	{ "srt.c.carry", luaopen_srt_c_carry },
	{ "srt.c.channel", luaopen_srt_c_channel },
	{ "srt.c.feed", luaopen_srt_c_feed },
	{ "srt.c.gate", luaopen_srt_c_gate },
	{ "srt.c.guard", luaopen_srt_c_guard },
	{ "srt.c.interrupt", luaopen_srt_c_interrupt },
	{ "srt.c.journal", luaopen_srt_c_journal },
	{ "srt.c.probe", luaopen_srt_c_probe },
	{ "srt.c.process", luaopen_srt_c_process },
	{ "srt.c.proxy", luaopen_srt_c_proxy },
	{ "srt.c.publish", luaopen_srt_c_publish },
	{ "srt.c.question", luaopen_srt_c_question },
	{ "srt.c.redirect", luaopen_srt_c_redirect },
	{ "srt.c.sandbox", luaopen_srt_c_sandbox },
	{ "srt.c.screen", luaopen_srt_c_screen },
	{ "srt.c.secret", luaopen_srt_c_secret },
	{ "srt.c.sys", luaopen_srt_c_sys },
	{ "srt.c.task", luaopen_srt_c_task },
	{ "srt.c.tidy", luaopen_srt_c_tidy },
	{ "srt.c.tls", luaopen_srt_c_tls },
	{ "srt.c.walk", luaopen_srt_c_walk },
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
