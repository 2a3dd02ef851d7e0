/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of certificates and the verifier of chains. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "proxy/pem.h"
#include "proxy/verify.h"
#include "proxy/x509.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_text(const char *text, size_t size)
{
	check(memchr(text, '\0', size) != NULL);
	for (; *text; text++)
		check(*text >= ' ' && *text < 0x7f);
}

static void check_one(const unsigned char *data, size_t size)
{
	char small[16], text[240];
	struct x509 cert;
	br_x509_pkey key;

	if (x509_read(&cert, data, size))
		return;
	(void)x509_names_host(&cert, "a.test");
	(void)x509_names_host(&cert, "127.0.0.1");
	(void)x509_names_host(&cert, "fd00::1");
	(void)x509_may_sign(&cert);
	(void)x509_allows(&cert, &cert);
	if (!x509_key(&cert, &key))
		(void)x509_signed_by(&cert, &key);
	x509_names_text(&cert, text, sizeof(text));
	check_text(text, sizeof(text));
	x509_names_text(&cert, small, sizeof(small));
	check_text(small, sizeof(small));
	x509_subject_text(cert.subject, text, sizeof(text));
	check_text(text, sizeof(text));
}

/* The last certificate is a root as well. */
static struct trust *trust_with(const unsigned char *data, size_t size)
{
	struct trust *trust = trust_new();
	struct trust_count count;
	struct pbuf pem = { 0 };

	pem_write(&pem, "CERTIFICATE", data, size);
	check(trust && !trust_add(trust, pbuf_text(&pem), &count));
	pbuf_free(&pem);
	return trust;
}

/* Two bytes of length before each certificate; their bytes, from a copy of the
 * exact size. */
static bool next(const uint8_t **data, size_t *size, unsigned char **one,
		 size_t *one_size)
{
	if (*size < 2)
		return false;
	*one_size = (size_t)((*data)[0] << 8 | (*data)[1]);
	*data += 2;
	*size -= 2;
	if (*one_size > *size)
		*one_size = *size;
	*one = malloc(*one_size ? *one_size : 1);
	check(*one != NULL);
	memcpy(*one, *data, *one_size);
	*data += *one_size;
	*size -= *one_size;
	return true;
}

static void verify(const struct trust *trust, const uint8_t *data, size_t size,
		   const char *host)
{
	struct verify verify;
	const br_x509_pkey *key;
	unsigned char *one;
	unsigned int usages = 0, error;
	size_t one_size;

	verify_init(&verify, trust, host);
	verify.now = 1750000000;
	verify.class->start_chain(&verify.class, NULL);
	while (next(&data, &size, &one, &one_size)) {
		verify.class->start_cert(&verify.class, (uint32_t)one_size);
		verify.class->append(&verify.class, one, one_size);
		verify.class->end_cert(&verify.class);
		free(one);
	}
	error = verify.class->end_chain(&verify.class);
	key = verify.class->get_pkey(&verify.class, &usages);
	check(!error == (key != NULL) && !error == !*verify_reason(&verify));
	check(!key || usages);
	check_text(verify_reason(&verify), VERIFY_REASON_MAX);
	verify_free(&verify);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *at = data;
	struct trust *trust = NULL;
	size_t left = size, one_size;
	unsigned char *one;

	while (next(&at, &left, &one, &one_size)) {
		check_one(one, one_size);
		if (left < 2 && one_size)
			trust = trust_with(one, one_size);
		free(one);
	}
	if (!trust)
		trust = trust_new();
	check(trust != NULL);
	verify(trust, data, size, "a.test");
	verify(trust, data, size, "127.0.0.1");
	trust_free(trust);
	return 0;
}
