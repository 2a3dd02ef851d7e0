/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.2 inside a stream: records outside, plain bytes for its owner. */
#include "proxy/stream_tls.h"

#include <stdio.h>

#include "proxy/internal.h"
#include "proxy/stream_private.h"
#include "proxy/stream_tls_private.h"

#define MORE_ROOTS                                            \
	"; where it is to be trusted, name its CA's file in " \
	"network.tlsTerminate.extraCaCertPaths"

/* What a peer may send while it takes nothing of what it is answered. */
enum { RAW_MAX = 65536 };

static bool may(const struct stream_tls *tls, unsigned int what)
{
	return br_ssl_engine_current_state(tls->engine) & what;
}

static void on_sealed(uv_write_t *request, int status)
{
	struct stream *stream = request->data;
	struct stream_tls *tls = stream->tls;

	stream->flying = false;
	if (stream->closing)
		return;
	if (status < 0) {
		stream->write_error = status;
	} else {
		stream->touched = uv_now(stream->proxy->loop);
		br_ssl_engine_sendrec_ack(tls->engine, stream->sealed);
	}
	stream->sealed = 0;
	stream_flush(stream);
	/* The engine has room for what waited; that may wake the owner, too. */
	if (tls->raw.size && !stream->flying) {
		struct pbuf raw = tls->raw;

		tls->raw = (struct pbuf){ 0 };
		stream_tls_feed(stream, pbuf_text(&raw));
		pbuf_free(&raw);
		stream_account(stream);
	}
	stream_wake(stream);
}

/* What the kernel does not take stays in the engine, and a uv_write pins it. */
static void fly(struct stream *stream, unsigned char *record, size_t size)
{
	uv_buf_t buffer = uv_buf_init((char *)record, (unsigned int)size);

	stream->write.data = stream;
	stream->write_error =
		uv_write(&stream->write, (uv_stream_t *)&stream->tcp, &buffer,
			 1, on_sealed);
	stream->flying = !stream->write_error;
	stream->sealed = stream->flying ? size : 0;
}

/* Writes the records that are ready. True when all went out. */
static bool write_records(struct stream *stream)
{
	struct stream_tls *tls = stream->tls;
	size_t size, done;
	unsigned char *record;

	while (!stream->flying && !stream->write_error && !stream->closing) {
		record = br_ssl_engine_sendrec_buf(tls->engine, &size);
		if (!record)
			return true;
		done = stream_try_write(
			stream, (struct proxy_text){ (char *)record, size });
		if (done)
			br_ssl_engine_sendrec_ack(tls->engine, done);
		if (done < size && !stream->write_error)
			fly(stream, record + done, size - done);
	}
	return false;
}

size_t stream_tls_send(struct stream *stream, struct proxy_text data)
{
	struct stream_tls *tls = stream->tls;
	size_t done = 0, room;

	while (done < data.size && tls->ready) {
		unsigned char *place =
			br_ssl_engine_sendapp_buf(tls->engine, &room);

		if (!place)
			break;
		if (room > data.size - done)
			room = data.size - done;
		memcpy(place, data.data + done, room);
		br_ssl_engine_sendapp_ack(tls->engine, room);
		done += room;
		br_ssl_engine_flush(tls->engine, 0);
		if (!write_records(stream))
			break;
	}
	return done;
}

/* Tells the peer, in clear text as the handshake is, why it ends. */
static void send_alert(struct stream *stream)
{
	const unsigned char alert[] = {
		21, 3, 3, 0, 2, 2, tls_engine_alert(stream->tls->failed)
	};

	if (!stream->tls->ready && !stream->flying && !stream->write_error &&
	    stream->tls->failed < BR_ERR_RECV_FATAL_ALERT)
		stream_try_write(stream,
				 (struct proxy_text){ (const char *)alert,
						      sizeof(alert) });
}

/* Notes what became of the engine: handshake over, end, or failure. */
static void look(struct stream *stream)
{
	struct stream_tls *tls = stream->tls;

	if (!tls->ready && may(tls, BR_SSL_SENDAPP)) {
		tls->ready = true;
		stream_tls_drop_proof(tls);
	}
	if (stream->eof || stream->read_error || !may(tls, BR_SSL_CLOSED))
		return;
	tls->failed = br_ssl_engine_last_error(tls->engine);
	if (!tls->failed && tls->ready) {
		stream->eof = true;
		return;
	}
	stream->read_error = UV_EPROTO;
	if (tls->verify && verify_reason(tls->verify)[0] &&
	    asprintf(&tls->distrust, "can't be trusted: %s%s",
		     verify_reason(tls->verify),
		     tls->failed == BR_ERR_X509_NOT_TRUSTED ? MORE_ROOTS : "") <
		    0)
		tls->distrust = NULL;
	if (tls->failed)
		send_alert(stream);
	else
		tls->cut = true;
}

void stream_tls_flush(struct stream *stream)
{
	struct stream_tls *tls = stream->tls;
	bool idle = write_records(stream);

	while (idle && stream->out.size && tls->ready &&
	       may(tls, BR_SSL_SENDAPP)) {
		size_t done = stream_tls_send(stream, pbuf_text(&stream->out));

		pbuf_drop(&stream->out, done);
		idle = write_records(stream);
	}
	if (idle && stream->out.size && may(tls, BR_SSL_CLOSED)) {
		stream->write_error = UV_EPIPE;
		return;
	}
	if (idle && stream->end_wanted && !stream->out.size && !tls->closed) {
		tls->closed = true;
		br_ssl_engine_close(tls->engine);
		write_records(stream);
	}
	if (!stream->flying)
		look(stream);
}

/* The owner may close the stream, send, and end it meanwhile. */
static void show_plain(struct stream *stream)
{
	br_ssl_engine_context *engine = stream->tls->engine;
	size_t size, still;
	unsigned char *data = br_ssl_engine_recvapp_buf(engine, &size);

	if (!data)
		return;
	stream_show(stream, (struct proxy_text){ (char *)data, size });
	/* An end drops what was not acknowledged. */
	if (br_ssl_engine_recvapp_buf(engine, &still) == data && still == size)
		br_ssl_engine_recvapp_ack(engine, size);
}

static void keep_raw(struct stream *stream, struct proxy_text data)
{
	struct pbuf *raw = &stream->tls->raw;

	pbuf_text_add(raw, data);
	if (!raw->failed && raw->size <= RAW_MAX)
		return;
	stream->read_error = raw->failed ? UV_ENOMEM : UV_EPROTO;
	pbuf_free(raw);
}

void stream_tls_feed(struct stream *stream, struct proxy_text data)
{
	struct stream_tls *tls = stream->tls;
	size_t room;

	while (data.size && !stream->closing && !stream->read_error) {
		unsigned char *place;

		write_records(stream);
		place = br_ssl_engine_recvrec_buf(tls->engine, &room);
		if (!place)
			break;
		if (room > data.size)
			room = data.size;
		memcpy(place, data.data, room);
		br_ssl_engine_recvrec_ack(tls->engine, room);
		data.data += room;
		data.size -= room;
		show_plain(stream);
	}
	if (stream->closing)
		return;
	write_records(stream);
	look(stream);
	if (data.size && !stream->eof && !stream->read_error)
		keep_raw(stream, data);
}

void stream_tls_read(struct stream *stream, struct proxy_text data)
{
	bool ready = stream->tls->ready;

	if (stream->tls->raw.size)
		keep_raw(stream, data);
	else
		stream_tls_feed(stream, data);
	/* Of input the owner was told; by now it may be another. */
	if (stream->tls->ready != ready || stream->eof || stream->read_error)
		stream_wake(stream);
}

void stream_tls_cut(struct stream *stream)
{
	struct stream_tls *tls = stream->tls;

	/* Who was told the end may leave without a word. */
	if (tls->closed) {
		stream->eof = true;
	} else {
		stream->read_error = UV_ECONNRESET;
		tls->cut = true;
	}
}
