/* SPDX-License-Identifier: Apache-2.0 */
/* BearSSL engines as both sides of the proxy want them. */
#include "proxy/tls_engine.h"

#include <stddef.h>

static const char *protocols[] = { "http/1.1" };

/* Forward secrecy and AEAD only; what the processor does fast comes first. */
static void set_suites(br_ssl_engine_context *engine, bool server)
{
	static const uint16_t client_suites[] = {
		BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		BR_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
		BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		BR_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		BR_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
	};
	/* The leaves' keys are of P-256. */
	static const uint16_t server_suites[] = {
		BR_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
		BR_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
		BR_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	};

	if (server)
		br_ssl_engine_set_suites(engine, server_suites,
					 sizeof(server_suites) /
						 sizeof(server_suites[0]));
	else
		br_ssl_engine_set_suites(engine, client_suites,
					 sizeof(client_suites) /
						 sizeof(client_suites[0]));
}

static void set_up(br_ssl_engine_context *engine, bool server)
{
	br_ssl_engine_set_versions(engine, BR_TLS12, BR_TLS12);
	set_suites(engine, server);
	/* Signatures are accepted with these hashes and no others. */
	br_ssl_engine_set_hash(engine, br_sha256_ID, &br_sha256_vtable);
	br_ssl_engine_set_hash(engine, br_sha384_ID, &br_sha384_vtable);
	br_ssl_engine_set_hash(engine, br_sha512_ID, &br_sha512_vtable);
	br_ssl_engine_set_prf_sha256(engine, &br_tls12_sha256_prf);
	br_ssl_engine_set_prf_sha384(engine, &br_tls12_sha384_prf);
	br_ssl_engine_set_default_aes_gcm(engine);
	br_ssl_engine_set_default_chapol(engine);
	br_ssl_engine_set_default_ec(engine);
	br_ssl_engine_set_default_rsavrfy(engine);
	br_ssl_engine_set_default_ecdsa(engine);
	br_ssl_engine_set_protocol_names(
		engine, protocols, sizeof(protocols) / sizeof(protocols[0]));
	br_ssl_engine_add_flags(engine, BR_OPT_NO_RENEGOTIATION |
						BR_OPT_FAIL_ON_ALPN_MISMATCH);
}

void tls_engine_server(br_ssl_server_context *server,
		       const struct authority_leaf *leaf,
		       br_ssl_session_cache_lru *cache)
{
	br_ssl_server_zero(server);
	set_up(&server->eng, true);
	br_ssl_server_set_single_ec(server, leaf->chain, leaf->count, leaf->key,
				    BR_KEYTYPE_SIGN, leaf->issuer_key_type,
				    br_ec_get_default(),
				    br_ecdsa_sign_asn1_get_default());
	br_ssl_server_set_cache(server, &cache->vtable);
	/* Client and server are one machine. */
	br_ssl_engine_add_flags(&server->eng,
				BR_OPT_ENFORCE_SERVER_PREFERENCES);
}

static void ignore_list(const br_ssl_client_certificate_class **context)
{
	(void)context;
}

static void ignore_name(const br_ssl_client_certificate_class **context,
			size_t size)
{
	(void)context;
	(void)size;
}

static void ignore_data(const br_ssl_client_certificate_class **context,
			const unsigned char *data, size_t size)
{
	(void)context;
	(void)data;
	(void)size;
}

static void choose_none(const br_ssl_client_certificate_class **context,
			const br_ssl_client_context *client, uint32_t types,
			br_ssl_client_certificate *choices)
{
	struct tls_auth *auth =
		(void *)((char *)context - offsetof(struct tls_auth, vtable));

	(void)client;
	(void)types;
	auth->asked = true;
	*choices = (br_ssl_client_certificate){ .chain = NULL };
}

static const br_ssl_client_certificate_class no_certificate = {
	.context_size = sizeof(struct tls_auth),
	.start_name_list = ignore_list,
	.start_name = ignore_name,
	.append_name = ignore_data,
	.end_name = ignore_list,
	.end_name_list = ignore_list,
	.choose = choose_none,
};

void tls_engine_client(br_ssl_client_context *client,
		       const br_x509_class **x509, struct tls_auth *auth)
{
	br_ssl_client_zero(client);
	set_up(&client->eng, false);
	br_ssl_engine_set_x509(&client->eng, x509);
	*auth = (struct tls_auth){ .vtable = &no_certificate };
	br_ssl_client_set_client_certificate(client, &auth->vtable);
}
