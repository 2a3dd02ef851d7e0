/* SPDX-License-Identifier: Apache-2.0 */
/* The CA of a run, and the certificates that it makes for hosts. */
#ifndef SRT_PROXY_AUTHORITY_H
#define SRT_PROXY_AUTHORITY_H

#include <bearssl.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/text.h"

/*
 * The private keys live in the host process alone: nothing here writes them
 * anywhere, and they are wiped with the authority. One thread.
 */

enum {
	AUTHORITY_LEAVES_MAX = 256,
	AUTHORITY_PEM_MAX = 1 << 20,
	AUTHORITY_CHAIN_MAX = 8,
};

struct authority;

/**
 * struct authority_leaf - what a TLS server shows for one host
 * @chain, @count: the leaf first, then those of the user's file that are not
 *	self-signed; as br_ssl_server_set_single_ec() takes them
 * @key: of the leaf, P-256
 * @issuer_key_type: BR_KEYTYPE_EC or BR_KEYTYPE_RSA, the CA's
 *
 * All borrowed from the leaf, which a reference keeps: an engine needs them
 * until its handshake is done.
 */
struct authority_leaf {
	const br_x509_certificate *chain;
	size_t count;
	const br_ec_private_key *key;
	unsigned int issuer_key_type;
};

/**
 * authority_new() - a CA
 * @cert_pem, @key_pem: the user's CA: its certificate, perhaps with those above
 *	it behind it, and its key (RSA or EC; PKCS#1, SEC1 or PKCS#8, not
 *	encrypted). Both empty: a new P-256 CA that nobody else knows. Copied.
 * @out: owned by the caller, authority_free() ends it
 * @why: out: what is wrong, static text
 *
 * A user's CA must be one: it may sign certificates of servers, is valid now,
 * and the key is its own.
 * Return: 0, -EINVAL (@why says), -ENOMEM or -EIO (no random bytes).
 */
int authority_new(struct authority **out, struct proxy_text cert_pem,
		  struct proxy_text key_pem, const char **why);

/**
 * authority_free() - wipes the keys; NULL is fine
 *
 * Leaves that are still referred to stay, but their key is gone: engines end
 * first.
 */
void authority_free(struct authority *authority);

/**
 * authority_certificate() - the CERTIFICATE blocks of the CA and of what stood
 * above it in the user's file, as PEM; borrowed
 */
struct proxy_text authority_certificate(const struct authority *authority);

/**
 * authority_leaf() - a certificate for a host, from the cache where it is there
 * @name: a host in canonical form: a DNS name in lower case without a trailing
 *	dot, an IPv4 address, or an IPv6 address without brackets
 * @why: out, with NULL: static text
 *
 * About 0.4 ms where one has to be made. It stays good for at least an hour,
 * or the CA does not.
 * Return: a leaf with a reference, for authority_leaf_put(); or NULL.
 */
const struct authority_leaf *authority_leaf(struct authority *authority,
					    const char *name, const char **why);

/** authority_leaf_put() - give a reference back; NULL is fine */
void authority_leaf_put(const struct authority_leaf *leaf);

#endif
