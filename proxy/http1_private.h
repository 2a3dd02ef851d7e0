/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the HTTP/1 parser share. */
#ifndef SRT_PROXY_HTTP1_PRIVATE_H
#define SRT_PROXY_HTTP1_PRIVATE_H

#include "proxy/http1.h"

/** http1_refuse() - fill in @refusal; always false, to be returned */
static inline bool http1_refuse(struct http1_refusal *refusal,
				unsigned int status, const char *reason)
{
	*refusal = (struct http1_refusal){ status, reason };
	return false;
}

/** http1_absolute() - absolute-form @target (RFC 9112 3.2.2) */
bool http1_absolute(struct http1_request *request,
		    struct http1_refusal *refusal);

/** http1_connect() - authority-form @target (RFC 9112 3.2.3) */
bool http1_connect(struct http1_request *request,
		   struct http1_refusal *refusal);

#endif
