/* SPDX-License-Identifier: Apache-2.0 */
/* Installs the fence in the Windows Filtering Platform. */
#ifndef SRT_WINDOWS_WFP_H
#define SRT_WINDOWS_WFP_H

#include "core/windows/acl.h"
#include "core/windows/fence.h"
#include "core/windows/win32.h"

/**
 * wfp_install() - put the filters of a range for an account, in the place of
 * those that are there; all of them or none. Elevated.
 * Return: 0, or -EINVAL with @failure filled
 */
int wfp_install(const char *sublayer, const struct sid *account,
		struct port_range range, struct failure *failure);

/** wfp_remove() - take filters and sublayer away. What is not there is fine. */
int wfp_remove(const char *sublayer, struct failure *failure);

#endif
