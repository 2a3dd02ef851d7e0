/* SPDX-License-Identifier: Apache-2.0 */
/* DNS inside: answers are made up, and known again when somebody connects. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <unistd.h>

#include "proxy/dns.h"
#include "proxy/internal.h"
#include "proxy/names.h"

enum {
	QUERY_MAX = 4096,  /* no question is longer */
	ANSWERS_TURN = 64, /* before others get a turn */
	LENGTH = 2,	   /* in front of a message in a stream */
};

/* Whether clients that follow our answers come to us. */
enum led { LED_NOT, LED_ASKED, LED, LED_FAILED };

struct resolver {
	struct proxy *proxy;
	struct proxy_resolver with;
	struct in_addr v4;
	struct in6_addr v6;
	struct names *names;
	uv_poll_t poll;
	struct sockaddr_storage here; /* the name of @fd */
	enum led led;
	int fd;
};

static uint32_t number_of(const struct resolver *resolver,
			  const uint8_t *address, size_t size)
{
	const uint8_t *base = size == 4 ? (const void *)&resolver->v4
					: (const void *)&resolver->v6;
	uint32_t at, from;

	if (size == 16 && memcmp(address, base, 12) != 0)
		return 0;
	memcpy(&at, address + size - 4, 4);
	memcpy(&from, base + size - 4, 4);
	return ntohl(at) - ntohl(from);
}

static void put_address(const struct resolver *resolver, uint32_t number,
			struct dns_answer *answer, size_t size)
{
	const uint8_t *base = size == 4 ? (const void *)&resolver->v4
					: (const void *)&resolver->v6;
	uint32_t last;

	memcpy(answer->address, base, size);
	memcpy(&last, base + size - 4, 4);
	last = htonl(ntohl(last) + number);
	memcpy(answer->address + size - 4, &last, 4);
	answer->address_size = size;
}

bool resolver_origin(const struct resolver *resolver,
		     const struct sockaddr *peer, struct sockaddr_storage *to)
{
	return resolver && resolver->with.origin &&
	       resolver->with.origin(resolver->with.context, peer, to);
}

const char *resolver_name(const struct resolver *resolver,
			  const struct sockaddr *address)
{
	const void *bytes =
		address->sa_family == AF_INET6
			? (const void *)&((const struct sockaddr_in6 *)address)
				  ->sin6_addr
			: (const void *)&((const struct sockaddr_in *)address)
				  ->sin_addr;

	if (!resolver)
		return NULL;
	return names_at(resolver->names,
			number_of(resolver, bytes,
				  address->sa_family == AF_INET6 ? 16 : 4));
}

/* RFC 6761 6.3 */
static bool is_localhost(const char *name)
{
	static const char localhost[] = "localhost";
	size_t size = strlen(name), tail = sizeof(localhost) - 1;

	return size >= tail && !strcmp(name + size - tail, localhost) &&
	       (size == tail || name[size - tail - 1] == '.');
}

static void answer_localhost(const struct dns_query *query,
			     struct dns_answer *answer)
{
	if (query->type == DNS_A) {
		memcpy(answer->address, (uint8_t[]){ 127, 0, 0, 1 }, 4);
		answer->address_size = 4;
	} else if (query->type == DNS_AAAA) {
		memcpy(answer->address, &in6addr_loopback, 16);
		answer->address_size = 16;
	}
}

static void answer_reversed(const struct resolver *resolver,
			    const struct dns_query *query,
			    struct dns_answer *answer)
{
	static const uint8_t loopback[] = { 127, 0, 0, 1 };
	uint8_t address[16];
	size_t size = dns_reversed(address, query->name);

	if (size == 4 && !memcmp(address, loopback, sizeof(loopback)))
		answer->pointer = "localhost";
	else if (size)
		answer->pointer = names_at(resolver->names,
					   number_of(resolver, address, size));
	if (!answer->pointer)
		answer->code = DNS_NO_NAME;
}

static void answer_name(const struct resolver *resolver,
			const struct proxy_asker *asker,
			const struct dns_query *query,
			struct dns_answer *answer)
{
	const struct proxy_resolver *with = &resolver->with;
	const char *reason = with->refuse(with->context, query->name, asker);
	uint32_t number;

	if (reason) {
		/* Of all codes it is the one that every resolver takes for an
		 * answer: musl waits on after REFUSED, glibc asks again. */
		answer->code = DNS_NO_NAME;
		answer->detail = DNS_DETAIL_BLOCKED;
		answer->text = reason;
		proxy_log(resolver->proxy, "no address for %s (%s)",
			  query->name, reason);
		return;
	}
	if (query->type != DNS_A && query->type != DNS_AAAA)
		return;
	number = resolver->led == LED
			 ? names_number(resolver->names, query->name)
			 : 0;
	if (!number)
		answer->code = DNS_FAILED;
	else
		put_address(resolver, number, answer,
			    query->type == DNS_A ? 4 : 16);
}

/* The size of the answer; 0 for none. */
static size_t answer(const struct resolver *resolver,
		     const struct proxy_asker *asker, const uint8_t *data,
		     size_t size, uint8_t out[DNS_ANSWER_MAX])
{
	struct dns_answer answer = { .code = DNS_OK };
	struct dns_query query;
	int code = dns_read(&query, data, size);

	if (code < 0)
		return 0;
	answer.code = (enum dns_code)code;
	if (code == DNS_OK && (!query.plain || !query.name[0]))
		answer.code = DNS_NO_NAME;
	else if (code == DNS_OK && is_localhost(query.name))
		answer_localhost(&query, &answer);
	else if (code == DNS_OK && query.type == DNS_PTR)
		answer_reversed(resolver, &query, &answer);
	else if (code == DNS_OK)
		answer_name(resolver, asker, &query, &answer);
	return dns_write(out, &query, &answer);
}

/* False: proxy_led() will come. */
static bool is_ready(struct resolver *resolver)
{
	if (resolver->led == LED_NOT) {
		resolver->led = LED_ASKED;
		resolver->with.prepare(resolver->with.context);
	}
	return resolver->led > LED_ASKED;
}

static bool answer_one(const struct resolver *resolver)
{
	uint8_t query[QUERY_MAX], out[DNS_ANSWER_MAX];
	struct proxy_asker asker = { .remote = resolver->here,
				     .datagrams = true };
	struct sockaddr *from = (struct sockaddr *)&asker.local;
	socklen_t from_size = sizeof(asker.local);
	ssize_t size = recvfrom(resolver->fd, query, sizeof(query), 0, from,
				&from_size);
	size_t told;

	if (size < 0)
		return errno == EINTR;
	told = answer(resolver, &asker, query, (size_t)size, out);
	/* What finds no room is asked again, as with any datagram. */
	if (told)
		(void)sendto(resolver->fd, out, told, MSG_NOSIGNAL, from,
			     from_size);
	return true;
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct resolver *resolver = poll->data;

	(void)status;
	(void)events;
	if (!is_ready(resolver)) {
		uv_poll_stop(poll);
		return;
	}
	for (int turn = 0; turn < ANSWERS_TURN; turn++) {
		if (!answer_one(resolver))
			return;
	}
}

void proxy_led(struct proxy *proxy, int error)
{
	struct resolver *resolver = proxy->resolver;
	struct client *client, *next;

	if (!resolver || proxy->closing)
		return;
	resolver->led = error ? LED_FAILED : LED;
	if (error)
		proxy_log(proxy,
			  "programs that ignore proxies can't be "
			  "served: the kernel has no nf_tables for us "
			  "(%s)",
			  uv_strerror(error));
	(void)uv_poll_start(&resolver->poll, UV_READABLE, on_readable);
	for (client = LIST_FIRST(&proxy->clients); client; client = next) {
		next = LIST_NEXT(client, link);
		if (client->state == CLIENT_DNS)
			client_pump(client);
	}
}

/* The message at the front of the input, where it is whole; or NULL. */
static const uint8_t *whole_message(struct proxy_text input, size_t *size)
{
	const uint8_t *data = (const uint8_t *)input.data;

	if (input.size < LENGTH)
		return NULL;
	*size = (size_t)(data[0] << 8 | data[1]);
	return input.size - LENGTH >= *size ? data + LENGTH : NULL;
}

/* Of a client that is gone, it is nobody's. */
static struct proxy_asker asker_of(const struct client *client)
{
	struct proxy_asker asker = { 0 };
	int local = sizeof(asker.local), remote = sizeof(asker.remote);

	if (uv_tcp_getpeername(&client->stream.tcp,
			       (struct sockaddr *)&asker.local, &local) ||
	    uv_tcp_getsockname(&client->stream.tcp,
			       (struct sockaddr *)&asker.remote, &remote))
		return (struct proxy_asker){ 0 };
	return asker;
}

bool resolver_step(struct client *client)
{
	struct resolver *resolver = client->proxy->resolver;
	struct stream *stream = &client->stream;
	uint8_t out[LENGTH + DNS_ANSWER_MAX];
	struct proxy_asker asker;
	size_t size = 0, told;
	const uint8_t *message = whole_message(stream_input(stream), &size);

	if (size > QUERY_MAX) {
		client_cut(client);
		return true;
	}
	if (!message) {
		if (stream->eof)
			client_enter(client, CLIENT_LINGER);
		return stream->eof;
	}
	if (stream_pending(stream) || !is_ready(resolver))
		return false;
	asker = asker_of(client);
	told = answer(resolver, &asker, message, size, out + LENGTH);
	if (!told) {
		client_cut(client);
		return true;
	}
	out[0] = (uint8_t)(told >> 8);
	out[1] = (uint8_t)told;
	stream_consume(stream, LENGTH + size);
	pbuf_add(&stream->out, (const char *)out, LENGTH + told);
	return true;
}

static void on_closed(uv_handle_t *handle)
{
	struct resolver *resolver = handle->data;
	struct proxy *proxy = resolver->proxy;

	names_free(resolver->names);
	free(resolver);
	proxy_release(proxy);
}

void resolver_close(struct proxy *proxy)
{
	struct resolver *resolver = proxy->resolver;

	proxy->resolver = NULL;
	if (!resolver)
		return;
	uv_close((uv_handle_t *)&resolver->poll, on_closed);
	close(resolver->fd);
}

static int resolver_init(struct resolver *resolver, struct proxy *proxy, int fd,
			 const struct proxy_resolver *with)
{
	socklen_t size = sizeof(resolver->here);

	resolver->proxy = proxy;
	resolver->with = *with;
	resolver->fd = fd;
	resolver->names = names_new();
	if (!resolver->names)
		return -ENOMEM;
	if (inet_pton(AF_INET, with->v4, &resolver->v4) != 1 ||
	    inet_pton(AF_INET6, with->v6, &resolver->v6) != 1)
		return -EINVAL;
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ||
	    getsockname(fd, (struct sockaddr *)&resolver->here, &size))
		return -errno;
	/* This also makes the socket non-blocking. */
	return uv_poll_init(proxy->loop, &resolver->poll, fd);
}

int proxy_resolve(struct proxy *proxy, int fd,
		  const struct proxy_resolver *with)
{
	struct resolver *resolver = calloc(1, sizeof(*resolver));
	int error =
		resolver ? resolver_init(resolver, proxy, fd, with) : -ENOMEM;

	if (error) {
		if (resolver)
			names_free(resolver->names);
		free(resolver);
		close(fd);
		return error;
	}
	resolver->poll.data = resolver;
	proxy->resolver = resolver;
	proxy_hold(proxy);
	return uv_poll_start(&resolver->poll, UV_READABLE, on_readable);
}
