/* SPDX-License-Identifier: Apache-2.0 */
/* A strict, bounded parser of HTTP/1 heads and bodies (RFC 9110, RFC 9112). */
#ifndef SRT_PROXY_HTTP1_H
#define SRT_PROXY_HTTP1_H

#include <stdint.h>
#include <sys/types.h>

#include "proxy/text.h"

/*
 * What two readers could read in two ways is refused, never repaired. Nothing
 * here allocates, blocks or knows the event loop; results borrow from the
 * input. http1_scan() finds the end of a head, then http1_request() or
 * http1_response() reads it, then a struct http1_body reads what follows.
 */

enum {
	HTTP1_HEADERS_MAX = 512,    /* fields of one head */
	HTTP1_OPTIONS_MAX = 32,	    /* members of all Connection fields */
	HTTP1_EXTENSION_MAX = 1024, /* bytes behind one chunk size */
	HTTP1_TRAILER_MAX = 16384,  /* bytes of a trailer section */
};

/**
 * struct http1_refusal - why a message is not read on
 * @status: for the client where the message is a request (400, 405, ...)
 * @reason: static text, one line
 */
struct http1_refusal {
	unsigned int status;
	const char *reason;
};

/**
 * struct http1_scan - how far the search for the end of a head has come
 * @at: bytes seen; @lines: complete lines among them, the last one excluded
 */
struct http1_scan {
	size_t at;
	size_t line;
	unsigned int lines;
	bool carriage;
};

/**
 * http1_scan() - look for the empty line that ends a head (RFC 9112 2.1)
 * @scan: zeroed before the first call; later calls go on where it stopped
 * @data, @size: the message from its first byte, each time
 * @limit: largest head in bytes
 * Return: size of the head, its empty line included; 0 when more is needed;
 * -1 when refused. A head without any line (@lines 0) is an empty line before
 * the message; the caller may skip a few.
 */
ssize_t http1_scan(struct http1_scan *scan, const char *data, size_t size,
		   size_t limit, struct http1_refusal *refusal);

/** http1_fields() - how many header fields a scanned head has */
static inline size_t http1_fields(const struct http1_scan *scan)
{
	return scan->lines ? scan->lines - 1 : 0;
}

enum http1_framing {
	HTTP1_NONE, /* no body */
	HTTP1_LENGTH,
	HTTP1_CHUNKED,
	HTTP1_UNTIL_CLOSE, /* responses only */
};

/**
 * struct http1_request - a request to a proxy
 * @connect: CONNECT with an authority; else a URL of the http scheme
 * @host: without brackets, at most 255 bytes of [A-Za-z0-9._-], or an IPv6
 *	address
 * @path: starts with '/'; @query: without '?', data NULL when absent
 * @minor: 0 or 1
 * @close: the client does not want the connection kept
 * @trailers: TE says that trailers of the response are welcome
 * @expects: Expect: 100-continue
 * @websocket: asks for an upgrade to it, and has no body
 */
struct http1_request {
	struct proxy_text method;
	struct proxy_text target;
	struct proxy_text host;
	struct proxy_text path;
	struct proxy_text query;
	const struct proxy_header *headers;
	size_t header_count;
	uint64_t length;
	uint16_t port;
	uint8_t minor;
	enum http1_framing framing;
	bool connect;
	bool close;
	bool expects;
	bool websocket;
	bool trailers;
};

/**
 * http1_request() - read a request head that http1_scan() found
 * @headers: room for @capacity fields; borrowed by @request
 * Return: false when refused, with @refusal filled in.
 */
bool http1_request(struct http1_request *request, const char *head, size_t size,
		   struct proxy_header *headers, size_t capacity,
		   struct http1_refusal *refusal);

/**
 * struct http1_inside - the tunnel that a request comes in
 * @host: its target, canonical; @spelled: as the client named it
 * @tls: so the scheme is https
 * @any: no tunnel: a request to ourselves, whose host is what Host names
 */
struct http1_inside {
	struct proxy_text host;
	struct proxy_text spelled;
	uint16_t port;
	bool tls;
	bool any;
};

/**
 * http1_request_inside() - as http1_request(), for a request in a tunnel
 *
 * The target is in origin form, or absolute and names the tunnel's scheme, host
 * and port; so does Host, or it is refused with 421. @request's host and port
 * are the tunnel's. Of @any it is in origin form, and Host has to be there.
 */
bool http1_request_inside(struct http1_request *request, const char *head,
			  size_t size, struct proxy_header *headers,
			  size_t capacity, const struct http1_inside *inside,
			  struct http1_refusal *refusal);

/**
 * struct http1_response - a response of an origin
 * @framing: of the body where the request and status allow one at all
 * @has_length: Content-Length is there, and @length is its value
 * @close: the connection ends behind this response
 * @websocket: Upgrade names exactly that
 */
struct http1_response {
	struct proxy_text phrase;
	const struct proxy_header *headers;
	size_t header_count;
	uint64_t length;
	unsigned int status;
	uint8_t minor;
	enum http1_framing framing;
	bool has_length;
	bool close;
	bool websocket;
};

/** http1_response() - as http1_request(); @refusal's status is 502 */
bool http1_response(struct http1_response *response, const char *head,
		    size_t size, struct proxy_header *headers, size_t capacity,
		    struct http1_refusal *refusal);

/**
 * http1_authority() - read host[:port] (RFC 3986 3.2, without userinfo)
 * @standard: the port where none is named, 0 when one must be
 * @host: out: without brackets
 */
bool http1_authority(struct proxy_text text, uint16_t standard,
		     struct proxy_text *host, uint16_t *port,
		     struct http1_refusal *refusal);

/** http1_host() - are these bytes a host, or a bare IPv6 address? */
bool http1_host(struct proxy_text text);

/** http1_token() - RFC 9110 5.6.2 */
bool http1_token(struct proxy_text text);

/** http1_value() - a field value without control bytes but tab */
bool http1_value(struct proxy_text text);

/**
 * http1_hop_by_hop() - a field that ends at the proxy: Connection and its like,
 * all of Proxy-*, and what Connection of @headers lists
 */
bool http1_hop_by_hop(struct proxy_text name,
		      const struct proxy_header *headers, size_t count);

/**
 * http1_reserved() - a field that framing or routing rest on, so that no edit
 * may set or remove it
 */
bool http1_reserved(struct proxy_text name);

/** struct http1_body - reads one body as it comes; plain data, may be copied */
struct http1_body {
	enum http1_framing framing;
	uint64_t left;
	size_t line;
	unsigned char state;
};

enum http1_step {
	HTTP1_MORE,    /* all given bytes are used, more are needed */
	HTTP1_PIECE,   /* a piece of the body came out */
	HTTP1_TRAILER, /* a piece of the trailer section came out */
	HTTP1_END,     /* the body is complete; bytes behind it are not used */
	HTTP1_BAD,
};

/** http1_body_start() - @length counts for HTTP1_LENGTH only */
void http1_body_start(struct http1_body *body, enum http1_framing framing,
		      uint64_t length);

/**
 * http1_body_next() - one step through a body (RFC 9112 6 and 7.1)
 * @used: out: bytes taken; @piece: out, with HTTP1_PIECE and HTTP1_TRAILER:
 *	borrows from @data
 * @reason: out: static text with HTTP1_BAD, else NULL
 *
 * Chunk extensions are checked and dropped. Trailer fields come out as lines
 * with their CRLF, all together at most HTTP1_TRAILER_MAX bytes.
 */
enum http1_step http1_body_next(struct http1_body *body, const char *data,
				size_t size, size_t *used,
				struct proxy_text *piece, const char **reason);

/** http1_goes_on() - did the step use bytes, and is there more to step? */
static inline bool http1_goes_on(enum http1_step step)
{
	return step == HTTP1_PIECE || step == HTTP1_TRAILER;
}

/**
 * http1_trailers() - read what HTTP1_TRAILER gave (RFC 9110 6.5)
 * @headers: room for @capacity fields, borrowing from @section
 * @count: out
 */
bool http1_trailers(struct proxy_text section, struct proxy_header *headers,
		    size_t capacity, size_t *count);

/**
 * http1_trailing() - may a field of that name stand behind a body? Not what
 * framing, routing, authentication, or the reading of the body rest on.
 */
bool http1_trailing(struct proxy_text name);

/** http1_member() - next member of a comma list, trimmed; empty ones skipped */
bool http1_member(struct proxy_text *list, struct proxy_text *member);

/** http1_wants_trailers() - does a TE field accept trailers? */
bool http1_wants_trailers(const struct proxy_header *headers, size_t count);

/** http1_body_done() - was HTTP1_END reached (or is there no body)? */
bool http1_body_done(const struct http1_body *body);

#endif
