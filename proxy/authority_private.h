/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a CA share. */
#ifndef SRT_PROXY_AUTHORITY_PRIVATE_H
#define SRT_PROXY_AUTHORITY_PRIVATE_H

#include "proxy/authority.h"
#include "proxy/pbuf.h"
#include "proxy/x509.h"
#include "proxy/x509_write.h"

/**
 * struct authority_key - a private key and its public one
 * @decoder: holds a user's key; @secret: one that was made here
 */
struct authority_key {
	struct x509_signer signer;
	br_ec_private_key ec;
	br_ec_public_key public;
	br_skey_decoder_context decoder;
	unsigned char secret[BR_EC_KBUF_PRIV_MAX_SIZE];
	unsigned char point[BR_EC_KBUF_PUB_MAX_SIZE];
};

/** authority_key_make() - a new P-256 key, with its public one */
bool authority_key_make(struct authority_key *key, const br_prng_class **rng);

/**
 * authority_key_read() - the first private key of a PEM text
 * Return: NULL, or what is wrong (static text).
 */
const char *authority_key_read(struct authority_key *key,
			       struct proxy_text pem);

/** authority_key_matches() - is this its public key? */
bool authority_key_matches(const struct authority_key *key,
			   const br_x509_pkey *public);

/**
 * struct authority_made - one leaf in the cache
 * @shown: first, so that it is this struct's address
 * @next: the one used before it; @references: the cache's too
 */
struct authority_made {
	struct authority_leaf shown;
	struct authority_made *next;
	unsigned int references;
	int64_t not_before;
	int64_t renew;
	br_x509_certificate chain[AUTHORITY_CHAIN_MAX];
	char name[256];
	unsigned char bytes[];
};

/**
 * struct authority - a CA
 * @key: its own; @leaf_key: of all leaves: the same process holds them all
 * @certs, @count: the CA first, then those above it; bytes owned
 * @cert: the first one, read; its key_id is @key_id where it has none itself
 * @leaves: the one used last first, @kept of them
 */
struct authority {
	struct authority_key key;
	struct authority_key leaf_key;
	br_hmac_drbg_context rng;
	br_x509_certificate certs[AUTHORITY_CHAIN_MAX];
	size_t count;
	struct x509 cert;
	unsigned char key_id[X509_KEY_ID_SIZE];
	struct pbuf pem;
	struct authority_made *leaves;
	size_t kept;
};

/** authority_serial() - X509_SERIAL_SIZE random bytes, a positive number */
void authority_serial(struct authority *authority, unsigned char *serial);

#endif
