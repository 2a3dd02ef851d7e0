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

/* What Content-Length and Transfer-Encoding say together. */
struct http1_frame {
	enum http1_framing kind;
	uint64_t length;
	bool has_length;
};

/** http1_plain() - how many bytes at the front are no control bytes */
size_t http1_plain(const char *data, size_t size);

/** http1_trim() - without blanks at both ends */
struct proxy_text http1_trim(struct proxy_text text);

/** http1_line() - cut the next CRLF line off @rest */
bool http1_line(struct proxy_text *rest, struct proxy_text *line);

/** http1_read_fields() - fields up to an empty line or the end of @rest */
bool http1_read_fields(struct proxy_text rest, struct proxy_header *headers,
		       size_t capacity, size_t *count,
		       struct http1_refusal *refusal);

/** http1_read_framing() - RFC 9112 6.3, what is doubtful refused */
bool http1_read_framing(const struct proxy_header *headers, size_t count,
			unsigned int minor, struct http1_frame *framing,
			struct http1_refusal *refusal);

/** http1_lists_option() - does a Connection field name @option? */
bool http1_lists_option(const struct proxy_header *headers, size_t count,
			struct proxy_text option);

/** http1_check_options() - are all Connection fields lists of tokens? */
bool http1_check_options(const struct proxy_header *headers, size_t count,
			 struct http1_refusal *refusal);

/** http1_find() - how often @name occurs; @last: its last field */
size_t http1_find(const struct proxy_header *headers, size_t count,
		  const char *name, const struct proxy_header **last);

/** http1_asks_websocket() - is exactly a WebSocket upgrade asked or granted? */
bool http1_asks_websocket(const struct proxy_header *headers, size_t count);

/** http1_absolute() - absolute-form @target (RFC 9112 3.2.2), of @scheme */
bool http1_absolute(struct http1_request *request, const char *scheme,
		    struct http1_refusal *refusal);

/** http1_origin() - @target of a request in a tunnel: origin-form (3.2.1) */
bool http1_origin(struct http1_request *request,
		  const struct http1_inside *inside,
		  struct http1_refusal *refusal);

/** http1_is_inside() - do a host and port name the tunnel's target? */
bool http1_is_inside(const struct http1_inside *inside, struct proxy_text host,
		     uint16_t port);

static inline uint16_t http1_standard_port(bool tls)
{
	return tls ? 443 : 80;
}

/** http1_connect() - authority-form @target (RFC 9112 3.2.3) */
bool http1_connect(struct http1_request *request,
		   struct http1_refusal *refusal);

#endif
