/* SPDX-License-Identifier: Apache-2.0 */
/* TLS peers for tests of the proxy: BearSSL on a socket that the test turns. */
#include "tls_peer.h"

#include <bearssl.h>

static struct peer *new_peer(struct fixture *f, int fd)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	assert_non_null(peer);
	peer->f = f;
	peer->fd = fd;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return peer;
}

struct peer *peer_client(struct fixture *f, int fd, const struct trust *trust,
			 const char *name)
{
	struct peer *peer = new_peer(f, fd);

	br_ssl_client_init_full(&peer->client, &peer->x509, NULL, 0);
	peer->engine = &peer->client.eng;
	verify_init(&peer->verify, trust, name);
	br_ssl_engine_set_x509(peer->engine, &peer->verify.class);
	br_ssl_engine_set_buffer(peer->engine, peer->buffer,
				 sizeof(peer->buffer), 1);
	assert_true(br_ssl_client_reset(&peer->client, name, 0));
	return peer;
}

struct peer *peer_server(struct fixture *f, int fd, struct authority *root,
			 const char *name)
{
	struct peer *peer = new_peer(f, fd);
	const char *why = NULL;

	peer->leaf = authority_leaf(root, name, &why);
	assert_non_null(peer->leaf);
	br_ssl_server_init_full_ec(
		&peer->server, peer->leaf->chain, peer->leaf->count,
		peer->leaf->issuer_key_type, peer->leaf->key);
	peer->engine = &peer->server.eng;
	br_ssl_engine_set_buffer(peer->engine, peer->buffer,
				 sizeof(peer->buffer), 1);
	assert_true(br_ssl_server_reset(&peer->server));
	return peer;
}

static bool send_records(struct peer *peer)
{
	size_t size;
	unsigned char *data = br_ssl_engine_sendrec_buf(peer->engine, &size);
	ssize_t sent;

	if (!data)
		return false;
	sent = send(peer->fd, data, size, MSG_NOSIGNAL);
	if (sent > 0)
		br_ssl_engine_sendrec_ack(peer->engine, (size_t)sent);
	return sent > 0;
}

static bool receive_records(struct peer *peer)
{
	size_t size;
	unsigned char *data = br_ssl_engine_recvrec_buf(peer->engine, &size);
	ssize_t got;

	if (!data)
		return false;
	got = recv(peer->fd, data, size, 0);
	if (got > 0)
		br_ssl_engine_recvrec_ack(peer->engine, (size_t)got);
	return got > 0;
}

bool peer_turn(struct peer *peer)
{
	bool moved;

	spin(peer->f);
	moved = send_records(peer);
	return receive_records(peer) || moved;
}

static bool is(struct peer *peer, unsigned int state)
{
	return br_ssl_engine_current_state(peer->engine) & state;
}

/* Until @state is reached, the peer is closed, or patience ends. */
static void turn_until(struct peer *peer, unsigned int state)
{
	uint64_t end = now_ms() + PATIENCE_MS;

	while (!is(peer, state | BR_SSL_CLOSED)) {
		if (!peer_turn(peer))
			usleep(100);
		if (now_ms() > end)
			fail_msg("TLS does not move; last log: %s",
				 peer->f->log);
	}
}

void peer_shake(struct peer *peer)
{
	turn_until(peer, BR_SSL_SENDAPP);
	if (is(peer, BR_SSL_CLOSED))
		fail_msg("TLS error %d (%s); last log: %s", peer_error(peer),
			 verify_reason(&peer->verify), peer->f->log);
	while (is(peer, BR_SSL_SENDREC))
		peer_turn(peer);
}

void peer_end(struct peer *peer)
{
	br_ssl_engine_close(peer->engine);
	while (send_records(peer))
		spin(peer->f);
}

void peer_put(struct peer *peer, const char *data, size_t size)
{
	while (size) {
		size_t room;
		unsigned char *place;

		turn_until(peer, BR_SSL_SENDAPP);
		place = br_ssl_engine_sendapp_buf(peer->engine, &room);
		if (!place)
			fail_msg("TLS ended: error %d", peer_error(peer));
		room = room < size ? room : size;
		memcpy(place, data, room);
		br_ssl_engine_sendapp_ack(peer->engine, room);
		br_ssl_engine_flush(peer->engine, 0);
		data += room;
		size -= room;
	}
	turn_until(peer, BR_SSL_SENDAPP);
	while (is(peer, BR_SSL_SENDREC))
		peer_turn(peer);
}

void peer_puts(struct peer *peer, const char *text)
{
	peer_put(peer, text, strlen(text));
}

size_t peer_read(struct peer *peer, char *data, size_t size)
{
	size_t have;
	unsigned char *plain;

	for (uint64_t end = now_ms() + PATIENCE_MS;
	     !is(peer, BR_SSL_RECVAPP | BR_SSL_CLOSED);) {
		char byte;

		if (!peer_turn(peer))
			usleep(100);
		/* An end without a close_notify. */
		if (recv(peer->fd, &byte, 1, MSG_PEEK) == 0)
			return 0;
		if (now_ms() > end)
			fail_msg("nothing came; last log: %s", peer->f->log);
	}
	plain = br_ssl_engine_recvapp_buf(peer->engine, &have);
	if (!plain)
		return 0;
	size = have < size ? have : size;
	memcpy(data, plain, size);
	br_ssl_engine_recvapp_ack(peer->engine, size);
	return size;
}

const char *peer_head(struct peer *peer)
{
	static char head[70000];
	size_t size = 0;

	do {
		if (!peer_read(peer, &head[size], 1))
			fail_msg("no whole head: %.*s (error %d; last log: %s)",
				 (int)size, head, peer_error(peer),
				 peer->f->log);
		head[++size] = '\0';
	} while (!strstr(head, "\r\n\r\n") && size < sizeof(head) - 1);
	return head;
}

void peer_want(struct peer *peer, const char *text)
{
	size_t size = strlen(text), have = 0;
	char *got = calloc(1, size + 1);

	while (have < size) {
		size_t more = peer_read(peer, got + have, size - have);

		have += more;
		if (!more || memcmp(got, text, have) != 0) {
			print_error("wanted: %s\ngot: %s\n", text, got);
			fail_msg("%s", more ? "other bytes" : "ended");
		}
	}
	free(got);
}

int peer_error(struct peer *peer)
{
	return br_ssl_engine_last_error(peer->engine);
}

void peer_free(struct peer *peer)
{
	close(peer->fd);
	verify_free(&peer->verify);
	authority_leaf_put(peer->leaf);
	free(peer);
}
