/* SPDX-License-Identifier: Apache-2.0 */
/* Into another user's store it is written without a question to anybody: the
 * profile is loaded, and its store opened by the identifier of the user.
 */
#include "core/windows/trust.h"

#include <errno.h>
#include <stdio.h>

#include <sddl.h>
#include <userenv.h>
#include <wincrypt.h>

#include "core/windows/account.h"

/* What our own certificates are found again by. */
static const wchar_t friendly[] = L"srt-lua";

static const CERT_CONTEXT *certificate(const char *file,
				       struct failure *failure)
{
	owned_ptr char *text = NULL;
	BYTE der[16384];
	DWORD size = sizeof(der);
	size_t length = 0;
	const CERT_CONTEXT *out;

	if (file_named(file, &text, &length, failure))
		return NULL;
	out = CryptStringToBinaryA(text, (DWORD)length,
				   CRYPT_STRING_BASE64HEADER, der, &size, NULL,
				   NULL)
		      ? CertCreateCertificateContext(X509_ASN_ENCODING, der,
						     size)
		      : NULL;
	if (!out)
		win_failed(failure, GetLastError(),
			   "%s holds no certificate in PEM", file);
	return out;
}

static bool hash(const CERT_CONTEXT *from, char out[FINGERPRINT_SIZE])
{
	BYTE bytes[32];
	DWORD size = sizeof(bytes);

	if (!CryptHashCertificate(0, CALG_SHA_256, 0, from->pbCertEncoded,
				  from->cbCertEncoded, bytes, &size))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

int trust_fingerprint(const char *file, char out[FINGERPRINT_SIZE],
		      struct failure *failure)
{
	const CERT_CONTEXT *from = certificate(file, failure);
	int error = 0;

	if (!from)
		return -EINVAL;
	if (!hash(from, out))
		error = failure_set(failure, 0, "%s can't be hashed", file);
	CertFreeCertificateContext(from);
	return error;
}

bool trust_has(const char *fingerprint)
{
	HCERTSTORE store = CertOpenStore(CERT_STORE_PROV_SYSTEM_W, 0, 0,
					 CERT_SYSTEM_STORE_CURRENT_USER |
						 CERT_STORE_READONLY_FLAG,
					 L"Root");
	const CERT_CONTEXT *at = NULL;
	char found[FINGERPRINT_SIZE] = "";

	while (store && (at = CertEnumCertificatesInStore(store, at)))
		if (hash(at, found) && strcmp(found, fingerprint) == 0)
			break;
	if (at)
		CertFreeCertificateContext(at);
	if (store)
		CertCloseStore(store, 0);
	return at != NULL;
}

static bool is_ours(const CERT_CONTEXT *at)
{
	wchar_t name[32];
	DWORD size = sizeof(name);

	return CertGetCertificateContextProperty(at, CERT_FRIENDLY_NAME_PROP_ID,
						 name, &size) &&
	       wcscmp(name, friendly) == 0;
}

static bool put(HCERTSTORE store, const CERT_CONTEXT *root)
{
	CRYPT_DATA_BLOB name = { sizeof(friendly), (BYTE *)friendly };
	const CERT_CONTEXT *at = NULL;

	while ((at = CertEnumCertificatesInStore(store, at)))
		if (is_ours(at)) {
			/* Which frees it; so the search begins anew. */
			CertDeleteCertificateFromStore(at);
			at = NULL;
		}
	return CertSetCertificateContextProperty(
		       root, CERT_FRIENDLY_NAME_PROP_ID, 0, &name) &&
	       CertAddCertificateContextToStore(
		       store, root, CERT_STORE_ADD_REPLACE_EXISTING, NULL);
}

static int put_for(const struct sid *account, const CERT_CONTEXT *root,
		   struct failure *failure)
{
	owned_local wchar_t *sid = NULL;
	wchar_t name[256];
	HCERTSTORE store;
	bool done;

	if (!ConvertSidToStringSidW((void *)account->bytes, &sid))
		return win_failed(failure, GetLastError(), "the account");
	swprintf(name, ARRAY_SIZE(name), L"%ls\\Root", sid);
	store = CertOpenStore(CERT_STORE_PROV_SYSTEM_W, 0, 0,
			      CERT_SYSTEM_STORE_USERS, name);
	done = store && put(store, root);
	if (!done)
		win_failed(failure, GetLastError(), "the account's roots");
	if (store)
		CertCloseStore(store, 0);
	return done ? 0 : -EINVAL;
}

static int with_profile(const char *name, const struct sid *account,
			const CERT_CONTEXT *root, struct failure *failure)
{
	owned_ptr wchar_t *who = wide(name);
	owned_handle HANDLE token = NULL;
	wchar_t password[PASSWORD_SIZE], domain[] = L".";
	PROFILEINFOW profile = { .dwSize = sizeof(profile),
				 .dwFlags = PI_NOUI,
				 .lpUserName = who };
	int error = account_password(name, password, failure);

	if (error)
		return error;
	if (!who ||
	    !LogonUserW(who, domain, password, LOGON32_LOGON_INTERACTIVE,
			LOGON32_PROVIDER_DEFAULT, &token) ||
	    !LoadUserProfileW(token, &profile))
		error = win_failed(failure, GetLastError(),
				   "the profile of %s can't be loaded", name);
	SecureZeroMemory(password, sizeof(password));
	if (error)
		return error;
	error = put_for(account, root, failure);
	UnloadUserProfile(token, profile.hProfile);
	return error;
}

int trust_install(const char *file, const char *account,
		  struct failure *failure)
{
	const CERT_CONTEXT *root = certificate(file, failure);
	struct sid sid;
	int error = root ? account_sid(account, &sid, failure) : -EINVAL;

	if (!error)
		error = with_profile(account, &sid, root, failure);
	if (root)
		CertFreeCertificateContext(root);
	return error;
}
