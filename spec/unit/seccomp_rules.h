/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of backends/seccomp.lua, for tests of what they compile to. */
#ifndef SRT_SPEC_SECCOMP_RULES_H
#define SRT_SPEC_SECCOMP_RULES_H

#include <lua.h>

#include "core/seccomp.h"

#define SECCOMP_RULES_MAX 1024

/**
 * seccomp_rules_read() - run a chunk of Lua that returns rules
 * @rules: filled, up to SECCOMP_RULES_MAX; their names live as long as @L
 * Return: how many.
 */
size_t seccomp_rules_read(lua_State *L, const char *chunk,
			  struct seccomp_rule *rules);

/** seccomp_rules_argument() - anything, but mostly what some rule looks for, or
 * nearly */
uint64_t seccomp_rules_argument(const struct seccomp_rule *rules, size_t count);

/** seccomp_rules_arguments() - for a call: mostly what one rule looks for */
void seccomp_rules_arguments(const struct seccomp_rule *rules, size_t count,
			     uint64_t arguments[6]);

#endif
