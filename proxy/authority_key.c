/* SPDX-License-Identifier: Apache-2.0 */
/* Private keys of a CA: made, read, matched. */
#include <stdlib.h>
#include <string.h>

#include "proxy/authority_private.h"
#include "proxy/pem.h"

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 4096 };

bool authority_key_make(struct authority_key *key, const br_prng_class **rng)
{
	const br_ec_impl *curve = br_ec_get_default();

	key->signer.ec = &key->ec;
	return br_ec_keygen(rng, curve, &key->ec, key->secret,
			    BR_EC_secp256r1) != 0 &&
	       br_ec_compute_pub(curve, &key->public, key->point, &key->ec) !=
		       0;
}

static const char *take_rsa(struct authority_key *key)
{
	const br_rsa_private_key *rsa = br_skey_decoder_get_rsa(&key->decoder);

	if (rsa->n_bitlen < RSA_BITS_MIN)
		return "the RSA key has less than 2048 bits";
	if (rsa->n_bitlen > RSA_BITS_MAX)
		return "the RSA key has more than 4096 bits, which is not "
		       "supported";
	key->signer.rsa = rsa;
	return NULL;
}

static const char *take_ec(struct authority_key *key)
{
	const br_ec_private_key *ec = br_skey_decoder_get_ec(&key->decoder);

	if (ec->curve != BR_EC_secp256r1 && ec->curve != BR_EC_secp384r1 &&
	    ec->curve != BR_EC_secp521r1)
		return "the key is on none of the curves P-256, P-384, P-521";
	if (!br_ec_compute_pub(br_ec_get_default(), &key->public, key->point,
			       ec))
		return "the EC key is none";
	key->signer.ec = ec;
	return NULL;
}

static const char *take_key(struct authority_key *key,
			    const unsigned char *bytes, size_t size)
{
	br_skey_decoder_init(&key->decoder);
	br_skey_decoder_push(&key->decoder, bytes, size);
	if (br_skey_decoder_last_error(&key->decoder))
		return "the private key can't be read: it must be RSA or EC, "
		       "in PKCS#1, SEC1 or PKCS#8";
	return br_skey_decoder_key_type(&key->decoder) == BR_KEYTYPE_RSA
		       ? take_rsa(key)
		       : take_ec(key);
}

static const char *take_block(struct authority_key *key,
			      const struct pem_block *block)
{
	static const char encrypted[] = "the private key is encrypted: it must "
					"stand there without a passphrase";
	size_t size, capacity = pem_size(block->body);
	unsigned char *bytes;
	const char *why;

	if (proxy_text_equal(block->label, "ENCRYPTED PRIVATE KEY") ||
	    (block->body.size > 10 &&
	     memmem(block->body.data, block->body.size, "ENCRYPTED", 9)))
		return encrypted;
	bytes = malloc(capacity);
	if (!bytes)
		return "there is no memory";
	why = pem_decode(block->body, bytes, &size)
		      ? take_key(key, bytes, size)
		      : "the private key is not in base64, or has no end";
	explicit_bzero(bytes, capacity);
	free(bytes);
	return why;
}

const char *authority_key_read(struct authority_key *key, struct proxy_text pem)
{
	static const char *const labels[] = { "PRIVATE KEY", "RSA PRIVATE KEY",
					      "EC PRIVATE KEY",
					      "ENCRYPTED PRIVATE KEY", NULL };
	struct pem_block block;

	while (pem_next(&pem, &block)) {
		for (const char *const *label = labels; *label; label++) {
			if (proxy_text_equal(block.label, *label))
				return take_block(key, &block);
		}
	}
	return "no private key in PEM stands there";
}

static bool same(const unsigned char *a, size_t a_size, const unsigned char *b,
		 size_t b_size)
{
	return a_size == b_size && memcmp(a, b, a_size) == 0;
}

/* By a signature: the exponent does not stand in what the decoder gives. */
static bool rsa_matches(const br_rsa_private_key *key,
			const br_rsa_public_key *public)
{
	static const unsigned char digest[br_sha256_SIZE] = "any will do";
	unsigned char signature[RSA_BITS_MAX / 8], found[br_sha256_SIZE];
	size_t size = (key->n_bitlen + 7) / 8;

	return size == public->nlen &&
	       br_rsa_pkcs1_sign_get_default()(BR_HASH_OID_SHA256, digest,
					       sizeof(digest), key,
					       signature) == 1 &&
	       br_rsa_pkcs1_vrfy_get_default()(
		       signature, size, BR_HASH_OID_SHA256, sizeof(digest),
		       public, found) == 1 &&
	       memcmp(digest, found, sizeof(digest)) == 0;
}

bool authority_key_matches(const struct authority_key *key,
			   const br_x509_pkey *public)
{
	if (public->key_type == BR_KEYTYPE_RSA)
		return key->signer.rsa &&
		       rsa_matches(key->signer.rsa, &public->key.rsa);
	return key->signer.ec && key->public.curve == public->key.ec.curve &&
	       same(key->public.q, key->public.qlen, public->key.ec.q,
		    public->key.ec.qlen);
}
