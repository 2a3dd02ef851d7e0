/* SPDX-License-Identifier: Apache-2.0 */
/* Content codings undone, for whoever has to read a body (RFC 9110 8.4). */
#ifndef SRT_PROXY_DECODE_H
#define SRT_PROXY_DECODE_H

#include "proxy/pbuf.h"

enum { DECODE_CODINGS_MAX = 4 }; /* applied one upon the other */

/** decode_too_long - the reason that is given for a body beyond its bound */
extern const char decode_too_long[];

/**
 * decode_body() - a body as it was before its Content-Encoding
 * @headers, @count: of the message
 * @data: what came, without framing
 * @max: bytes that it may come to; a step on the way may be a little more
 * @out: empty; to be freed by the caller also on failure
 * Return: NULL, or why it can't be read, static text.
 *
 * gzip (also of many members), x-gzip, deflate (in zlib's format, or bare,
 * as some send it) and identity. What follows a finished stream is refused:
 * another reader might read it. An empty body is empty in any coding.
 */
const char *decode_body(const struct proxy_header *headers, size_t count,
			struct proxy_text data, size_t max, struct pbuf *out);

/**
 * decode_wire_max() - how much may come of a body that may be @max bytes
 *
 * A little more where it is coded, since coding makes some larger.
 */
size_t decode_wire_max(const struct proxy_header *headers, size_t count,
		       size_t max);

/** decode_is_coded() - does a Content-Encoding say anything but identity? */
bool decode_is_coded(const struct proxy_header *headers, size_t count);

#endif
