/* SPDX-License-Identifier: Apache-2.0 */
/* The CA of a run: made, or the user's. */
#include "proxy/authority.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "proxy/authority_private.h"
#include "proxy/pem.h"

/* Clocks of clients may be behind; a run may last. */
enum { DAY = 24 * 60 * 60, CA_BEFORE = 2 * DAY, CA_AFTER = 5 * 365 * DAY };

static bool seed(br_hmac_drbg_context *rng)
{
	unsigned char bytes[48];
	bool done = getrandom(bytes, sizeof(bytes), 0) == sizeof(bytes);

	if (done)
		br_hmac_drbg_init(rng, &br_sha256_vtable, bytes, sizeof(bytes));
	explicit_bzero(bytes, sizeof(bytes));
	return done;
}

void authority_serial(struct authority *authority, unsigned char *serial)
{
	br_hmac_drbg_generate(&authority->rng, serial, X509_SERIAL_SIZE);
	/* Positive, and never shorter. */
	serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
}

/* Takes a copy of the bytes as the next of its certificates. */
static int keep(struct authority *authority, const unsigned char *bytes,
		size_t size)
{
	unsigned char *copy = malloc(size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, size);
	authority->certs[authority->count++] =
		(br_x509_certificate){ .data = copy, .data_len = size };
	pem_write(&authority->pem, "CERTIFICATE", bytes, size);
	return authority->pem.failed ? -ENOMEM : 0;
}

static int make(struct authority *authority)
{
	unsigned char serial[X509_SERIAL_SIZE], bytes[X509_WRITE_MAX];
	int64_t now = (int64_t)time(NULL);
	struct x509_draft draft = {
		.serial = serial,
		.common_name = "srt-lua CA of one run",
		.organization = "srt-lua",
		.not_before = now - CA_BEFORE,
		.not_after = now + CA_AFTER,
		.key = &authority->key.public,
	};
	size_t size;

	if (!authority_key_make(&authority->key, &authority->rng.vtable))
		return -EIO;
	authority_serial(authority, serial);
	size = x509_write(&draft, &authority->key.signer, bytes);
	return size ? keep(authority, bytes, size) : -EIO;
}

static const char *keep_block(struct authority *authority,
			      const struct pem_block *block)
{
	unsigned char *bytes;
	struct x509 cert;
	const char *why;
	size_t size;

	if (authority->count == AUTHORITY_CHAIN_MAX)
		return "there are too many certificates in the CA's file";
	bytes = malloc(pem_size(block->body));
	if (!bytes)
		return "there is no memory";
	if (!pem_decode(block->body, bytes, &size))
		why = "the CA's certificate is not in base64, or has no end";
	else if (x509_read(&cert, bytes, size))
		why = "the CA's certificate is malformed";
	else
		why = keep(authority, bytes, size) ? "there is no memory"
						   : NULL;
	free(bytes);
	return why;
}

static const char *check(struct authority *authority)
{
	const struct x509 *cert = &authority->cert;
	int64_t now = (int64_t)time(NULL);
	br_x509_pkey public;

	if (!cert->version3 || !cert->ca)
		return "the certificate is not a CA's";
	if (x509_may_sign(cert))
		return "the CA's certificate doesn't let it sign certificates "
		       "of servers";
	if (now < cert->not_before)
		return "the CA's certificate is not valid yet";
	if (now > cert->not_after)
		return "the CA's certificate has expired";
	if (x509_key(cert, &public))
		return "the CA's certificate has a key that is too weak or of "
		       "a kind that is not supported";
	if (!authority_key_matches(&authority->key, &public))
		return "the key is not that of the CA's certificate, the first "
		       "one in its file";
	return NULL;
}

static const char *read_users(struct authority *authority,
			      struct proxy_text cert_pem,
			      struct proxy_text key_pem)
{
	struct pem_block block;
	const char *why;

	while (pem_next(&cert_pem, &block)) {
		why = pem_certificate(&block) ? keep_block(authority, &block)
					      : NULL;
		if (why)
			return why;
	}
	if (!authority->count)
		return "no CERTIFICATE block in PEM stands in the CA's file";
	return authority_key_read(&authority->key, key_pem);
}

static int fill(struct authority *authority, struct proxy_text cert_pem,
		struct proxy_text key_pem, const char **why)
{
	bool users = cert_pem.size || key_pem.size;
	int error = 0;

	*why = "there are no random bytes, or no memory";
	if (!seed(&authority->rng) ||
	    !authority_key_make(&authority->leaf_key, &authority->rng.vtable))
		return -EIO;
	if (users && (!cert_pem.size || !key_pem.size))
		*why = "a CA takes both a certificate and its key";
	else if (cert_pem.size > AUTHORITY_PEM_MAX ||
		 key_pem.size > AUTHORITY_PEM_MAX)
		*why = "the CA's files are too large";
	else if (users)
		*why = read_users(authority, cert_pem, key_pem);
	else
		error = make(authority);
	if (error || (users && *why))
		return error ? error : -EINVAL;
	*why = x509_read(&authority->cert, authority->certs[0].data,
			 authority->certs[0].data_len);
	if (!*why)
		*why = check(authority);
	return *why ? -EINVAL : 0;
}

int authority_new(struct authority **out, struct proxy_text cert_pem,
		  struct proxy_text key_pem, const char **why)
{
	struct authority *authority = calloc(1, sizeof(*authority));
	int error;

	if (!authority) {
		*why = "there is no memory";
		return -ENOMEM;
	}
	error = fill(authority, cert_pem, key_pem, why);
	if (error) {
		authority_free(authority);
		return error;
	}
	if (!authority->cert.key_id.size) {
		x509_key_id(authority->cert.key, authority->key_id);
		authority->cert.key_id =
			(struct der){ authority->key_id, X509_KEY_ID_SIZE };
	}
	*out = authority;
	return 0;
}

void authority_free(struct authority *authority)
{
	struct authority_made *made;

	if (!authority)
		return;
	while ((made = authority->leaves)) {
		authority->leaves = made->next;
		authority_leaf_put(&made->shown);
	}
	for (size_t i = 0; i < authority->count; i++)
		free(authority->certs[i].data);
	pbuf_free(&authority->pem);
	explicit_bzero(authority, sizeof(*authority));
	free(authority);
}

struct proxy_text authority_certificate(const struct authority *authority)
{
	return pbuf_text(&authority->pem);
}
