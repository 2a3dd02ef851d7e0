/* SPDX-License-Identifier: Apache-2.0 */
/* The CA of network.tlsTerminate in the account's store of roots. */
#ifndef SRT_WINDOWS_TRUST_H
#define SRT_WINDOWS_TRUST_H

#include "core/windows/win32.h"

enum { FINGERPRINT_SIZE = 65 };

/**
 * trust_install() - let the account trust the certificate of a PEM file, in the
 * place of what an earlier call installed; elevated
 * Return: 0, or -EINVAL with @failure filled
 */
int trust_install(const char *file, const char *account,
		  struct failure *failure);

/**
 * trust_fingerprint() - SHA-256 of the certificate of a PEM file, in hex
 * Return: 0, or -EINVAL with @failure filled
 */
int trust_fingerprint(const char *file, char out[FINGERPRINT_SIZE],
		      struct failure *failure);

/** trust_has() - does whom we run as trust the certificate of a fingerprint? */
bool trust_has(const char *fingerprint);

#endif
