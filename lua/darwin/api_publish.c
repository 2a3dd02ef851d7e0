/* SPDX-License-Identifier: Apache-2.0 */
/* srt.c.publish where a server of the command has the host's port itself. */
#include "lua/api.h"

int luaopen_srt_c_publish(lua_State *L)
{
	static const luaL_Reg functions[] = {
		{ "listen", api_listen },
		{ NULL, NULL },
	};

	luaL_newlib(L, functions);
	return 1;
}
