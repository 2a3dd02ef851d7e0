/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and signs certificates (RFC 5280). */
#include "proxy/x509_write.h"

#include <arpa/inet.h>
#include <string.h>

#include "proxy/der_write.h"
#include "proxy/x509.h"

/* ub-common-name */
enum { COMMON_NAME_MAX = 64 };

#define OID(...)                     \
	{                            \
		DER_OID, __VA_ARGS__ \
	}

/* Elements as they are written, with their head. */
static const unsigned char id_common_name[] = OID(3, 0x55, 0x04, 0x03);
static const unsigned char id_organization[] = OID(3, 0x55, 0x04, 0x0a);
static const unsigned char id_key_id[] = OID(3, 0x55, 0x1d, 14);
static const unsigned char id_key_usage[] = OID(3, 0x55, 0x1d, 15);
static const unsigned char id_names[] = OID(3, 0x55, 0x1d, 17);
static const unsigned char id_basic[] = OID(3, 0x55, 0x1d, 19);
static const unsigned char id_issuer_key_id[] = OID(3, 0x55, 0x1d, 35);
static const unsigned char id_purposes[] = OID(3, 0x55, 0x1d, 37);
static const unsigned char server_auth[] =
	OID(8, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01);
static const unsigned char critical[] = { DER_BOOLEAN, 1, 0xff };
/* id-ecPublicKey, prime256v1 */
static const unsigned char p256[] = { DER_SEQUENCE, 0x13, 0x06, 0x07, 0x2a,
				      0x86,	    0x48, 0xce, 0x3d, 0x02,
				      0x01,	    0x06, 0x08, 0x2a, 0x86,
				      0x48,	    0xce, 0x3d, 0x03, 0x01,
				      0x07 };
static const unsigned char rsa_sha256[] = { DER_SEQUENCE, 0x0d, 0x06, 0x09,
					    0x2a,	  0x86, 0x48, 0x86,
					    0xf7,	  0x0d, 0x01, 0x01,
					    0x0b,	  0x05, 0x00 };
/* ecdsa-with-SHA256, -384, -512 differ in the last byte: 2, 3, 4. */
static const unsigned char ecdsa_sha[] = { DER_SEQUENCE, 0x0a, 0x06, 0x08,
					   0x2a,	 0x86, 0x48, 0xce,
					   0x3d,	 0x04, 0x03 };

/* Content of the extensions that are always the same. */
static const unsigned char ca_basic[] = {
	DER_SEQUENCE, 6, DER_BOOLEAN, 1, 0xff, DER_INTEGER, 1, 0
};
static const unsigned char leaf_basic[] = { DER_SEQUENCE, 0 };
/* keyCertSign, cRLSign; digitalSignature */
static const unsigned char ca_usage[] = { DER_BITS, 2, 1, 0x06 };
static const unsigned char leaf_usage[] = { DER_BITS, 2, 7, 0x80 };

void x509_key_id(struct der key, unsigned char *id)
{
	unsigned char digest[br_sha256_SIZE];
	br_sha256_context context;

	br_sha256_init(&context);
	br_sha256_update(&context, key.data, key.size);
	br_sha256_out(&context, digest);
	memcpy(id, digest, X509_KEY_ID_SIZE);
}

/* What was written since @end becomes an extension's value. */
static void end_extension(struct der_out *out, const unsigned char *id,
			  size_t id_size, bool is_critical,
			  const unsigned char *end)
{
	der_head(out, DER_OCTETS, end);
	if (is_critical)
		der_put(out, critical, sizeof(critical));
	der_put(out, id, id_size);
	der_head(out, DER_SEQUENCE, end);
}

static void put_fixed(struct der_out *out, const unsigned char *id,
		      size_t id_size, bool is_critical, const void *value,
		      size_t size)
{
	const unsigned char *end = out->at;

	der_put(out, value, size);
	end_extension(out, id, id_size, is_critical, end);
}

static void put_purposes(struct der_out *out)
{
	const unsigned char *end = out->at;

	der_put(out, server_auth, sizeof(server_auth));
	der_head(out, DER_SEQUENCE, end);
	end_extension(out, id_purposes, sizeof(id_purposes), false, end);
}

/* Critical where the subject is empty (4.2.1.6). */
static void put_names(struct der_out *out, const struct x509_draft *draft)
{
	const unsigned char *end = out->at;
	unsigned char address[16];

	if (inet_pton(AF_INET, draft->host, address) == 1)
		der_put_all(out, X509_ADDRESS, address, 4);
	else if (inet_pton(AF_INET6, draft->host, address) == 1)
		der_put_all(out, X509_ADDRESS, address, 16);
	else
		der_put_all(out, X509_DNS, draft->host, strlen(draft->host));
	der_head(out, DER_SEQUENCE, end);
	end_extension(out, id_names, sizeof(id_names), !draft->common_name,
		      end);
}

static void put_key_ids(struct der_out *out, const struct x509_draft *draft)
{
	const unsigned char *end = out->at;
	unsigned char id[X509_KEY_ID_SIZE];

	if (draft->issuer_key_id.size) {
		der_put_all(out, DER_CONTEXT | 0, draft->issuer_key_id.data,
			    draft->issuer_key_id.size);
		der_head(out, DER_SEQUENCE, end);
		end_extension(out, id_issuer_key_id, sizeof(id_issuer_key_id),
			      false, end);
		end = out->at;
	}
	x509_key_id((struct der){ draft->key->q, draft->key->qlen }, id);
	der_put_all(out, DER_OCTETS, id, sizeof(id));
	end_extension(out, id_key_id, sizeof(id_key_id), false, end);
}

static void put_extensions(struct der_out *out, const struct x509_draft *draft)
{
	const unsigned char *end = out->at;
	bool leaf = draft->host != NULL;

	if (leaf) {
		put_names(out, draft);
		put_purposes(out);
	}
	put_key_ids(out, draft);
	put_fixed(out, id_key_usage, sizeof(id_key_usage), true,
		  leaf ? leaf_usage : ca_usage, sizeof(leaf_usage));
	put_fixed(out, id_basic, sizeof(id_basic), true,
		  leaf ? leaf_basic : ca_basic,
		  leaf ? sizeof(leaf_basic) : sizeof(ca_basic));
	der_head(out, DER_SEQUENCE, end);
	der_head(out, DER_CONTEXT | DER_CONSTRUCTED | 3, end);
}

static void put_key(struct der_out *out, const br_ec_public_key *key)
{
	const unsigned char *end = out->at;

	der_put(out, key->q, key->qlen);
	der_put_byte(out, 0);
	der_head(out, DER_BITS, end);
	der_put(out, p256, sizeof(p256));
	der_head(out, DER_SEQUENCE, end);
}

static void put_name_part(struct der_out *out, const unsigned char *id,
			  size_t id_size, const char *value)
{
	const unsigned char *end = out->at;

	der_put_all(out, DER_UTF8, value, strlen(value));
	der_put(out, id, id_size);
	der_head(out, DER_SEQUENCE, end);
	der_head(out, DER_SET, end);
}

static void put_subject(struct der_out *out, const struct x509_draft *draft)
{
	const unsigned char *end = out->at;

	if (draft->common_name && strlen(draft->common_name) > COMMON_NAME_MAX)
		out->failed = true;
	if (draft->common_name)
		put_name_part(out, id_common_name, sizeof(id_common_name),
			      draft->common_name);
	if (draft->organization)
		put_name_part(out, id_organization, sizeof(id_organization),
			      draft->organization);
	der_head(out, DER_SEQUENCE, end);
}

static void put_validity(struct der_out *out, const struct x509_draft *draft)
{
	const unsigned char *end = out->at;

	der_put_time(out, draft->not_after);
	der_put_time(out, draft->not_before);
	der_head(out, DER_SEQUENCE, end);
}

static const br_hash_class *hash_of(const struct x509_signer *signer)
{
	if (signer->ec && signer->ec->curve == BR_EC_secp384r1)
		return &br_sha384_vtable;
	if (signer->ec && signer->ec->curve == BR_EC_secp521r1)
		return &br_sha512_vtable;
	return &br_sha256_vtable;
}

static void put_algorithm(struct der_out *out, const struct x509_signer *signer)
{
	const br_hash_class *hash = hash_of(signer);

	if (signer->rsa) {
		der_put(out, rsa_sha256, sizeof(rsa_sha256));
		return;
	}
	der_put_byte(out, hash == &br_sha256_vtable   ? 2
			  : hash == &br_sha384_vtable ? 3
						      : 4);
	der_put(out, ecdsa_sha, sizeof(ecdsa_sha));
}

static void put_signed_part(struct der_out *out, const struct x509_draft *draft,
			    const struct x509_signer *signer)
{
	static const unsigned char version3[] = { 0xa0, 3, DER_INTEGER, 1, 2 };
	const unsigned char *end = out->at;

	put_extensions(out, draft);
	put_key(out, draft->key);
	put_subject(out, draft);
	put_validity(out, draft);
	if (draft->issuer.size)
		der_put(out, draft->issuer.data, draft->issuer.size);
	else
		put_subject(out, draft);
	put_algorithm(out, signer);
	der_put_natural(out, draft->serial, X509_SERIAL_SIZE);
	der_put(out, version3, sizeof(version3));
	der_head(out, DER_SEQUENCE, end);
}

/* Return: the signature's size, 0 when there is none. */
static size_t sign(const struct x509_signer *signer, const unsigned char *data,
		   size_t size, unsigned char signature[512])
{
	const br_hash_class *hash = hash_of(signer);
	br_hash_compat_context context;
	unsigned char digest[64];

	hash->init(&context.vtable);
	hash->update(&context.vtable, data, size);
	hash->out(&context.vtable, digest);
	if (signer->ec)
		return br_ecdsa_sign_asn1_get_default()(br_ec_get_default(),
							hash, digest,
							signer->ec, signature);
	if (!br_rsa_pkcs1_sign_get_default()(BR_HASH_OID_SHA256, digest,
					     br_sha256_SIZE, signer->rsa,
					     signature))
		return 0;
	return (signer->rsa->n_bitlen + 7) / 8;
}

size_t x509_write(const struct x509_draft *draft,
		  const struct x509_signer *signer, unsigned char *out)
{
	unsigned char memory[X509_WRITE_MAX], signature[512];
	unsigned char *end = memory + sizeof(memory);
	struct der_out whole = { memory, end, false };
	size_t signed_size, size;

	/* @out holds what is signed until the whole goes over it. */
	put_signed_part(&whole, draft, signer);
	signed_size = (size_t)(end - whole.at);
	if (whole.failed || signed_size > X509_WRITE_MAX - 1024)
		return 0;
	memcpy(out, whole.at, signed_size);
	size = sign(signer, out, signed_size, signature);
	if (!size)
		return 0;
	whole.at = end;
	der_put(&whole, signature, size);
	der_put_byte(&whole, 0);
	der_head(&whole, DER_BITS, end);
	put_algorithm(&whole, signer);
	der_put(&whole, out, signed_size);
	der_head(&whole, DER_SEQUENCE, end);
	size = (size_t)(end - whole.at);
	memcpy(out, whole.at, size);
	return whole.failed ? 0 : size;
}
