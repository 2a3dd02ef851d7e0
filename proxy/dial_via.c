/* SPDX-License-Identifier: Apache-2.0 */
/* Leaving by another proxy: at its Unix socket, and through its tunnel. */
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "proxy/dial_private.h"

enum { INTERIM_MAX = 16, PHRASE_MAX = 100 };

static size_t size_of(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

static char *put(char **at, const char *text)
{
	char *copy = *at;

	if (!text)
		return NULL;
	memcpy(copy, text, size_of(text));
	*at += size_of(text);
	return copy;
}

struct proxy_via *via_copy(const struct proxy_via *via)
{
	struct proxy_via *copy = calloc(1, sizeof(*copy) + size_of(via->host) +
						   size_of(via->socket) +
						   size_of(via->authorization));
	char *texts = (char *)(copy + 1);

	if (!copy)
		return NULL;
	copy->host = put(&texts, via->host);
	copy->socket = put(&texts, via->socket);
	copy->authorization = put(&texts, via->authorization);
	copy->port = via->port;
	return copy;
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool via_same(const struct proxy_via *a, const struct proxy_via *b)
{
	if (!a || !b)
		return a == b;
	return a->port == b->port && same(a->host, b->host) &&
	       same(a->socket, b->socket) &&
	       same(a->authorization, b->authorization);
}

int dial_via(struct dial *dial, const struct proxy_via *via, bool tunnel)
{
	dial->via = via_copy(via);
	dial->tunnel = tunnel;
	return dial->via ? 0 : -ENOMEM;
}

static void fail_unix(struct dial *dial, int error)
{
	char cause[400];

	snprintf(cause, sizeof(cause),
		 "the proxy at %.300s can't be reached: %s", dial->via->socket,
		 uv_strerror(error));
	dial_fail(dial, dial_status(error), error, "cannot connect to", cause);
}

/* A connected descriptor, or -errno; connect(2) does not wait here. */
static int connect_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, error;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
		return fd;
	error = -errno;
	close(fd);
	return error;
}

static void on_retry(uv_timer_t *timer)
{
	struct dial *dial = timer->data;

	if (uv_now(dial->proxy->loop) < dial->deadline)
		via_connect_unix(dial);
	else
		fail_unix(dial, UV_ETIMEDOUT);
}

void via_connect_unix(struct dial *dial)
{
	int fd = connect_unix(dial->via->socket), error;
	struct stream *stream;

	/* Kept connections make room. */
	if (dial_no_room(fd) && pool_shed(dial->proxy))
		fd = connect_unix(dial->via->socket);
	if (fd == -EAGAIN) {
		uv_timer_start(&dial->timer, on_retry, DIAL_UNIX_RETRY_MS, 0);
		return;
	}
	if (fd < 0) {
		fail_unix(dial, fd);
		return;
	}
	stream = dial_stream(dial);
	/* libuv's TCP handles are byte streams; it asks for no family. */
	error = stream ? uv_tcp_open(&stream->tcp, fd) : UV_ENOMEM;
	if (!error) {
		dial_connected(dial, stream);
		return;
	}
	close(fd);
	if (stream)
		stream_close(stream, false);
	fail_unix(dial, error);
}

static void fail_tunnel(struct dial *dial, unsigned int status,
			const char *cause)
{
	dial_fail(dial, status, status == 504 ? UV_ETIMEDOUT : UV_EHOSTUNREACH,
		  "the parent proxy opened no tunnel to", cause);
}

static void take_response(struct dial *dial,
			  const struct http1_response *response)
{
	struct stream *stream = dial->parent;
	const struct dial_result result = { .stream = stream };
	char cause[PHRASE_MAX + 64];

	if (response->status < 200) {
		dial->scan = (struct http1_scan){ 0 };
		if (response->status == 101 || ++dial->interim > INTERIM_MAX)
			fail_tunnel(dial, 502, "its answer is no final one");
		return;
	}
	if (response->status >= 300) {
		snprintf(cause, sizeof(cause), "it answered %u %.*s%s",
			 response->status,
			 (int)(response->phrase.size > PHRASE_MAX
				       ? PHRASE_MAX
				       : response->phrase.size),
			 response->phrase.data,
			 response->status == 407
				 ? " (are its credentials right?)"
				 : "");
		fail_tunnel(dial, response->status == 504 ? 504 : 502, cause);
		return;
	}
	dial->parent = NULL;
	stream->owner = NULL;
	stream->wake = NULL;
	stream_want(stream, false);
	dial_finish(dial, &result);
}

/* The head of @size bytes is there; it goes before anybody else reads. */
static void parse_response(struct dial *dial, size_t size)
{
	size_t fields = http1_fields(&dial->scan);
	struct proxy_header *headers =
		calloc(fields ? fields : 1, sizeof(*headers));
	char *head = malloc(size);
	struct http1_response response;
	struct http1_refusal refusal = { 502, "out of memory" };
	bool ok = headers && head;

	if (ok) {
		memcpy(head, stream_input(dial->parent).data, size);
		stream_consume(dial->parent, size);
		ok = http1_response(&response, head, size, headers, fields,
				    &refusal);
	}
	if (ok)
		take_response(dial, &response);
	else
		fail_tunnel(dial, 502, refusal.reason);
	free(headers);
	free(head);
}

static void on_parent(void *owner)
{
	struct dial *dial = owner;

	while (!dial->over) {
		struct stream *stream = dial->parent;
		struct proxy_text input = stream_input(stream);
		struct http1_refusal refusal;
		ssize_t size =
			http1_scan(&dial->scan, input.data, input.size,
				   dial->proxy->limits.header_bytes, &refusal);

		if (size > 0) {
			parse_response(dial, (size_t)size);
			continue;
		}
		if (size < 0)
			fail_tunnel(dial, 502, refusal.reason);
		else if (stream->eof || stream_error(stream))
			fail_tunnel(dial, 502, "it closed the connection");
		return;
	}
}

static void on_silence(uv_timer_t *timer)
{
	fail_tunnel(timer->data, 504, "it gave no answer in time");
}

/* What goes up is from the verdict, never what the client spelled. */
void via_open_tunnel(struct dial *dial, struct stream *stream)
{
	struct pbuf *out = &stream->out;
	bool v6 = strchr(dial->host, ':') != NULL;
	char target[300];

	snprintf(target, sizeof(target), "%s%.255s%s:%u", v6 ? "[" : "",
		 dial->host, v6 ? "]" : "", dial->port);
	pbuf_format(out, "CONNECT %s HTTP/1.1\r\n", target);
	pbuf_format(out, "Host: %s\r\n", target);
	if (dial->via->authorization) {
		pbuf_format(out, "Proxy-Authorization: ");
		pbuf_text_add(out, proxy_text_of(dial->via->authorization));
		pbuf_format(out, "\r\n");
	}
	pbuf_add(out, "\r\n", 2);
	dial->parent = stream;
	stream->owner = dial;
	stream->wake = on_parent;
	uv_timer_start(&dial->timer, on_silence, dial_left(dial), 0);
	stream_want(stream, true);
	stream_flush(stream);
	if (stream_error(stream))
		fail_tunnel(dial, 502, "it closed the connection");
}
