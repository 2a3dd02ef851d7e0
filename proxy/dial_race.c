/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to one of several addresses: Happy Eyeballs (RFC 8305). */
#include <stdio.h>

#include "proxy/dial_private.h"

/* The first address not taken yet, of @family if there is one. */
static size_t find(const struct dial *dial, const bool *taken, int family)
{
	size_t any = dial->count;

	for (size_t i = dial->count; i-- > 0;) {
		if (!taken[i])
			any = i;
	}
	for (size_t i = any; i < dial->count; i++) {
		if (!taken[i] && dial->addresses[i].any.sa_family == family)
			return i;
	}
	return any;
}

/*
 * The families take turns, the one that getaddrinfo(3) put first leading; the
 * order within each is kept (RFC 8305 4).
 */
static void take_turns(struct dial *dial)
{
	union address sorted[DIAL_ADDRESSES];
	bool taken[DIAL_ADDRESSES] = { false };
	int family = dial->addresses[0].any.sa_family;

	for (size_t count = 0; count < dial->count; count++) {
		size_t at = find(dial, taken, family);

		taken[at] = true;
		sorted[count] = dial->addresses[at];
		family = sorted[count].any.sa_family == AF_INET ? AF_INET6
								: AF_INET;
	}
	memcpy(dial->addresses, sorted, dial->count * sizeof(sorted[0]));
}

static void drop(struct stream *stream)
{
	stream->owner = NULL;
	stream_close(stream, false);
}

void race_drop(struct dial *dial)
{
	while (dial->racing)
		drop(dial->attempts[--dial->racing].stream);
}

/* Out of the race; where it was going to. */
static const union address *leave(struct dial *dial,
				  const struct stream *stream)
{
	size_t i = 0;
	const union address *address;

	while (dial->attempts[i].stream != stream)
		i++;
	address = dial->attempts[i].address;
	dial->attempts[i] = dial->attempts[--dial->racing];
	return address;
}

/* A host without IPv6 says so at once: that tells less than any other error. */
static bool says_little(int error)
{
	return error == UV_ENETUNREACH || error == UV_EHOSTUNREACH ||
	       error == UV_EADDRNOTAVAIL || error == UV_EAFNOSUPPORT;
}

static void note_failure(struct dial *dial, const union address *address,
			 int error)
{
	if (dial->error && says_little(error))
		return;
	dial->error = error;
	uv_ip_name(&address->any, dial->failed, sizeof(dial->failed));
}

static void fail(struct dial *dial)
{
	const struct proxy_via *via = dial->via;
	char cause[400];

	if (via)
		snprintf(cause, sizeof(cause),
			 "the parent proxy %.255s:%u can't be reached: %s",
			 via->host, via->port, uv_strerror(dial->error));
	else
		snprintf(cause, sizeof(cause), "%s (%s)",
			 uv_strerror(dial->error), dial->failed);
	dial_fail(dial, dial_status(dial->error), dial->error,
		  "cannot connect to", cause);
}

static void race_next(struct dial *dial);

static void on_connect(uv_connect_t *request, int status)
{
	struct stream *stream = request->data;
	struct dial *dial = stream->owner;
	const union address *address;

	if (stream->closing || !dial)
		return;
	address = leave(dial, stream);
	if (status < 0) {
		note_failure(dial, address, status);
		drop(stream);
		race_next(dial);
		return;
	}
	race_drop(dial);
	dial_connected(dial, stream);
}

static void on_time(uv_timer_t *timer)
{
	struct dial *dial = timer->data;

	if (uv_now(dial->proxy->loop) < dial->deadline) {
		race_next(dial);
		return;
	}
	note_failure(dial, dial->attempts[0].address, UV_ETIMEDOUT);
	race_drop(dial);
	fail(dial);
}

static int enter(struct dial *dial, const union address *address)
{
	struct stream *stream = dial_stream(dial);
	int error;

	if (!stream)
		return UV_ENOMEM;
	stream->connect.data = stream;
	error = uv_tcp_connect(&stream->connect, &stream->tcp, &address->any,
			       on_connect);
	/* Kept connections make room. */
	if (dial_no_room(error) && pool_shed(dial->proxy))
		error = uv_tcp_connect(&stream->connect, &stream->tcp,
				       &address->any, on_connect);
	if (error) {
		drop(stream);
		return error;
	}
	dial->attempts[dial->racing++] = (struct attempt){ stream, address };
	return 0;
}

/* The next address joins, at once where one has failed. */
static void race_next(struct dial *dial)
{
	bool joined = false;
	uint64_t left = dial_left(dial);

	while (!joined && dial->next < dial->count) {
		const union address *address = &dial->addresses[dial->next++];
		int error = enter(dial, address);

		joined = !error;
		if (error)
			note_failure(dial, address, error);
	}
	if (!dial->racing) {
		fail(dial);
		return;
	}
	if (dial->next < dial->count && left > DIAL_STAGGER_MS)
		left = DIAL_STAGGER_MS;
	uv_timer_start(&dial->timer, on_time, left, 0);
}

void race_start(struct dial *dial)
{
	take_turns(dial);
	race_next(dial);
}
