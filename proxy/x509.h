/* SPDX-License-Identifier: Apache-2.0 */
/* Reads certificates (RFC 5280), and what their names cover. */
#ifndef SRT_PROXY_X509_H
#define SRT_PROXY_X509_H

#include <bearssl.h>

#include "proxy/der.h"
#include "proxy/text.h"

/* Bits of x509.key_usage, as der_flags() gives them. */
enum {
	X509_DIGITAL_SIGNATURE = 1 << 0,
	X509_KEY_ENCIPHERMENT = 1 << 2,
	X509_KEY_AGREEMENT = 1 << 4,
	X509_KEY_CERT_SIGN = 1 << 5,
};

/* What extKeyUsage lists. */
enum { X509_SERVER_AUTH = 1, X509_ANY_USAGE = 2 };

/* Tags of GeneralName. */
enum {
	X509_DNS = DER_CONTEXT | 2,
	X509_DIRECTORY = DER_CONTEXT | DER_CONSTRUCTED | 4,
	X509_ADDRESS = DER_CONTEXT | 7,
};

enum x509_signature {
	X509_UNKNOWN_SIGNATURE,
	X509_WEAK_SIGNATURE, /* by SHA-1 or older */
	X509_RSA_SHA256,
	X509_RSA_SHA384,
	X509_RSA_SHA512,
	X509_ECDSA_SHA256,
	X509_ECDSA_SHA384,
	X509_ECDSA_SHA512,
};

/**
 * struct x509 - a certificate that was read; all of it borrowed from its bytes
 * @issuer, @subject: whole names, with their head
 * @key: the subjectPublicKey; @key_algorithm: the content of its algorithm
 * @names: the GeneralNames of subjectAltName, empty when there are none
 * @constraints: the content of nameConstraints
 * @key_id: of subjectKeyIdentifier
 * @path_length: -1 for none
 * @unknown: has a critical extension that isn't understood here
 */
struct x509 {
	struct der whole;
	struct der signed_part;
	struct der issuer;
	struct der subject;
	struct der key_info; /* SubjectPublicKeyInfo, with its head */
	struct der key_algorithm;
	struct der key;
	struct der signature;
	struct der names;
	struct der constraints;
	struct der key_id;
	int64_t not_before;
	int64_t not_after;
	enum x509_signature signed_by;
	uint32_t key_usage;
	unsigned int purposes;
	int64_t path_length;
	unsigned int seen; /* extensions, for x509.c */
	bool version3;
	bool ca;
	bool has_key_usage;
	bool has_purposes;
	bool has_names;
	bool has_constraints;
	bool unknown;
};

/**
 * x509_read() - read one certificate, all of the bytes
 * @data: borrowed for as long as @out is used
 * Return: NULL, or what is wrong with it (static text).
 */
const char *x509_read(struct x509 *out, const unsigned char *data, size_t size);

/** x509_self_issued() - is it its own issuer, by name? */
bool x509_self_issued(const struct x509 *cert);

/**
 * x509_key() - its public key, borrowed from its bytes
 * Return: NULL, or why it can't be used: unknown kind, RSA below 2048 bits or
 * over 4096, not one of P-256, P-384, P-521 (static text).
 */
const char *x509_key(const struct x509 *cert, br_x509_pkey *key);

/** x509_signed_by() - was it signed with this key? Checks the signature only */
bool x509_signed_by(const struct x509 *cert, const br_x509_pkey *key);

/**
 * x509_may_sign() - may it sign the certificates of servers?
 * Return: NULL, or why not (static text).
 */
const char *x509_may_sign(const struct x509 *cert);

/** x509_names_host() - does its subjectAltName hold this host? */
bool x509_names_host(const struct x509 *cert, const char *host);

/**
 * x509_allows() - are @cert's names within @issuer's nameConstraints?
 *
 * Kinds of names that aren't understood here are refused where they are
 * constrained.
 */
bool x509_allows(const struct x509 *issuer, const struct x509 *cert);

/**
 * x509_names_text() - the hosts it names, for a person: "a.test, b.test"
 *
 * Printable ASCII; at most a few, then "…" spelled as dots.
 */
void x509_names_text(const struct x509 *cert, char *text, size_t size);

/** x509_subject_text() - its common name, else organisation, likewise */
void x509_subject_text(struct der name, char *text, size_t size);

#endif
