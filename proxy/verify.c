/* SPDX-License-Identifier: Apache-2.0 */
/* Verifies the certificate chain of an upstream server. */
#include "proxy/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proxy/verify_path.h"

static struct verify *of(const br_x509_class **context)
{
	return (struct verify *)(void *)context;
}

static bool __attribute__((format(printf, 3, 4)))
fail(struct verify *verify, unsigned int error, const char *format, ...)
{
	va_list arguments;

	if (verify->error)
		return false;
	verify->error = error;
	va_start(arguments, format);
	vsnprintf(verify->reason, sizeof(verify->reason), format, arguments);
	va_end(arguments);
	return false;
}

/* The name comes from verify_init(): BearSSL gives none for an address. */
static void start_chain(const br_x509_class **context, const char *server_name)
{
	struct verify *verify = of(context);

	(void)server_name;
	verify->size = verify->count = 0;
	verify->error = verify->usages = 0;
	verify->key = (br_x509_pkey){ 0 };
	verify->reason[0] = '\0';
}

static bool reserve(struct verify *verify, size_t size)
{
	unsigned char *bytes;

	if (size <= verify->capacity)
		return true;
	size = size < 4096 ? 4096 : size;
	bytes = realloc(verify->bytes, size);
	if (!bytes)
		return fail(verify, BR_ERR_X509_LIMIT_EXCEEDED,
			    "there is no memory for its certificates");
	verify->bytes = bytes;
	verify->capacity = size;
	return true;
}

static void start_cert(const br_x509_class **context, uint32_t length)
{
	struct verify *verify = of(context);

	if (verify->error)
		return;
	if (verify->count == VERIFY_CERTS_MAX ||
	    length > VERIFY_BYTES_MAX - verify->size) {
		fail(verify, BR_ERR_X509_LIMIT_EXCEEDED,
		     "it sent more certificates than are looked at");
		return;
	}
	/* Never nothing: an empty certificate has an address, too. */
	reserve(verify, verify->size + length + 1);
}

static void append(const br_x509_class **context, const unsigned char *data,
		   size_t size)
{
	struct verify *verify = of(context);

	if (verify->error || size == 0)
		return;
	if (size > verify->capacity - verify->size) {
		fail(verify, BR_ERR_X509_LIMIT_EXCEEDED,
		     "a certificate is longer than was said");
		return;
	}
	memcpy(verify->bytes + verify->size, data, size);
	verify->size += size;
}

static void end_cert(const br_x509_class **context)
{
	struct verify *verify = of(context);

	if (!verify->error)
		verify->ends[verify->count++] = verify->size;
}

/* Those that can't be read are of no use to a chain; the first one must be. */
static size_t read_all(struct verify *verify, struct x509 *certs)
{
	size_t count = 0, start = 0;
	const char *why;

	for (size_t i = 0; i < verify->count; i++) {
		why = x509_read(&certs[count], verify->bytes + start,
				verify->ends[i] - start);
		start = verify->ends[i];
		if (!why) {
			count++;
		} else if (i == 0) {
			fail(verify, BR_ERR_X509_INVALID_VALUE,
			     "its certificate can't be read: %s", why);
			return 0;
		}
	}
	return count;
}

static bool check_name(struct verify *verify, const struct x509 *cert)
{
	char names[240];

	if (verify->host[0] && x509_names_host(cert, verify->host))
		return true;
	x509_names_text(cert, names, sizeof(names));
	if (names[0])
		return fail(verify, BR_ERR_X509_BAD_SERVER_NAME,
			    "its certificate is for another name: %s", names);
	x509_subject_text(cert->subject, names, sizeof(names));
	return fail(verify, BR_ERR_X509_BAD_SERVER_NAME,
		    "its certificate names no host: it has no subjectAltName, "
		    "and the subject %s is no host's name",
		    names);
}

static unsigned int usages_of(const struct x509 *cert, const br_x509_pkey *key)
{
	uint32_t exchange = key->key_type == BR_KEYTYPE_RSA
				    ? X509_KEY_ENCIPHERMENT
				    : X509_KEY_AGREEMENT;
	unsigned int usages = 0;

	if (!cert->has_key_usage)
		return BR_KEYTYPE_SIGN | BR_KEYTYPE_KEYX;
	if (cert->key_usage & X509_DIGITAL_SIGNATURE)
		usages |= BR_KEYTYPE_SIGN;
	if (cert->key_usage & exchange)
		usages |= BR_KEYTYPE_KEYX;
	return usages;
}

static bool check_server(struct verify *verify, const struct x509 *cert,
			 br_x509_pkey *key)
{
	const char *why = x509_key(cert, key);

	if (why)
		return fail(verify, BR_ERR_X509_WEAK_PUBLIC_KEY,
			    "its certificate is no good: %s", why);
	if (cert->unknown)
		return fail(verify, BR_ERR_X509_CRITICAL_EXTENSION,
			    "its certificate has a critical extension that is "
			    "not understood");
	if (cert->has_purposes && !(cert->purposes & X509_SERVER_AUTH))
		return fail(verify, BR_ERR_X509_FORBIDDEN_KEY_USAGE,
			    "its certificate is not one for servers "
			    "(extKeyUsage)");
	verify->usages = usages_of(cert, key);
	if (!verify->usages)
		return fail(verify, BR_ERR_X509_FORBIDDEN_KEY_USAGE,
			    "its certificate is not one for TLS (keyUsage)");
	return true;
}

/* The key must outlive the chain. */
static void keep_key(struct verify *verify, const br_x509_pkey *key)
{
	unsigned char *copy = verify->key_data;

	verify->key = *key;
	if (key->key_type == BR_KEYTYPE_EC) {
		memcpy(copy, key->key.ec.q, key->key.ec.qlen);
		verify->key.key.ec.q = copy;
		return;
	}
	memcpy(copy, key->key.rsa.n, key->key.rsa.nlen);
	verify->key.key.rsa.n = copy;
	copy += key->key.rsa.nlen;
	memcpy(copy, key->key.rsa.e, key->key.rsa.elen);
	verify->key.key.rsa.e = copy;
}

/* 4096 bits and an exponent of 8 bytes, by x509_key(). */
_Static_assert(VERIFY_KEY_MAX >= 512 + 8, "a key must fit");

static void check_chain(struct verify *verify, const struct x509 *certs,
			size_t count)
{
	int64_t now = verify->now ? verify->now : (int64_t)time(NULL);
	struct verify_failure failure = { 0 };
	br_x509_pkey key;

	if (!check_server(verify, &certs[0], &key) ||
	    !check_name(verify, &certs[0]))
		return;
	if (verify_valid(&certs[0], now, "its certificate", &failure) &&
	    verify_path(verify->trust, certs, count, now, &failure))
		keep_key(verify, &key);
	else if (failure.error)
		fail(verify, failure.error, "%s", failure.text);
}

static unsigned int end_chain(const br_x509_class **context)
{
	struct verify *verify = of(context);
	struct x509 certs[VERIFY_CERTS_MAX];
	size_t count = 0;

	if (!verify->error && !verify->count)
		fail(verify, BR_ERR_X509_EMPTY_CHAIN, "it sent no certificate");
	if (!verify->error)
		count = read_all(verify, certs);
	if (count)
		check_chain(verify, certs, count);
	/* Whatever was missed above: no key, no trust. */
	if (!verify->key.key_type)
		fail(verify, BR_ERR_X509_NOT_TRUSTED, "it is not trusted");
	free(verify->bytes);
	verify->bytes = NULL;
	verify->size = verify->capacity = 0;
	return verify->error;
}

static const br_x509_pkey *get_pkey(const br_x509_class *const *context,
				    unsigned int *usages)
{
	const struct verify *verify = (const void *)context;

	if (verify->error || !verify->key.key_type)
		return NULL;
	if (usages)
		*usages = verify->usages;
	return &verify->key;
}

static const br_x509_class verify_class = {
	.context_size = sizeof(struct verify),
	.start_chain = start_chain,
	.start_cert = start_cert,
	.append = append,
	.end_cert = end_cert,
	.end_chain = end_chain,
	.get_pkey = get_pkey,
};

void verify_init(struct verify *verify, const struct trust *trust,
		 const char *host)
{
	*verify = (struct verify){ .class = &verify_class, .trust = trust };
	if (host && strlen(host) <= VERIFY_HOST_MAX)
		strcpy(verify->host, host);
}

void verify_free(struct verify *verify)
{
	if (!verify)
		return;
	free(verify->bytes);
	verify->bytes = NULL;
	verify->size = verify->capacity = verify->count = 0;
}

const char *verify_reason(const struct verify *verify)
{
	return verify->reason;
}
