/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a trust store for Java. */
#ifndef SRT_PROXY_JKS_H
#define SRT_PROXY_JKS_H

#include <stdbool.h>

#include "proxy/pbuf.h"
#include "proxy/trust.h"

/* What the store says it is kept by; Java's own are so by default, and it
 * protects nothing but against mistakes. */
#define JKS_PASSWORD "changeit"

/**
 * jks_write() - append a store of the certificates of a PEM text, then the
 * roots
 *
 * Written by hand: keytool takes a second for each certificate and need not be
 * there. JKS and not PKCS#12, since that has been read by every JVM up to now,
 * without a password too, and is a list with a hash behind it, where PKCS#12
 * wants an attribute of Java's on each certificate and a MAC that differs by
 * version. The format is that of sun.security.provider.JavaKeyStore.
 * Return: false without memory, or with a block that can't be decoded.
 */
bool jks_write(struct pbuf *out, struct proxy_text pem,
	       const struct trust *trust);

#endif
