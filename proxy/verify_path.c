/* SPDX-License-Identifier: Apache-2.0 */
/* The way from a server's certificate to a root. */
#include "proxy/verify_path.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

enum { NAME_SIZE = 80 };

/*
 * @path: from the server's certificate up, as far as it is right by itself
 * @used: of @certs, by bits
 */
struct search {
	const struct trust *trust;
	const struct x509 *certs;
	size_t count;
	int64_t now;
	const struct x509 *path[VERIFY_CERTS_MAX + 1];
	size_t depth;
	unsigned int used;
	unsigned int signatures;
	struct verify_failure *failure;
};

_Static_assert(VERIFY_CERTS_MAX < 32, "struct search.used has bits for all");

/* The first thing that is wrong is told, unless it is just a missing issuer. */
static bool __attribute__((format(printf, 4, 5)))
fail(struct verify_failure *failure, unsigned int error, bool vague,
     const char *format, ...)
{
	va_list arguments;

	if (failure->error && (vague || !failure->vague))
		return false;
	failure->error = error;
	failure->vague = vague;
	va_start(arguments, format);
	vsnprintf(failure->text, sizeof(failure->text), format, arguments);
	va_end(arguments);
	return false;
}

bool verify_valid(const struct x509 *cert, int64_t now, const char *what,
		  struct verify_failure *failure)
{
	bool early = now < cert->not_before;
	time_t time = (time_t)(early ? cert->not_before : cert->not_after);
	char date[40];
	struct tm tm;

	if (!early && now <= cert->not_after)
		return true;
	if (!gmtime_r(&time, &tm) ||
	    !strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm))
		snprintf(date, sizeof(date), "an odd day");
	return fail(failure, BR_ERR_X509_EXPIRED, false,
		    early ? "%s is not valid before %s" : "%s expired on %s",
		    what, date);
}

/* Those between it and the server's certificate (RFC 5280 4.2.1.9). */
static int64_t length_below(const struct search *search)
{
	int64_t length = 0;

	for (size_t i = 1; i < search->depth; i++)
		length += !x509_self_issued(search->path[i]);
	return length;
}

static bool constraints_hold(const struct search *search,
			     const struct x509 *issuer)
{
	for (size_t i = 0; i < search->depth; i++) {
		if (!x509_allows(issuer, search->path[i]))
			return false;
	}
	return true;
}

static const char *signature_trouble(const struct x509 *cert)
{
	if (cert->signed_by == X509_WEAK_SIGNATURE)
		return "SHA-1 or older, which is too weak";
	if (cert->signed_by == X509_UNKNOWN_SIGNATURE)
		return "an algorithm that is not supported";
	return NULL;
}

/* Did this CA, which may be one, sign the last of the path? */
static bool has_signed(struct search *search, const struct x509 *issuer,
		       const char *name)
{
	const struct x509 *last = search->path[search->depth - 1];
	const char *trouble = signature_trouble(last);
	br_x509_pkey key;

	if (trouble)
		return fail(search->failure, BR_ERR_X509_UNSUPPORTED, false,
			    "a certificate signed by %s is signed with %s",
			    name, trouble);
	trouble = x509_key(issuer, &key);
	if (trouble)
		return fail(search->failure, BR_ERR_X509_WEAK_PUBLIC_KEY, false,
			    "the certificate of %s is no good: %s", name,
			    trouble);
	if (search->signatures++ >= VERIFY_SIGNATURES_MAX)
		return fail(search->failure, BR_ERR_X509_LIMIT_EXCEEDED, false,
			    "its chain has too many ways to a root");
	if (!x509_signed_by(last, &key))
		return fail(search->failure, BR_ERR_X509_BAD_SIGNATURE, false,
			    "it was not signed by the %s that is known", name);
	return true;
}

/* Is this the issuer of the path's last one, and may it be? */
static bool is_issuer(struct search *search, const struct x509 *issuer)
{
	char name[NAME_SIZE], what[NAME_SIZE + 24];
	const char *trouble = x509_may_sign(issuer);

	x509_subject_text(issuer->subject, name, sizeof(name));
	snprintf(what, sizeof(what), "the certificate of %s", name);
	if (trouble)
		return fail(search->failure, BR_ERR_X509_NOT_CA, false,
			    "%s can't vouch for it: %s", what, trouble);
	if (!verify_valid(issuer, search->now, what, search->failure))
		return false;
	if (issuer->path_length >= 0 &&
	    issuer->path_length < length_below(search))
		return fail(search->failure, BR_ERR_X509_NOT_CA, false,
			    "%s allows no chain of this length", what);
	if (!constraints_hold(search, issuer))
		return fail(search->failure, BR_ERR_X509_NOT_TRUSTED, false,
			    "%s doesn't let it vouch for this name", what);
	return has_signed(search, issuer, name);
}

static bool tell_unknown(struct search *search)
{
	const struct x509 *last = search->path[search->depth - 1];
	char name[NAME_SIZE];

	x509_subject_text(last->issuer, name, sizeof(name));
	if (!x509_self_issued(last))
		return fail(search->failure, BR_ERR_X509_NOT_TRUSTED, true,
			    "its issuer %s is unknown: neither among the %zu "
			    "roots nor sent along",
			    name, trust_size(search->trust));
	if (search->depth == 1)
		return fail(search->failure, BR_ERR_X509_NOT_TRUSTED, true,
			    "it is self-signed and not among the roots");
	return fail(search->failure, BR_ERR_X509_NOT_TRUSTED, true,
		    "it leads to the root %s, which is not among ours", name);
}

static bool reaches_root(struct search *search)
{
	const struct x509 *last = search->path[search->depth - 1];
	const struct x509 *root;

	for (size_t i = 0; i < trust_size(search->trust); i++) {
		root = trust_root(search->trust, i);
		/* One that the user trusts by itself. */
		if (search->depth == 1 && der_equal(root->whole, last->whole))
			return true;
		if (der_equal(root->subject, last->issuer) &&
		    is_issuer(search, root))
			return true;
	}
	return false;
}

/* Recursion: as deep as there are certificates. */
static bool look_further(struct search *search)
{
	const struct x509 *last = search->path[search->depth - 1];
	const struct x509 *cert;

	if (reaches_root(search))
		return true;
	for (size_t i = 1; i < search->count; i++) {
		cert = &search->certs[i];
		if (search->used & 1U << i ||
		    !der_equal(cert->subject, last->issuer) ||
		    der_equal(cert->whole, last->whole) ||
		    !is_issuer(search, cert))
			continue;
		search->used |= 1U << i;
		search->path[search->depth++] = cert;
		if (look_further(search))
			return true;
		search->depth--;
		search->used &= ~(1U << i);
	}
	return tell_unknown(search);
}

bool verify_path(const struct trust *trust, const struct x509 *certs,
		 size_t count, int64_t now, struct verify_failure *failure)
{
	struct search search = { .trust = trust,
				 .certs = certs,
				 .count = count,
				 .now = now,
				 .path = { &certs[0] },
				 .depth = 1,
				 .used = 1,
				 .failure = failure };

	return look_further(&search);
}
