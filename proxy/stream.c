/* SPDX-License-Identifier: Apache-2.0 */
/* One TCP connection with bounded buffers, driven by its owner's pump. */
#include "proxy/stream.h"

#include <netinet/tcp.h>
#include <stdlib.h>

#include "proxy/internal.h"
#include "proxy/stream_private.h"
#include "proxy/stream_tls.h"

int stream_init(struct stream *stream, struct proxy *proxy,
		void (*closed)(struct stream *stream))
{
	*stream = (struct stream){ .proxy = proxy, .closed = closed };
	stream->touched = uv_now(proxy->loop);
	return uv_tcp_init(proxy->loop, &stream->tcp);
}

static struct stream *stream_of(uv_tcp_t *tcp)
{
	return (struct stream *)((char *)tcp - offsetof(struct stream, tcp));
}

void stream_wake(struct stream *stream)
{
	if (!stream->closing && stream->wake)
		stream->wake(stream->owner);
}

/* One scratch buffer serves all: it is filled and used up in one turn. */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct stream *stream = stream_of((uv_tcp_t *)handle);
	struct proxy *proxy = stream->proxy;
	bool large = stream->large && !stream->tls &&
		     proxy->held < proxy->limits.buffer_bytes / 2;

	(void)suggested;
	if (!proxy->scratch)
		proxy->scratch = malloc(PROXY_SCRATCH);
	*buffer = uv_buf_init(proxy->scratch,
			      !proxy->scratch ? 0
			      : large	      ? PROXY_BURST << stream->pace
					      : PROXY_READ);
}

void stream_account(struct stream *stream)
{
	size_t held = stream->in.capacity + stream->out.capacity +
		      stream->flight.capacity + stream_tls_held(stream);

	stream->proxy->held += held - stream->held;
	stream->held = held;
}

void stream_take_fresh(struct stream *stream)
{
	pbuf_text_add(&stream->in, stream->fresh);
	stream->fresh = (struct proxy_text){ NULL, 0 };
	if (stream->in.failed)
		stream->read_error = UV_ENOMEM;
}

void stream_show(struct stream *stream, struct proxy_text data)
{
	stream->fresh = data;
	if (stream->in.size)
		stream_take_fresh(stream);
	stream_wake(stream);
	if (stream->closing)
		stream->fresh = (struct proxy_text){ NULL, 0 };
	else
		stream_take_fresh(stream);
}

static void read_failed(struct stream *stream, ssize_t got)
{
	stream->reading = false;
	uv_read_stop((uv_stream_t *)&stream->tcp);
	if (stream->tls && got == UV_EOF)
		stream_tls_cut(stream);
	else if (got == UV_EOF)
		stream->eof = true;
	else
		stream->read_error = (int)got;
	stream_wake(stream);
}

/*
 * Reads grow while they come back full, until the receiver is behind: what it
 * does not take has to be copied.
 */
static void show(struct stream *stream, struct proxy_text data)
{
	if (data.size == (size_t)PROXY_BURST << stream->pace &&
	    stream->pace < PROXY_PACES)
		stream->pace++;
	stream_show(stream, data);
}

static void on_read(uv_stream_t *handle, ssize_t got, const uv_buf_t *buffer)
{
	struct stream *stream = stream_of((uv_tcp_t *)handle);
	struct proxy_text data = { buffer->base, (size_t)got };

	if (!got)
		return;
	stream->touched = uv_now(stream->proxy->loop);
	stream->heard = true;
	if (got < 0)
		read_failed(stream, got);
	else if (stream->tls)
		stream_tls_read(stream, data);
	else
		show(stream, data);
	stream_account(stream);
}

void stream_want(struct stream *stream, bool want)
{
	if (stream->eof || stream->read_error || stream->closing)
		want = false;
	if (want == stream->reading)
		return;
	stream->reading = want;
	if (!want) {
		stream->pace = 0;
		uv_read_stop((uv_stream_t *)&stream->tcp);
	} else if (uv_read_start((uv_stream_t *)&stream->tcp, on_alloc,
				 on_read)) {
		stream->read_error = UV_ECANCELED;
	}
}

void stream_acknowledge(struct stream *stream)
{
#ifdef TCP_QUICKACK
	const int on = 1;
	uv_os_fd_t fd;

	if (stream->heard && !uv_fileno((uv_handle_t *)&stream->tcp, &fd))
		(void)setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on,
				 sizeof(on));
#endif
	stream->heard = false;
}

struct proxy_text stream_input(const struct stream *stream)
{
	return stream->in.size ? pbuf_text(&stream->in) : stream->fresh;
}

void stream_consume(struct stream *stream, size_t size)
{
	if (stream->in.size) {
		pbuf_drop(&stream->in, size);
		return;
	}
	stream->fresh.data += size;
	stream->fresh.size -= size;
}

size_t stream_pending(const struct stream *stream)
{
	return stream->out.size + stream->flight.size + stream->sealed;
}

size_t stream_try_write(struct stream *stream, struct proxy_text data)
{
	size_t done = 0;

	while (done < data.size) {
		uv_buf_t buffer = uv_buf_init((char *)data.data + done,
					      (unsigned int)(data.size - done));
		int count =
			uv_try_write((uv_stream_t *)&stream->tcp, &buffer, 1);

		if (count == UV_EAGAIN || count == 0)
			break;
		if (count < 0) {
			stream->write_error = count;
			break;
		}
		done += (size_t)count;
		stream->touched = uv_now(stream->proxy->loop);
	}
	return done;
}

void stream_send(struct stream *stream, struct proxy_text data)
{
	size_t done = 0;

	if (stream->write_error || stream->closing)
		return;
	if (!stream_pending(stream))
		done = stream->tls ? stream_tls_send(stream, data)
				   : stream_try_write(stream, data);
	if (!stream->write_error)
		pbuf_add(&stream->out, data.data + done, data.size - done);
}

static void on_write(uv_write_t *request, int status)
{
	struct stream *stream = stream_of((uv_tcp_t *)request->handle);

	stream->flying = false;
	pbuf_free(&stream->flight);
	if (stream->closing)
		return;
	if (status < 0)
		stream->write_error = status;
	else
		stream->touched = uv_now(stream->proxy->loop);
	stream_flush(stream);
	stream_wake(stream);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	struct stream *stream = stream_of((uv_tcp_t *)request->handle);

	stream->ended = true;
	if (status < 0 && !stream->closing)
		stream->write_error = status;
	stream_wake(stream);
}

static void start_write(struct stream *stream)
{
	struct proxy_text data = pbuf_text(&stream->out);
	size_t done = stream_try_write(stream, data);
	uv_buf_t buffer;

	pbuf_drop(&stream->out, done);
	if (!stream->out.size || stream->write_error)
		return;
	stream->flight = stream->out;
	stream->out = (struct pbuf){ 0 };
	data = pbuf_text(&stream->flight);
	buffer = uv_buf_init((char *)data.data, (unsigned int)data.size);
	stream->write_error =
		uv_write(&stream->write, (uv_stream_t *)&stream->tcp, &buffer,
			 1, on_write);
	stream->flying = !stream->write_error;
}

static void flush(struct stream *stream)
{
	if (stream->out.failed)
		stream->write_error = UV_ENOMEM;
	if (stream->closing || stream->flying || stream->write_error)
		return;
	if (stream->tls)
		stream_tls_flush(stream);
	else if (stream->out.size)
		start_write(stream);
	if (!stream->end_wanted || stream->ending || stream->write_error ||
	    stream_pending(stream))
		return;
	stream->ending = true;
	stream->write_error = uv_shutdown(
		&stream->shutdown, (uv_stream_t *)&stream->tcp, on_shutdown);
}

void stream_flush(struct stream *stream)
{
	flush(stream);
	stream_account(stream);
}

void stream_end(struct stream *stream)
{
	stream->end_wanted = true;
	stream_flush(stream);
}

static void on_close(uv_handle_t *handle)
{
	struct stream *stream = stream_of((uv_tcp_t *)handle);

	pbuf_free(&stream->in);
	pbuf_free(&stream->out);
	pbuf_free(&stream->flight);
	stream_tls_free(stream);
	stream_account(stream);
	stream->closed(stream);
}

void stream_close(struct stream *stream, bool reset)
{
	if (stream->closing)
		return;
	stream->closing = true;
	/* A reset is refused while a shutdown is under way. */
	if (!reset || stream->ending ||
	    uv_tcp_close_reset(&stream->tcp, on_close) != 0)
		uv_close((uv_handle_t *)&stream->tcp, on_close);
}
