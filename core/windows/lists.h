/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a plan's entries into access lists, and takes them back. */
#ifndef SRT_WINDOWS_LISTS_H
#define SRT_WINDOWS_LISTS_H

#include "core/windows/acl.h"
#include "core/windows/plan.h"
#include "core/windows/win32.h"

/**
 * lists_apply() - grant and deny what the plan says, for as long as this
 * process holds it. What killed runs have left is taken back first.
 * Return: 0, or -errno with @failure filled and nothing held
 */
int lists_apply(const struct win_plan *plan, const struct sid *account,
		struct failure *failure);

/**
 * lists_release() - take back what this process and dead ones hold
 * @account: whose entries they are
 * Return: 0, or -errno with @failure filled: what could not be taken back is
 * tried again by the next run
 */
int lists_release(const struct sid *account, struct failure *failure);

#endif
