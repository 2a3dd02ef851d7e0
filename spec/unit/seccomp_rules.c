/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of backends/seccomp.lua, for tests of what they compile to. */
#include "spec/unit/seccomp_rules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <lauxlib.h>
#include <stdlib.h>

static uint64_t number(lua_State *L, const char *name)
{
	uint64_t value;

	lua_getfield(L, -1, name);
	value = (uint64_t)lua_tointeger(L, -1);
	lua_pop(L, 1);
	return value;
}

static bool flag(lua_State *L, const char *name)
{
	bool value;

	lua_getfield(L, -1, name);
	value = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return value;
}

static void read_rule(lua_State *L, struct seccomp_rule *rule)
{
	*rule = (struct seccomp_rule){ .error = (int)number(L, "errno"),
				       .notify = flag(L, "notify") };
	lua_getfield(L, -1, "call");
	rule->call = lua_tostring(L, -1);
	lua_pop(L, 1);
	lua_getfield(L, -1, "args");
	rule->arg_count = lua_rawlen(L, -1);
	for (size_t i = 0; i < rule->arg_count; i++) {
		lua_rawgeti(L, -1, (lua_Integer)i + 1);
		rule->args[i] = (struct seccomp_arg){
			.index = (unsigned int)number(L, "index"),
			.above = flag(L, "above"),
			.differs = flag(L, "differs"),
			.mask = number(L, "mask"),
			.value = number(L, "value"),
		};
		lua_pop(L, 1);
	}
	lua_pop(L, 1);
}

size_t seccomp_rules_read(lua_State *L, const char *chunk,
			  struct seccomp_rule *rules)
{
	size_t count;

	if (luaL_dostring(L, chunk))
		fail_msg("%s", lua_tostring(L, -1));
	count = lua_rawlen(L, -1);
	assert_in_range(count, 0, SECCOMP_RULES_MAX);
	for (size_t i = 0; i < count; i++) {
		lua_rawgeti(L, -1, (lua_Integer)i + 1);
		read_rule(L, &rules[i]);
		lua_pop(L, 1);
	}
	return count;
}

uint64_t seccomp_rules_argument(const struct seccomp_rule *rules, size_t count)
{
	const struct seccomp_rule *rule =
		count ? &rules[(size_t)rand() % count] : NULL;
	uint64_t value = (uint64_t)(rand() % 4);

	if (rule && rule->arg_count && rand() % 4)
		value = rule->args[(size_t)rand() % rule->arg_count].value;
	if (rand() % 4 == 0)
		value += (uint64_t)(rand() % 3) - 1;
	if (rand() % 8 == 0)
		value |= UINT64_C(1) << rand() % 64;
	return value;
}

void seccomp_rules_arguments(const struct seccomp_rule *rules, size_t count,
			     uint64_t arguments[6])
{
	const struct seccomp_rule *rule =
		count ? &rules[(size_t)rand() % count] : NULL;

	for (size_t i = 0; i < 6; i++)
		arguments[i] = seccomp_rules_argument(rules, count);
	for (size_t i = 0; rule && i < rule->arg_count; i++) {
		if (rand() % 4)
			arguments[rule->args[i].index] = rule->args[i].value;
	}
}
