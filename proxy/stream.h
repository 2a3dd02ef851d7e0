/* SPDX-License-Identifier: Apache-2.0 */
/* One TCP connection with bounded buffers, driven by its owner's pump. */
#ifndef SRT_PROXY_STREAM_H
#define SRT_PROXY_STREAM_H

#include <uv.h>

#include "proxy/pbuf.h"

struct proxy;
struct stream_tls;

/**
 * struct stream - a connection; no call below ever calls back at once
 * @wake: something happened: input, end, error, or output went out. The owner
 *	then looks at the fields and moves on. Set before reading starts.
 * @closed: after stream_close(), when the memory may go
 * @in, @fresh: input not consumed yet: what was kept, or what just arrived in
 *	the proxy's shared scratch buffer. Read through stream_input().
 * @out, @flight: output not written yet; @flight is pinned by a uv_write
 * @tls: NULL, or what turns these bytes into TLS records and back (see
 *	stream_tls.h); @sealed: bytes of a record not written yet
 * @held: what its buffers hold of the proxy's count
 * @large: what is read flows on at once, so much may be read: PROXY_BURST
 *	doubled @pace times, from nothing anew after each pause
 * @touched: loop time when bytes last moved, ms
 * @heard: something was read that stream_acknowledge() may be called for
 * @eof: the peer has ended its side, with TLS by a close_notify: without one
 *	that is a @read_error. @read_error, @write_error: negative
 */
struct stream {
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	uv_shutdown_t shutdown;
	struct proxy *proxy;
	void (*wake)(void *owner);
	void (*closed)(struct stream *stream);
	void *owner;
	struct pbuf in;
	struct pbuf out;
	struct pbuf flight;
	struct proxy_text fresh;
	struct stream_tls *tls;
	uint64_t touched;
	size_t held;
	size_t sealed;
	unsigned int pace;
	int read_error;
	int write_error;
	bool large;
	bool heard;
	bool eof;
	bool reading;
	bool flying;
	bool end_wanted;
	bool ending;
	bool ended;
	bool closing;
};

/** stream_init() - @proxy must outlive the stream's close callback */
int stream_init(struct stream *stream, struct proxy *proxy,
		void (*closed)(struct stream *stream));

/** stream_want() - switch reading on or off */
void stream_want(struct stream *stream, bool want);

/**
 * stream_acknowledge() - have what was read acknowledged now, where more is to
 * come
 *
 * A peer that writes in two parts may hold the second one back until the first
 * is acknowledged (RFC 896), which the kernel puts off for 40 ms on connections
 * that have been used before. Source: TCP_QUICKACK in tcp(7).
 */
void stream_acknowledge(struct stream *stream);

/** stream_input() - what was read and not consumed yet */
struct proxy_text stream_input(const struct stream *stream);

/** stream_consume() - take bytes off the front of the input */
void stream_consume(struct stream *stream, size_t size);

/** stream_pending() - bytes of output not yet handed to the kernel */
size_t stream_pending(const struct stream *stream);

/** stream_send() - write at once what the kernel takes, queue the rest */
void stream_send(struct stream *stream, struct proxy_text data);

/** stream_flush() - start writing what was queued in @out, then the end */
void stream_flush(struct stream *stream);

/** stream_end() - end our side once all output is out */
void stream_end(struct stream *stream);

/**
 * stream_close() - close; unwritten output is lost
 * @reset: by RST, so that the peer sees a failure and not an end
 */
void stream_close(struct stream *stream, bool reset);

/** stream_error() - the first error seen, 0 for none */
static inline int stream_error(const struct stream *stream)
{
	return stream->write_error ? stream->write_error : stream->read_error;
}

#endif
