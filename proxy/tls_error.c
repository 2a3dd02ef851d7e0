/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of BearSSL's engines in words, and as alerts. */
#include "proxy/tls_engine.h"

#define EXCLUDE                                                              \
	"; name it in network.tlsTerminate.excludeDomains to let its bytes " \
	"pass unread"

enum { ALERT_CERTIFICATE_REQUIRED = 116, ALERT_UNRECOGNIZED_NAME = 112 };

struct entry {
	int code;
	const char *text;
};

/* Alerts that servers send. */
static const struct entry from_server[] = {
	{ BR_ALERT_HANDSHAKE_FAILURE,
	  "refused the TLS handshake: it may speak nothing older than TLS 1.3 "
	  "(termination speaks 1.2), or want a client certificate" EXCLUDE },
	{ BR_ALERT_PROTOCOL_VERSION,
	  "speaks only TLS 1.3, and termination only TLS 1.2" EXCLUDE },
	{ BR_ALERT_INSUFFICIENT_SECURITY,
	  "wants other cipher suites than ECDHE with AES-GCM or "
	  "ChaCha20" EXCLUDE },
	{ BR_ALERT_BAD_CERTIFICATE, "wants a client certificate" EXCLUDE },
	{ ALERT_CERTIFICATE_REQUIRED, "wants a client certificate" EXCLUDE },
	{ ALERT_UNRECOGNIZED_NAME, "does not know the server name" },
	{ BR_ALERT_NO_APPLICATION_PROTOCOL,
	  "does not speak HTTP/1.1 (ALPN)" EXCLUDE },
	{ BR_ALERT_INTERNAL_ERROR, "had an internal error (TLS alert)" },
};

/* Alerts that clients send. */
static const struct entry from_client[] = {
	{ BR_ALERT_UNKNOWN_CA,
	  "does not trust the CA of this run (is it one that brings its own "
	  "roots, or pins a certificate?)" },
	{ BR_ALERT_BAD_CERTIFICATE,
	  "does not accept the certificate (bad certificate)" },
	{ BR_ALERT_UNSUPPORTED_CERTIFICATE,
	  "does not accept the certificate (unsupported)" },
	{ BR_ALERT_CERTIFICATE_EXPIRED,
	  "does not accept the certificate (expired)" },
	{ BR_ALERT_CERTIFICATE_UNKNOWN,
	  "does not accept the certificate (unknown)" },
	{ BR_ALERT_HANDSHAKE_FAILURE, "refused the TLS handshake" },
};

/* What the engine found itself. */
static const struct entry own[] = {
	{ BR_ERR_UNSUPPORTED_VERSION, "speaks no TLS 1.2" },
	{ BR_ERR_BAD_VERSION, "mixes versions of TLS" },
	{ BR_ERR_BAD_LENGTH, "sent a TLS record of a wrong size" },
	{ BR_ERR_TOO_LARGE, "sent an oversized TLS record" },
	{ BR_ERR_BAD_MAC, "sent a damaged TLS record" },
	{ BR_ERR_UNKNOWN_TYPE, "sent a TLS record of an unknown type" },
	{ BR_ERR_UNEXPECTED, "sent an unexpected TLS message" },
	{ BR_ERR_BAD_CCS, "broke the TLS handshake" },
	{ BR_ERR_BAD_ALERT, "sent a malformed TLS alert" },
	{ BR_ERR_BAD_HANDSHAKE, "sent a malformed TLS handshake" },
	{ BR_ERR_BAD_CIPHER_SUITE,
	  "chose a cipher suite that was not offered" },
	{ BR_ERR_BAD_SECRENEG, "lacks secure renegotiation" },
	{ BR_ERR_BAD_FINISHED, "broke the TLS handshake" },
	{ BR_ERR_INVALID_ALGORITHM, "signs by unsupported algorithms" },
	{ BR_ERR_BAD_SIGNATURE, "made a wrong signature in the handshake" },
	{ BR_ERR_WRONG_KEY_USAGE,
	  "has a certificate whose key may not sign handshakes" },
	{ BR_ERR_NO_CLIENT_AUTH, "wants a client certificate" EXCLUDE },
	{ BR_ERR_NO_RANDOM, "can't be reached: no random numbers" },
};

static const char *find(const struct entry *table, size_t count, int code)
{
	for (size_t i = 0; i < count; i++) {
		if (table[i].code == code)
			return table[i].text;
	}
	return NULL;
}

#define FIND(table, code) find(table, sizeof(table) / sizeof((table)[0]), code)

const char *tls_engine_error(int error, bool server, bool asked)
{
	const char *text = NULL;

	if (asked)
		return "wants a client certificate" EXCLUDE;
	if (error >= BR_ERR_SEND_FATAL_ALERT)
		text = server ? "offers nothing that can be agreed on: TLS 1.2 "
				"with ECDHE and AES-GCM or ChaCha20, HTTP/1.1"
			      : "offers nothing that can be agreed on";
	else if (error >= BR_ERR_RECV_FATAL_ALERT && server)
		text = FIND(from_client, error - BR_ERR_RECV_FATAL_ALERT);
	else if (error >= BR_ERR_RECV_FATAL_ALERT)
		text = FIND(from_server, error - BR_ERR_RECV_FATAL_ALERT);
	else
		text = FIND(own, error);
	if (text)
		return text;
	return error >= BR_ERR_RECV_FATAL_ALERT ? "ended TLS by an alert"
						: "broke the TLS protocol";
}

unsigned char tls_engine_alert(int error)
{
	switch (error) {
	case BR_ERR_UNSUPPORTED_VERSION:
	case BR_ERR_BAD_VERSION:
		return BR_ALERT_PROTOCOL_VERSION;
	case BR_ERR_BAD_LENGTH:
	case BR_ERR_TOO_LARGE:
		return BR_ALERT_RECORD_OVERFLOW;
	case BR_ERR_BAD_MAC:
		return BR_ALERT_BAD_RECORD_MAC;
	case BR_ERR_UNEXPECTED:
	case BR_ERR_UNKNOWN_TYPE:
		return BR_ALERT_UNEXPECTED_MESSAGE;
	case BR_ERR_NO_RANDOM:
		return BR_ALERT_INTERNAL_ERROR;
	case BR_ERR_X509_EXPIRED:
		return BR_ALERT_CERTIFICATE_EXPIRED;
	case BR_ERR_X509_NOT_TRUSTED:
		return BR_ALERT_UNKNOWN_CA;
	default:
		return error >= BR_ERR_X509_INVALID_VALUE
			       ? BR_ALERT_BAD_CERTIFICATE
			       : BR_ALERT_HANDSHAKE_FAILURE;
	}
}
