/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy's own structures, shared by its files only. */
#ifndef SRT_PROXY_INTERNAL_H
#define SRT_PROXY_INTERNAL_H

#include <stdlib.h>
#include <sys/queue.h>

#include "proxy/dial.h"
#include "proxy/http1.h"
#include "proxy/proxy.h"
#include "proxy/stream.h"

enum {
	PROXY_SCRATCH = 65536,	/* one read */
	PROXY_AHEAD = 16384,	/* input kept for later before reading stops */
	PROXY_DRAIN = 65536,	/* unread body worth reading to keep a client */
	PROXY_LINGER_MS = 2000, /* for the client to read our last words */
	PROXY_DRAIN_MS = 5000,
	PROXY_RETRY_MS = 100, /* after accept ran out of descriptors */
};

struct client;
struct listener;
struct socks;

/**
 * struct proxy - @refs counts everything with a callback still to come, and
 * one for the owner until proxy_close()
 */
struct proxy {
	uv_loop_t *loop;
	struct proxy_hooks hooks;
	struct proxy_limits limits;
	LIST_HEAD(client_list, client) clients;
	LIST_HEAD(listener_list, listener) listeners;
	char *scratch;
	size_t refs;
	unsigned int client_count;
	bool closing;
};

void proxy_hold(struct proxy *proxy);
void proxy_release(struct proxy *proxy);

/** proxy_client_gone() - a place is free: accept again */
void proxy_client_gone(struct proxy *proxy);

/** proxy_log() - one line to hooks->log; long ones are cut */
void proxy_log(struct proxy *proxy, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

struct proxy_ask {
	struct client *client;
	bool open; /* asked and neither answered nor cancelled */
};

/* Where the response of an exchange stands. */
enum response_state { RESPONSE_HEAD, RESPONSE_BODY, RESPONSE_DONE };

/**
 * struct exchange - one request or tunnel and its answer
 * @head, @headers: what @request borrows from; freed once decided
 * @socks: the negotiation of a SOCKS client, until decided; @socks_version:
 *	what its replies are written in, 0 for HTTP
 * @body: reads the client's body; @forward: the head to send upstream
 * @host: canonical, from the verdict; owned
 * @answer, @scan: read the response; @interim: 1xx seen
 * @chunk_down: the response's body goes out as chunks
 * @until_close: it goes out bare, so its end is the connection's
 * @started: some of the final response went to the client
 * @close_after: the client connection ends with this exchange
 * @by_parent: @up leads to a parent proxy, which gets the absolute form
 */
struct exchange {
	struct proxy_ask ask;
	struct proxy_question question;
	struct http1_request request;
	char *head;
	struct proxy_header *headers;
	struct socks *socks;
	struct pbuf forward;
	char *host;
	struct dial *dial;
	struct stream *up;
	struct http1_body body;
	struct http1_body answer;
	struct http1_scan scan;
	enum response_state response;
	unsigned int interim;
	uint8_t socks_version;
	bool is_head;
	bool chunk_down;
	bool started;
	bool until_close;
	bool close_after;
	bool by_parent;
};

enum client_state {
	CLIENT_HEAD,  /* reading a request head, or idle */
	CLIENT_SOCKS, /* negotiating */
	CLIENT_ASK,   /* waiting for the verdict */
	CLIENT_DIAL,
	CLIENT_EXCHANGE, /* request body up, response down */
	CLIENT_TUNNEL,
	CLIENT_DRAIN,  /* answered; reading the rest of the request body */
	CLIENT_LINGER, /* output, our end, then the client's end */
	CLIENT_CLOSED,
};

/**
 * struct client - one accepted connection
 * @since: loop time of entering @state, or of the first byte of a head
 * @armed: when the timer goes off; 0 when it is not running
 * @drained: bytes read in CLIENT_DRAIN; @blanks: empty lines skipped
 * @handles: close callbacks to come before the memory may go
 * @fresh: nothing was read yet
 * @pumping, @again: keep client_pump() from recursing
 * @reset: CLIENT_LINGER ends by RST; @ended: our end is out
 */
struct client {
	LIST_ENTRY(client) link;
	struct proxy *proxy;
	struct stream stream;
	uv_timer_t timer;
	enum client_state state;
	uint64_t since;
	uint64_t armed;
	struct http1_scan scan;
	struct exchange *exchange;
	size_t drained;
	unsigned int blanks;
	unsigned int handles;
	bool fresh;
	bool pumping;
	bool again;
	bool reset;
	bool ended;
};

/* client.c: the life of a connection */

/**
 * client_accept() - serve a connected socket; takes @fd in any case
 * @passage: a port of the host's loopback to hand it to, unread; 0 for none
 */
void client_accept(struct proxy *proxy, int fd, uint16_t passage);

/** client_enter() - change the state */
void client_enter(struct client *client, enum client_state state);

/** client_pump() - move on as far as possible; safe from within itself */
void client_pump(struct client *client);

/** client_close() - drop the connection and all that hangs on it */
void client_close(struct client *client, bool reset);

/** client_cut() - end so that the client can tell the answer is incomplete */
void client_cut(struct client *client);

/** client_next() - the answer is out: the next request, or the end */
void client_next(struct client *client);

/* exchange.c: from head to verdict to upstream */

bool exchange_begin(struct client *client, size_t head_size);
void exchange_free(struct exchange *exchange);

/** exchange_ask() - have what is in the exchange's request decided */
void exchange_ask(struct client *client);

/** exchange_check_body() - look at the body bytes held, without using them */
enum http1_step exchange_check_body(const struct client *client,
				    const char **reason);

/** exchange_forget() - free what only the question needed */
void exchange_forget(struct exchange *exchange);

/* forward.c: a plain request under way */

/** forward_head() - build the head for upstream; NULL or what is wrong */
const char *forward_head(struct exchange *exchange,
			 const struct proxy_verdict *verdict);

/** forward_check_edits() - NULL, or why such headers cannot be set */
const char *forward_check_edits(const struct proxy_verdict *verdict);

bool forward_step(struct client *client);
void forward_expire(struct client *client);

/* relay.c: tunnels */

bool relay_step(struct client *client);

/* socks_client.c: clients that speak SOCKS */

bool socks_begin(struct client *client);
bool socks_step(struct client *client);

/** socks_granted() - queue the reply that opens the tunnel */
void socks_granted(struct client *client);

/* passage.c: clients handed to a proxy of the user's own */

void passage_begin(struct client *client, uint16_t port);

/* reply.c: answers of our own */

/**
 * struct reply - an answer
 * @phrase: reason phrase, cleaned before use; NULL for the standard one
 * @code: X-Proxy-Error; NULL for none
 * @reason: the body is this and a newline, unless @body has data
 * @error: of upstream-failure: what the system said, negative
 */
struct reply {
	unsigned int status;
	int error;
	const char *phrase;
	const char *code;
	const char *reason;
	struct proxy_text body;
	const struct proxy_header *set;
	size_t set_count;
};

/**
 * reply_send() - queue an answer and leave the exchange
 * @close: the connection ends behind it
 */
void reply_send(struct client *client, const struct reply *reply, bool close);

/** socks_answer() - the same for a SOCKS client: a code, then the end */
void socks_answer(struct client *client, const struct reply *reply);

/** reply_failure() - our own refusal or failure, logged, then the end */
void reply_failure(struct client *client, unsigned int status, const char *code,
		   const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
