/* SPDX-License-Identifier: Apache-2.0 */
/* The way from a server's certificate to a root. */
#ifndef SRT_PROXY_VERIFY_PATH_H
#define SRT_PROXY_VERIFY_PATH_H

#include "proxy/verify.h"
#include "proxy/x509.h"

/**
 * struct verify_failure - why there is none
 * @error: BR_ERR_X509_*; 0 while nothing was tried
 * @vague: nothing more is known than that an issuer wasn't found
 */
struct verify_failure {
	unsigned int error;
	bool vague;
	char text[VERIFY_REASON_MAX];
};

/**
 * verify_valid() - is it valid at this time?
 * @what: the certificate as a sentence's subject, for @failure's text
 */
bool verify_valid(const struct x509 *cert, int64_t now, const char *what,
		  struct verify_failure *failure);

/**
 * verify_path() - look for a way from @certs[0] to a root (RFC 5280 6.1)
 * @certs: what the server sent, in any order behind the first; @count at least
 * 1
 *
 * All ways are tried, up to VERIFY_SIGNATURES_MAX signatures: a root that
 * expired, or that a server doesn't need, is no reason to refuse another.
 */
bool verify_path(const struct trust *trust, const struct x509 *certs,
		 size_t count, int64_t now, struct verify_failure *failure);

#endif
