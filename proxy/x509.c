/* SPDX-License-Identifier: Apache-2.0 */
/* Reads certificates (RFC 5280). */
#include "proxy/x509.h"

#include <string.h>

#include "core/util.h"

#define OID(name, ...) static const unsigned char name[] = { __VA_ARGS__ }
#define ID_CE 0x55, 0x1d
#define PKIX 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07
#define PKCS1 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01
#define ECDSA 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04

OID(server_auth, PKIX, 0x03, 0x01);
OID(any_usage, ID_CE, 0x25, 0x00);

static bool is_oid(struct der oid, const unsigned char *bytes, size_t size)
{
	return oid.size == size && memcmp(oid.data, bytes, size) == 0;
}

/* Content of an AlgorithmIdentifier, by the whole of its spelling: parameters
 * are NULL with RSA and absent with ECDSA (RFC 4055 5, RFC 5758 3.2). */
static const struct {
	unsigned char bytes[16];
	unsigned char size;
	enum x509_signature kind;
} signatures[] = {
#define RSA_BY(n) { 0x06, 0x09, PKCS1, n, 0x05, 0x00 }, 13
#define ECDSA_BY(n) { 0x06, 0x08, ECDSA, 0x03, n }, 10
	{ RSA_BY(0x0b), X509_RSA_SHA256 },
	{ RSA_BY(0x0c), X509_RSA_SHA384 },
	{ RSA_BY(0x0d), X509_RSA_SHA512 },
	{ RSA_BY(0x02), X509_WEAK_SIGNATURE },
	{ RSA_BY(0x04), X509_WEAK_SIGNATURE },
	{ RSA_BY(0x05), X509_WEAK_SIGNATURE },
	{ ECDSA_BY(0x02), X509_ECDSA_SHA256 },
	{ ECDSA_BY(0x03), X509_ECDSA_SHA384 },
	{ ECDSA_BY(0x04), X509_ECDSA_SHA512 },
	{ { 0x06, 0x07, ECDSA, 0x01 }, 9, X509_WEAK_SIGNATURE },
};

static enum x509_signature signature_of(struct der algorithm)
{
	for (size_t i = 0; i < ARRAY_SIZE(signatures); i++) {
		if (is_oid(algorithm, signatures[i].bytes, signatures[i].size))
			return signatures[i].kind;
	}
	return X509_UNKNOWN_SIGNATURE;
}

static bool read_basic(struct x509 *cert, struct der whole)
{
	struct der value;
	uint32_t length;

	if (!der_take(&whole, DER_SEQUENCE, &value) || whole.size)
		return false;
	/* A default that is spelled out is no DER, but is common. */
	if (der_is(&value, DER_BOOLEAN) && !der_boolean(&value, &cert->ca))
		return false;
	if (value.size == 0)
		return true;
	if (!cert->ca || !der_small(&value, &length))
		return false;
	cert->path_length = length;
	return value.size == 0;
}

static bool read_key_usage(struct x509 *cert, struct der value)
{
	cert->has_key_usage = true;
	return der_flags(&value, &cert->key_usage) && value.size == 0;
}

static bool read_purposes(struct x509 *cert, struct der value)
{
	struct der list, oid;

	if (!der_take(&value, DER_SEQUENCE, &list) || value.size ||
	    list.size == 0)
		return false;
	cert->has_purposes = true;
	while (list.size) {
		if (!der_take(&list, DER_OID, &oid))
			return false;
		if (is_oid(oid, server_auth, sizeof(server_auth)))
			cert->purposes |= X509_SERVER_AUTH;
		if (is_oid(oid, any_usage, sizeof(any_usage)))
			cert->purposes |= X509_ANY_USAGE;
	}
	return true;
}

static bool read_names(struct x509 *cert, struct der value)
{
	struct der list, name;
	unsigned int tag;

	if (!der_take(&value, DER_SEQUENCE, &list) || value.size ||
	    list.size == 0)
		return false;
	cert->has_names = true;
	cert->names = list;
	while (list.size) {
		if (!der_any(&list, &tag, &name) || !(tag & DER_CONTEXT) ||
		    (tag == X509_ADDRESS && name.size != 4 && name.size != 16))
			return false;
	}
	return true;
}

static bool read_constraints(struct x509 *cert, struct der value)
{
	cert->has_constraints = true;
	return der_take(&value, DER_SEQUENCE, &cert->constraints) &&
	       value.size == 0;
}

static bool read_key_id(struct x509 *cert, struct der value)
{
	return der_take(&value, DER_OCTETS, &cert->key_id) && value.size == 0;
}

static bool pass_over(struct x509 *cert, struct der value)
{
	(void)cert;
	(void)value;
	return true;
}

/* Those that are understood, by the last byte of id-ce. Policies only say how
 * a certificate came to be (4.2.1.4); nothing here asks for one. */
static const struct {
	unsigned char id;
	bool (*read)(struct x509 *cert, struct der value);
} extensions[] = {
	{ 14, read_key_id }, { 15, read_key_usage },   { 17, read_names },
	{ 19, read_basic },  { 30, read_constraints }, { 32, pass_over },
	{ 35, pass_over },   { 37, read_purposes },
};

static bool take_extension(struct x509 *cert, struct der oid, bool critical,
			   struct der value)
{
	static const unsigned char id_ce[] = { ID_CE };

	for (size_t i = 0; i < ARRAY_SIZE(extensions); i++) {
		if (oid.size != 3 || memcmp(oid.data, id_ce, 2) != 0 ||
		    oid.data[2] != extensions[i].id)
			continue;
		if (cert->seen & 1U << i)
			return false;
		cert->seen |= 1U << i;
		return extensions[i].read(cert, value);
	}
	cert->unknown |= critical;
	return true;
}

static bool read_extensions(struct x509 *cert, struct der *rest)
{
	struct der outer, list, one, oid, value;
	bool critical;

	if (!der_take(rest, DER_CONTEXT | DER_CONSTRUCTED | 3, &outer) ||
	    !der_take(&outer, DER_SEQUENCE, &list) || outer.size)
		return false;
	while (list.size) {
		critical = false;
		if (!der_take(&list, DER_SEQUENCE, &one) ||
		    !der_take(&one, DER_OID, &oid) ||
		    (der_is(&one, DER_BOOLEAN) &&
		     !der_boolean(&one, &critical)) ||
		    !der_take(&one, DER_OCTETS, &value) || one.size ||
		    !take_extension(cert, oid, critical, value))
			return false;
	}
	return true;
}

static bool read_validity(struct x509 *cert, struct der *rest)
{
	struct der validity;

	return der_take(rest, DER_SEQUENCE, &validity) &&
	       der_time(&validity, &cert->not_before) &&
	       der_time(&validity, &cert->not_after) && validity.size == 0;
}

static bool read_key_info(struct x509 *cert, struct der *rest)
{
	struct der content, copy;

	if (!der_whole(rest, DER_SEQUENCE, &cert->key_info))
		return false;
	copy = cert->key_info;
	return der_take(&copy, DER_SEQUENCE, &content) &&
	       der_take(&content, DER_SEQUENCE, &cert->key_algorithm) &&
	       der_bytes(&content, &cert->key) && content.size == 0;
}

/* [0] EXPLICIT INTEGER: 0 (absent) is version 1, 2 is version 3 */
static bool read_version(struct x509 *cert, struct der *rest)
{
	struct der outer;
	uint32_t version = 0;

	if (der_is(rest, DER_CONTEXT | DER_CONSTRUCTED | 0) &&
	    (!der_take(rest, DER_CONTEXT | DER_CONSTRUCTED | 0, &outer) ||
	     !der_small(&outer, &version) || outer.size || version > 2))
		return false;
	cert->version3 = version == 2;
	return true;
}

static bool read_signed_part(struct x509 *cert, struct der *algorithm)
{
	struct der whole = cert->signed_part, rest, serial, unique;

	if (!der_take(&whole, DER_SEQUENCE, &rest) ||
	    !read_version(cert, &rest) ||
	    !der_take(&rest, DER_INTEGER, &serial) || serial.size == 0 ||
	    !der_take(&rest, DER_SEQUENCE, algorithm) ||
	    !der_whole(&rest, DER_SEQUENCE, &cert->issuer) ||
	    !read_validity(cert, &rest) ||
	    !der_whole(&rest, DER_SEQUENCE, &cert->subject) ||
	    !read_key_info(cert, &rest))
		return false;
	for (unsigned int tag = 1; tag <= 2; tag++) {
		if (der_is(&rest, DER_CONTEXT | tag) &&
		    !der_take(&rest, DER_CONTEXT | tag, &unique))
			return false;
	}
	if (cert->version3 && rest.size && !read_extensions(cert, &rest))
		return false;
	return rest.size == 0;
}

const char *x509_read(struct x509 *out, const unsigned char *data, size_t size)
{
	struct der from = { data, size }, content, inner, outer;

	*out = (struct x509){ .whole = from, .path_length = -1 };
	if (!der_take(&from, DER_SEQUENCE, &content) || from.size)
		return "it is no certificate, or not in DER";
	if (!der_whole(&content, DER_SEQUENCE, &out->signed_part) ||
	    !der_take(&content, DER_SEQUENCE, &outer) ||
	    !der_bytes(&content, &out->signature) || content.size ||
	    !read_signed_part(out, &inner))
		return "it is malformed";
	if (!der_equal(inner, outer))
		return "it names two signature algorithms";
	out->signed_by = signature_of(inner);
	return NULL;
}

bool x509_self_issued(const struct x509 *cert)
{
	return der_equal(cert->issuer, cert->subject);
}

const char *x509_may_sign(const struct x509 *cert)
{
	if (!cert->version3 || !cert->ca)
		return "it is not a CA's";
	if (cert->has_key_usage && !(cert->key_usage & X509_KEY_CERT_SIGN))
		return "its keyUsage doesn't let it sign certificates";
	if (cert->has_purposes && !cert->purposes)
		return "its extKeyUsage doesn't let it sign those of servers";
	if (cert->unknown)
		return "it has a critical extension that is not understood";
	return NULL;
}
