/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates for hosts, made when they are asked for and kept for a while. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proxy/authority_private.h"

/* Clocks of clients may be a day behind. */
enum { DAY = 24 * 60 * 60, LEAF_BEFORE = DAY, LEAF_AFTER = 7 * DAY };
enum { COMMON_NAME_MAX = 64, HOST_MAX = 253 };

static bool is_host(const char *name)
{
	unsigned char address[16];
	size_t size = strlen(name);

	if (size == 0 || size > HOST_MAX)
		return false;
	return inet_pton(AF_INET6, name, address) == 1 ||
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == size;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static size_t write_leaf(struct authority *authority, const char *name,
			 int64_t now, struct authority_made *made,
			 unsigned char *bytes)
{
	const struct x509 *ca = &authority->cert;
	unsigned char serial[X509_SERIAL_SIZE];
	struct x509_draft draft = {
		.serial = serial,
		.issuer = ca->subject,
		.common_name = strlen(name) <= COMMON_NAME_MAX ? name : NULL,
		.host = name,
		.not_before = now - LEAF_BEFORE,
		.not_after = earlier(now + LEAF_AFTER, ca->not_after),
		.key = &authority->leaf_key.public,
		.issuer_key_id = ca->key_id,
	};

	if (draft.not_before < ca->not_before)
		draft.not_before = ca->not_before;
	made->not_before = draft.not_before;
	/* One that ends with its CA can't be bettered. */
	made->renew = draft.not_after == ca->not_after ? ca->not_after
						       : draft.not_after - DAY;
	authority_serial(authority, serial);
	return x509_write(&draft, &authority->key.signer, bytes);
}

/* The leaf, then what stands between the CA and its root. */
static void fill_chain(struct authority *authority, struct authority_made *made)
{
	struct x509 cert;

	for (size_t i = 0;
	     i < authority->count && made->shown.count < AUTHORITY_CHAIN_MAX;
	     i++) {
		if (!x509_read(&cert, authority->certs[i].data,
			       authority->certs[i].data_len) &&
		    !x509_self_issued(&cert))
			made->chain[made->shown.count++] = authority->certs[i];
	}
	made->shown.chain = made->chain;
	made->shown.key = &authority->leaf_key.ec;
	made->shown.issuer_key_type =
		authority->key.signer.rsa ? BR_KEYTYPE_RSA : BR_KEYTYPE_EC;
}

static struct authority_made *make(struct authority *authority,
				   const char *name, int64_t now)
{
	unsigned char bytes[X509_WRITE_MAX];
	struct authority_made head = { 0 }, *made;
	size_t size = write_leaf(authority, name, now, &head, bytes);

	if (!size)
		return NULL;
	made = malloc(sizeof(*made) + size);
	if (!made)
		return NULL;
	*made = head;
	memcpy(made->bytes, bytes, size);
	strcpy(made->name, name);
	made->references = 1;
	made->chain[0] = (br_x509_certificate){ made->bytes, size };
	made->shown.count = 1;
	fill_chain(authority, made);
	return made;
}

/* Out of the list; the caller has its reference. */
static struct authority_made *take(struct authority *authority,
				   const char *name)
{
	struct authority_made **at, *made;

	for (at = &authority->leaves; (made = *at); at = &made->next) {
		if (strcmp(made->name, name) != 0)
			continue;
		*at = made->next;
		authority->kept--;
		return made;
	}
	return NULL;
}

static void put_first(struct authority *authority, struct authority_made *made)
{
	struct authority_made **last = &authority->leaves;

	made->next = authority->leaves;
	authority->leaves = made;
	if (++authority->kept <= AUTHORITY_LEAVES_MAX)
		return;
	while ((*last)->next)
		last = &(*last)->next;
	authority_leaf_put(&(*last)->shown);
	*last = NULL;
	authority->kept--;
}

static const char *trouble(const struct authority *authority, const char *name,
			   int64_t now)
{
	if (!is_host(name))
		return "the name is no host's";
	if (now < authority->cert.not_before)
		return "the CA's certificate is not valid yet";
	if (now >= authority->cert.not_after)
		return "the CA's certificate has expired";
	return NULL;
}

const struct authority_leaf *authority_leaf(struct authority *authority,
					    const char *name, const char **why)
{
	int64_t now = (int64_t)time(NULL);
	struct authority_made *made;

	*why = trouble(authority, name, now);
	if (*why)
		return NULL;
	made = take(authority, name);
	if (made && (now >= made->renew || now < made->not_before)) {
		authority_leaf_put(&made->shown);
		made = NULL;
	}
	if (!made)
		made = make(authority, name, now);
	if (!made) {
		*why = "its certificate could not be made";
		return NULL;
	}
	made->references++;
	put_first(authority, made);
	return &made->shown;
}

void authority_leaf_put(const struct authority_leaf *leaf)
{
	struct authority_made *made = (void *)(uintptr_t)leaf;

	if (made && --made->references == 0)
		free(made);
}
