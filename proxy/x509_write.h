/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and signs certificates (RFC 5280). */
#ifndef SRT_PROXY_X509_WRITE_H
#define SRT_PROXY_X509_WRITE_H

#include <bearssl.h>

#include "proxy/der.h"

enum {
	X509_SERIAL_SIZE = 16,
	X509_KEY_ID_SIZE = 20,
	/* A leaf has about 500 bytes and twice its name; an issuer's name and a
	 * signature of RSA come on top. */
	X509_WRITE_MAX = 8192,
};

/** struct x509_signer - whose signature it gets; @rsa or @ec, borrowed */
struct x509_signer {
	const br_rsa_private_key *rsa;
	const br_ec_private_key *ec;
};

/**
 * struct x509_draft - what is to be certified; all borrowed
 * @serial: X509_SERIAL_SIZE bytes, positive
 * @issuer: its whole name in DER; empty: the same as the subject
 * @common_name: of the subject; NULL for an empty subject
 * @organization: of the subject too; NULL for none
 * @host: for a server's: its DNS name or address; NULL: this is a CA's
 * @key: P-256
 * @issuer_key_id: empty: none is written
 */
struct x509_draft {
	const unsigned char *serial;
	struct der issuer;
	const char *common_name;
	const char *organization;
	const char *host;
	int64_t not_before;
	int64_t not_after;
	const br_ec_public_key *key;
	struct der issuer_key_id;
};

/** x509_key_id() - X509_KEY_ID_SIZE bytes of a key's hash (RFC 7093 2.1) */
void x509_key_id(struct der key, unsigned char *id);

/**
 * x509_write() - a signed certificate in DER
 * @out: X509_WRITE_MAX bytes
 * Return: its size; 0 where it doesn't fit or can't be signed.
 */
size_t x509_write(const struct x509_draft *draft,
		  const struct x509_signer *signer, unsigned char *out);

#endif
