/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream connections that wait for their next request. */
#include "proxy/pool.h"

#include <sys/socket.h>

#include "proxy/internal.h"

/**
 * struct idle - one that waits
 * @hash: of @host and @port, so that few names are compared
 * @via: owned copy; NULL for a connection to the host itself
 */
struct idle {
	TAILQ_ENTRY(idle) link;
	struct proxy *proxy;
	struct stream *stream;
	uint64_t until;
	uint32_t hash;
	uint16_t port;
	unsigned int kind;
	struct proxy_via *via;
	char host[];
};

/* FNV-1a */
static uint32_t hash_of(const char *host, uint16_t port)
{
	uint32_t hash = 2166136261u ^ port;

	for (; *host; host++)
		hash = (hash ^ (unsigned char)*host) * 16777619u;
	return hash;
}

/* Takes the stream out; it is the caller's. */
static struct stream *withdraw(struct idle *idle)
{
	struct pool *pool = &idle->proxy->pool;
	struct stream *stream = idle->stream;

	TAILQ_REMOVE(&pool->idle, idle, link);
	pool->count--;
	stream->owner = NULL;
	stream->wake = NULL;
	free(idle->via);
	free(idle);
	return stream;
}

static void discard(struct idle *idle)
{
	stream_close(withdraw(idle), false);
}

/*
 * Nothing may come on an idle connection: its end, and bytes that would be
 * taken for the next response, are both a reason to drop it.
 */
static void on_idle_wake(void *owner)
{
	discard(owner);
}

static void arm(struct proxy *proxy);

static void on_timer(uv_timer_t *timer)
{
	struct proxy *proxy = timer->data;
	struct idle *oldest;

	while ((oldest = TAILQ_LAST(&proxy->pool.idle, idle_list)) &&
	       oldest->until <= uv_now(proxy->loop))
		discard(oldest);
	arm(proxy);
}

static void arm(struct proxy *proxy)
{
	struct idle *oldest = TAILQ_LAST(&proxy->pool.idle, idle_list);
	uint64_t now = uv_now(proxy->loop);

	if (oldest && !uv_is_active((uv_handle_t *)&proxy->pool.timer))
		uv_timer_start(&proxy->pool.timer, on_timer,
			       oldest->until > now ? oldest->until - now : 1,
			       0);
}

void pool_init(struct proxy *proxy)
{
	TAILQ_INIT(&proxy->pool.idle);
	uv_timer_init(proxy->loop, &proxy->pool.timer);
	proxy->pool.timer.data = proxy;
	proxy_hold(proxy);
}

/* Bytes or an end may have come since the loop last looked. */
static bool is_quiet(const struct stream *stream)
{
	uv_os_fd_t fd;
	char byte;

	return !stream->eof && !stream_error(stream) &&
	       uv_fileno((const uv_handle_t *)&stream->tcp, &fd) == 0 &&
	       recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       errno == EAGAIN;
}

/* Is there room for one more to this host, in the pool and of its own? */
static bool has_room(const struct proxy *proxy, uint32_t hash)
{
	const struct idle *idle;
	unsigned int same = 0;

	TAILQ_FOREACH(idle, &proxy->pool.idle, link)
	{
		if (idle->hash == hash)
			same++;
	}
	return same < proxy->limits.idle_upstreams_per_host;
}

void pool_park(struct proxy *proxy, const char *host, uint16_t port,
	       const struct proxy_via *via, unsigned int kind,
	       struct stream *stream)
{
	size_t size = strlen(host) + 1;
	uint32_t hash = hash_of(host, port);
	struct proxy_via *way = via ? via_copy(via) : NULL;
	struct idle *idle = NULL;

	stream->owner = NULL;
	stream->wake = NULL;
	if (!proxy->closing && !stream_error(stream) && !stream->eof &&
	    has_room(proxy, hash) && !way == !via)
		idle = malloc(sizeof(*idle) + size);
	stream_want(stream, true);
	if (!idle || stream_error(stream)) {
		free(way);
		free(idle);
		stream_close(stream, false);
		return;
	}
	*idle = (struct idle){
		.proxy = proxy,
		.stream = stream,
		.until = uv_now(proxy->loop) + proxy->limits.upstream_idle_ms,
		.hash = hash,
		.port = port,
		.kind = kind,
		.via = way,
	};
	memcpy(idle->host, host, size);
	stream->owner = idle;
	stream->wake = on_idle_wake;
	TAILQ_INSERT_HEAD(&proxy->pool.idle, idle, link);
	if (++proxy->pool.count > proxy->limits.idle_upstreams)
		discard(TAILQ_LAST(&proxy->pool.idle, idle_list));
	arm(proxy);
}

static bool fits(const struct idle *idle, uint32_t hash, const char *host,
		 uint16_t port, const struct proxy_via *via, unsigned int kind)
{
	return idle->hash == hash && idle->port == port && idle->kind == kind &&
	       strcmp(idle->host, host) == 0 && via_same(idle->via, via);
}

bool pool_has(const struct proxy *proxy, const char *host, uint16_t port,
	      const struct proxy_via *via, unsigned int kind)
{
	uint32_t hash = hash_of(host, port);
	const struct idle *idle;

	TAILQ_FOREACH(idle, &proxy->pool.idle, link)
	{
		if (fits(idle, hash, host, port, via, kind))
			return true;
	}
	return false;
}

struct stream *pool_take(struct proxy *proxy, const char *host, uint16_t port,
			 const struct proxy_via *via, unsigned int kind)
{
	uint32_t hash = hash_of(host, port);
	struct idle *idle = TAILQ_FIRST(&proxy->pool.idle);

	while (idle) {
		struct idle *next = TAILQ_NEXT(idle, link);

		if (fits(idle, hash, host, port, via, kind)) {
			struct stream *stream = withdraw(idle);

			if (is_quiet(stream)) {
				stream->touched = uv_now(proxy->loop);
				return stream;
			}
			stream_close(stream, false);
		}
		idle = next;
	}
	return NULL;
}

static void on_timer_closed(uv_handle_t *handle)
{
	proxy_release(handle->data);
}

bool pool_shed(struct proxy *proxy)
{
	bool any = !TAILQ_EMPTY(&proxy->pool.idle);

	while (!TAILQ_EMPTY(&proxy->pool.idle))
		discard(TAILQ_FIRST(&proxy->pool.idle));
	return any;
}

void pool_close(struct proxy *proxy)
{
	pool_shed(proxy);
	uv_close((uv_handle_t *)&proxy->pool.timer, on_timer_closed);
}
