/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.2 inside a stream: records outside, plain bytes for its owner. */
#include "proxy/stream_tls.h"

#include <stdio.h>

#include "proxy/internal.h"
#include "proxy/stream_private.h"
#include "proxy/tls_engine.h"
#include "proxy/verify.h"

/* What a peer may send while it takes nothing of what it is answered. */
enum { RAW_MAX = 65536 };

/**
 * struct stream_tls - of one stream; the contexts point into it: never moved
 * @engine: that of @server or @client
 * @leaf: of a server, a reference
 * @verify: of a client, owned, until the handshake is over
 * @distrust: why @verify refused; owned
 * @raw: records that the engine can't take before its own are written
 * @failed: BR_ERR_* of the engine; @cut: the peer left without a close_notify
 * @closed: our close_notify was asked for
 */
struct stream_tls {
	br_ssl_engine_context *engine;
	union {
		br_ssl_server_context server;
		br_ssl_client_context client;
	};
	const struct authority_leaf *leaf;
	struct verify *verify;
	struct tls_auth auth;
	struct pbuf raw;
	char *distrust;
	int failed;
	bool is_server;
	bool ready;
	bool closed;
	bool cut;
	unsigned char buffer[BR_SSL_BUFSIZE_BIDI];
};

static void feed(struct stream *stream, struct proxy_text data);

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
		feed(stream, pbuf_text(&raw));
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

/* What only a handshake needs. */
static void drop_proof(struct stream_tls *tls)
{
	authority_leaf_put(tls->leaf);
	tls->leaf = NULL;
	verify_free(tls->verify);
	free(tls->verify);
	tls->verify = NULL;
}

/* Notes what became of the engine: handshake over, end, or failure. */
static void look(struct stream *stream)
{
	struct stream_tls *tls = stream->tls;

	if (!tls->ready && may(tls, BR_SSL_SENDAPP)) {
		tls->ready = true;
		drop_proof(tls);
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
	    asprintf(&tls->distrust, "can't be trusted: %s",
		     verify_reason(tls->verify)) < 0)
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

static void feed(struct stream *stream, struct proxy_text data)
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
		feed(stream, data);
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

bool stream_tls_ready(const struct stream *stream)
{
	return stream->tls->ready;
}

bool stream_tls_session(const struct stream *stream,
			br_ssl_session_parameters *out)
{
	const struct stream_tls *tls = stream->tls;

	if (!tls->ready || tls->failed)
		return false;
	br_ssl_engine_get_session_parameters(tls->engine, out);
	return out->session_id_len > 0;
}

const char *stream_tls_reason(const struct stream *stream)
{
	const struct stream_tls *tls = stream->tls;

	if (!tls || (!tls->failed && !tls->cut))
		return "";
	if (tls->distrust)
		return tls->distrust;
	if (tls->failed || (tls->cut && tls->auth.asked && !tls->ready))
		return tls_engine_error(tls->failed, tls->is_server,
					tls->auth.asked && !tls->ready);
	return tls->ready ? "ended the connection without TLS's close_notify"
			  : "ended the connection within the TLS handshake";
}

size_t stream_tls_held(const struct stream *stream)
{
	const struct stream_tls *tls = stream->tls;

	return tls ? sizeof(*tls) + tls->raw.capacity : 0;
}

void stream_tls_free(struct stream *stream)
{
	struct stream_tls *tls = stream->tls;

	if (!tls)
		return;
	stream->tls = NULL;
	drop_proof(tls);
	pbuf_free(&tls->raw);
	free(tls->distrust);
	/* Keys, and what came in plain. */
	explicit_bzero(tls, sizeof(*tls));
	free(tls);
}

/* The buffer's pages come when they are used. */
static struct stream_tls *new_tls(void)
{
	struct stream_tls *tls = malloc(sizeof(*tls));

	if (tls)
		memset(tls, 0, offsetof(struct stream_tls, buffer));
	return tls;
}

/* What had come belongs to TLS. */
static void attach(struct stream *stream, struct stream_tls *tls)
{
	struct proxy_text input = stream_input(stream);
	struct pbuf kept = stream->in;

	if (!kept.size)
		stream->fresh = (struct proxy_text){ NULL, 0 };
	stream->in = (struct pbuf){ 0 };
	stream->tls = tls;
	/* No engine has anything to show before its peer has heard of it. */
	feed(stream, input);
	pbuf_free(&kept);
	stream_account(stream);
}

int stream_tls_server(struct stream *stream, const struct authority_leaf *leaf,
		      br_ssl_session_cache_lru *cache)
{
	struct stream_tls *tls = new_tls();

	if (!tls) {
		authority_leaf_put(leaf);
		return -ENOMEM;
	}
	tls->leaf = leaf;
	tls->is_server = true;
	tls->engine = &tls->server.eng;
	tls_engine_server(&tls->server, leaf, cache);
	br_ssl_engine_set_buffer(tls->engine, tls->buffer, sizeof(tls->buffer),
				 1);
	br_ssl_server_reset(&tls->server);
	attach(stream, tls);
	return 0;
}

int stream_tls_client(struct stream *stream, const struct trust *trust,
		      const char *host, const br_ssl_session_parameters *resume)
{
	struct stream_tls *tls = new_tls();
	struct verify *verify = calloc(1, sizeof(*verify));
	unsigned char address[sizeof(struct in6_addr)];
	bool named = uv_inet_pton(AF_INET, host, address) != 0 &&
		     uv_inet_pton(AF_INET6, host, address) != 0;

	if (!tls || !verify) {
		free(tls);
		free(verify);
		return -ENOMEM;
	}
	verify_init(verify, trust, host);
	tls->verify = verify;
	tls->engine = &tls->client.eng;
	tls_engine_client(&tls->client, &verify->class, &tls->auth);
	br_ssl_engine_set_buffer(tls->engine, tls->buffer, sizeof(tls->buffer),
				 1);
	if (resume)
		br_ssl_engine_set_session_parameters(tls->engine, resume);
	/* RFC 6066 3: no addresses. The verifier knows whom it expects. */
	br_ssl_client_reset(&tls->client, named ? host : NULL, resume != NULL);
	attach(stream, tls);
	return 0;
}
