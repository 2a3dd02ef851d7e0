/* SPDX-License-Identifier: Apache-2.0 */
/* Tunnels: bytes both ways, ends and failures passed on. */
#include "proxy/internal.h"

/* One way of a tunnel. Stops while the receiver is behind. */
static bool move(struct stream *from, struct stream *to,
		 const struct exchange *scrubbed)
{
	struct proxy_text input = stream_input(from);

	if (stream_pending(to))
		return false;
	if (input.size) {
		if (!scrubbed)
			stream_send(to, input);
		else if (!scrub_frames(scrubbed, to, input))
			return false;
		stream_consume(from, input.size);
		return true;
	}
	if (!from->eof || to->end_wanted)
		return false;
	stream_end(to);
	return true;
}

/*
 * A failure on one side reaches the other as a reset, behind what had come
 * before it.
 */
static void fail(struct client *client, struct stream *good)
{
	if (stream_error(good) || !stream_pending(good)) {
		struct stream *up = client->exchange->up;

		if (!stream_error(up))
			stream_close(up, true);
		client_close(client, true);
	}
}

bool relay_step(struct client *client)
{
	struct stream *down = &client->stream;
	struct stream *up = client->exchange->up;
	const struct exchange *scrubbed =
		client->exchange->scrub.set ? client->exchange : NULL;
	bool moved;

	if (stream_error(up)) {
		if (!stream_error(down) && move(up, down, scrubbed))
			return true;
		fail(client, down);
		return false;
	}
	if (stream_error(down)) {
		if (move(down, up, NULL))
			return true;
		fail(client, up);
		return false;
	}
	moved = move(down, up, NULL);
	moved = move(up, down, scrubbed) || moved;
	if (down->eof && up->eof && down->ended && up->ended)
		client_close(client, false);
	return moved;
}
