/* SPDX-License-Identifier: Apache-2.0 */
/* Public keys of certificates, and signatures made with them. */
#include <string.h>

#include "core/util.h"
#include "proxy/x509.h"

enum { RSA_BITS_MIN = 2048, RSA_BITS_MAX = 4096 };

static const unsigned char rsa_algorithm[] = { 0x06, 0x09, 0x2a, 0x86, 0x48,
					       0x86, 0xf7, 0x0d, 0x01, 0x01,
					       0x01, 0x05, 0x00 };

#define EC_ALGORITHM 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01

static const struct {
	unsigned char algorithm[20];
	unsigned char size;
	unsigned char point; /* bytes of one, uncompressed */
	int curve;
} curves[] = {
	{ { EC_ALGORITHM, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01,
	    0x07 },
	  19,
	  65,
	  BR_EC_secp256r1 },
	{ { EC_ALGORITHM, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x22 },
	  16,
	  97,
	  BR_EC_secp384r1 },
	{ { EC_ALGORITHM, 0x06, 0x05, 0x2b, 0x81, 0x04, 0x00, 0x23 },
	  16,
	  133,
	  BR_EC_secp521r1 },
};

static bool same(struct der a, const unsigned char *bytes, size_t size)
{
	return a.size == size && memcmp(a.data, bytes, size) == 0;
}

static size_t bits_of(struct der number)
{
	size_t bits = number.size * 8;

	for (unsigned int mask = 0x80; mask && !(number.data[0] & mask);
	     mask >>= 1)
		bits--;
	return bits;
}

static const char *read_rsa(struct der bytes, br_x509_pkey *key)
{
	struct der content, modulus, exponent;

	if (!der_take(&bytes, DER_SEQUENCE, &content) || bytes.size ||
	    !der_natural(&content, &modulus) ||
	    !der_natural(&content, &exponent) || content.size)
		return "its RSA key is malformed";
	if (bits_of(modulus) < RSA_BITS_MIN)
		return "its RSA key has less than 2048 bits";
	if (bits_of(modulus) > RSA_BITS_MAX)
		return "its RSA key has more than 4096 bits, which is not "
		       "supported";
	/* 1 would make any signature good. */
	if (exponent.size > 8 || !(exponent.data[exponent.size - 1] & 1) ||
	    (exponent.size == 1 && exponent.data[0] == 1))
		return "its RSA key has a bad exponent";
	key->key_type = BR_KEYTYPE_RSA;
	key->key.rsa = (br_rsa_public_key){
		.n = (unsigned char *)(uintptr_t)modulus.data,
		.nlen = modulus.size,
		.e = (unsigned char *)(uintptr_t)exponent.data,
		.elen = exponent.size,
	};
	return NULL;
}

const char *x509_key(const struct x509 *cert, br_x509_pkey *key)
{
	if (same(cert->key_algorithm, rsa_algorithm, sizeof(rsa_algorithm)))
		return read_rsa(cert->key, key);
	for (size_t i = 0; i < ARRAY_SIZE(curves); i++) {
		if (!same(cert->key_algorithm, curves[i].algorithm,
			  curves[i].size))
			continue;
		if (cert->key.size != curves[i].point ||
		    cert->key.data[0] != 0x04)
			return "its EC key is malformed";
		key->key_type = BR_KEYTYPE_EC;
		key->key.ec = (br_ec_public_key){
			.curve = curves[i].curve,
			.q = (unsigned char *)(uintptr_t)cert->key.data,
			.qlen = cert->key.size,
		};
		return NULL;
	}
	return "its key is of a kind that is not supported";
}

static const struct {
	const br_hash_class *hash;
	const unsigned char *oid; /* as br_rsa_pkcs1_vrfy wants it */
	int key_type;
} methods[] = {
	[X509_RSA_SHA256] = { &br_sha256_vtable, BR_HASH_OID_SHA256,
			      BR_KEYTYPE_RSA },
	[X509_RSA_SHA384] = { &br_sha384_vtable, BR_HASH_OID_SHA384,
			      BR_KEYTYPE_RSA },
	[X509_RSA_SHA512] = { &br_sha512_vtable, BR_HASH_OID_SHA512,
			      BR_KEYTYPE_RSA },
	[X509_ECDSA_SHA256] = { &br_sha256_vtable, NULL, BR_KEYTYPE_EC },
	[X509_ECDSA_SHA384] = { &br_sha384_vtable, NULL, BR_KEYTYPE_EC },
	[X509_ECDSA_SHA512] = { &br_sha512_vtable, NULL, BR_KEYTYPE_EC },
};

bool x509_signed_by(const struct x509 *cert, const br_x509_pkey *key)
{
	const br_hash_class *hash = methods[cert->signed_by].hash;
	unsigned char digest[64], found[64];
	br_hash_compat_context context;
	size_t size;

	if (!hash || methods[cert->signed_by].key_type != key->key_type)
		return false;
	hash->init(&context.vtable);
	hash->update(&context.vtable, cert->signed_part.data,
		     cert->signed_part.size);
	hash->out(&context.vtable, digest);
	size = hash->desc >> BR_HASHDESC_OUT_OFF & BR_HASHDESC_OUT_MASK;
	if (key->key_type == BR_KEYTYPE_EC)
		return br_ecdsa_vrfy_asn1_get_default()(
			       br_ec_get_default(), digest, size, &key->key.ec,
			       cert->signature.data, cert->signature.size) == 1;
	return br_rsa_pkcs1_vrfy_get_default()(
		       cert->signature.data, cert->signature.size,
		       methods[cert->signed_by].oid, size, &key->key.rsa,
		       found) == 1 &&
	       memcmp(digest, found, size) == 0;
}
