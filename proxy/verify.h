/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies the certificate chain of an upstream server. */
#ifndef SRT_PROXY_VERIFY_H
#define SRT_PROXY_VERIFY_H

#include <bearssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/trust.h"

enum {
	VERIFY_CERTS_MAX = 12,
	VERIFY_BYTES_MAX = 64 * 1024,
	/* Signatures checked for one chain: what a hostile one may cost. */
	VERIFY_SIGNATURES_MAX = 16,
	VERIFY_REASON_MAX = 400,
	VERIFY_KEY_MAX = 528,
	VERIFY_HOST_MAX = 255,
};

/**
 * struct verify - an X.509 engine of BearSSL's; its address is what
 * br_ssl_engine_set_x509() takes: &verify->class
 * @class: first, as BearSSL wants it
 * @now: seconds since 1970 at which the chain must be valid; 0: the clock's
 *
 * The rest is for verify.c alone. Don't move it once an engine has it.
 */
struct verify {
	const br_x509_class *class;
	const struct trust *trust;
	int64_t now;
	unsigned char *bytes; /* owned, until the chain ends */
	size_t size;
	size_t capacity;
	size_t count;
	size_t ends[VERIFY_CERTS_MAX];
	unsigned int error; /* BR_ERR_*; 0 while nothing is wrong */
	unsigned int usages;
	br_x509_pkey key;
	unsigned char key_data[VERIFY_KEY_MAX];
	char host[VERIFY_HOST_MAX + 1];
	char reason[VERIFY_REASON_MAX];
};

/**
 * verify_init() - verify for a host, on a zeroed or freed struct
 * @trust: borrowed until verify_free()
 * @host: whom the certificate must name: a DNS name, an IPv4 address or an
 *	IPv6 address without brackets; copied. NULL, or too long a one, is named
 *	by no certificate. The name that BearSSL itself hands over is not used.
 *
 * What is refused: other names (subjectAltName only, RFC 9525: wildcards are
 * the whole left-most label, an address needs an iPAddress); a chain that leads
 * to no root by any order or choice of its certificates; expired or not yet
 * valid; CAs that are none, or over their path length; names out of name
 * constraints; an extKeyUsage without serverAuth; keys of RSA below 2048 bits;
 * signatures with SHA-1 or older; critical extensions that are not understood.
 * Revocation is not looked at.
 */
void verify_init(struct verify *verify, const struct trust *trust,
		 const char *host);

/** verify_free() - frees what a chain that never ended left; NULL is fine */
void verify_free(struct verify *verify);

/**
 * verify_reason() - why the chain was refused, for a person; "" when it was not
 *
 * Printable ASCII, whatever the certificates held, e.g. "the certificate
 * expired on 2024-05-01". Borrowed; stays until verify_init() or verify_free().
 */
const char *verify_reason(const struct verify *verify);

#endif
