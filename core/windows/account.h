/* SPDX-License-Identifier: Apache-2.0 */
/* The account that commands run as, its group, and the password of it. */
#ifndef SRT_WINDOWS_ACCOUNT_H
#define SRT_WINDOWS_ACCOUNT_H

#include "core/windows/acl.h"
#include "core/windows/win32.h"

enum { PASSWORD_SIZE = 40 };

/**
 * account_install() - make account and group, or give the account a new
 * password where it is there; elevated
 * Return: 0, or -EINVAL with @failure filled
 */
int account_install(const char *name, const char *group,
		    struct failure *failure);

/** account_remove() - take them away; elevated. What is not there is fine. */
int account_remove(const char *name, const char *group,
		   struct failure *failure);

/**
 * account_sid() - who the account is
 * Return: 0, or -EINVAL with @failure filled: it is not there
 */
int account_sid(const char *name, struct sid *out, struct failure *failure);

/**
 * account_password() - the password that the installing user has kept
 * @out: to be wiped by the caller
 * Return: 0, or -EINVAL with @failure filled
 */
int account_password(const char *name, wchar_t out[PASSWORD_SIZE],
		     struct failure *failure);

#endif
