/* SPDX-License-Identifier: Apache-2.0 */
/* The proxy's own structures, shared by its files only. */
#ifndef SRT_PROXY_INTERNAL_H
#define SRT_PROXY_INTERNAL_H

#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "proxy/dial.h"
#include "proxy/http1.h"
#include "proxy/pool.h"
#include "proxy/proxy.h"
#include "proxy/stream.h"
#include "proxy/stream_tls.h"
#include "proxy/tls.h"

enum {
	PROXY_BURST = 262144, /* one read of what flows on at once; */
	PROXY_PACES = 3,      /* doubled so often where it flows fast */
	PROXY_SCRATCH = PROXY_BURST << PROXY_PACES,
	PROXY_READ = 16384,	/* one read of what has to be kept */
	PROXY_PATIENT = 8192,	/* a head of that size is read to its end */
	PROXY_AHEAD = 16384,	/* input kept for later before reading stops */
	PROXY_DRAIN = 65536,	/* unread body worth reading to keep a client */
	PROXY_LINGER_MS = 2000, /* for the client to read our last words */
	PROXY_DRAIN_MS = 5000,
	PROXY_LOOK_MS = 500,  /* between looks at a client left unread */
	PROXY_RETRY_MS = 100, /* after accept ran out of descriptors */
};

struct client;
struct listener;
struct reply;
struct resolver;
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
	struct pool pool;
	bool (*admit)(void *context, const struct sockaddr *peer);
	void *admit_context;
	struct resolver *resolver; /* NULL: none */
	struct tls *tls;	   /* NULL: nothing is terminated */
	struct pbuf strip;	   /* a comma list of names */
	struct pbuf secret;	   /* the bytes of @login */
	struct proxy_login login;  /* no @authorization: everybody is heard */
	char *scratch; /* PROXY_SCRATCH bytes, once something was read */
	size_t held;   /* by the buffers of all streams */
	size_t refs;
	unsigned int tunnel_count;
	unsigned int client_count;
	bool closing;
};

void proxy_hold(struct proxy *proxy);
/* Whom alone the proxy hears; NULL: everybody */
const struct proxy_login *proxy_wants(const struct proxy *proxy);
void proxy_release(struct proxy *proxy);

/** proxy_client_gone() - a place is free: accept again */
void proxy_client_gone(struct proxy *proxy);

/** proxy_log() - one line to hooks->log; long ones are cut */
void proxy_log(struct proxy *proxy, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** proxy_refused() - tell hooks->refused where @client may not go */
void proxy_refused(const struct client *client, const char *what,
		   const char *reason);

struct proxy_ask {
	struct client *client;
	bool open; /* asked and neither answered nor cancelled */
};

/* Clients that speak no proxy protocol, by their listener. */
enum fixed_kind {
	FIXED_TO,	  /* one destination, asked about */
	FIXED_OPENER,	  /* what is opened for them */
	FIXED_PASSAGE,	  /* a proxy of the user's own, unasked */
	FIXED_REDIRECTED, /* where they were on their way to */
	FIXED_DNS,	  /* our resolver */
	FIXED_AUTHZ,	  /* nowhere: they ask about requests of others */
};

/**
 * struct fixed - where all clients of a listener go
 * @name: host and port, as logs show them; owned
 * @host_size: of the host, that @name begins with
 * @port: for FIXED_PASSAGE: of the host's loopback; no @name
 */
struct fixed {
	enum fixed_kind kind;
	char *name;
	size_t host_size;
	uint16_t port;
	struct proxy_opener opener;
};

/**
 * struct collected - what was read of a body before the verdict
 * @bytes: without framing; @decoded: also without its coding
 * @max: more than that need not be read now
 * @held: of the proxy's count
 * @wanted: reading goes on
 * @full: the proxy holds too much, so reading ended
 * @over: it ended with the connection
 * @done, @context: told when reading ends
 */
struct collected {
	struct pbuf bytes;
	struct pbuf decoded;
	size_t max;
	size_t held;
	bool wanted;
	bool full;
	bool over;
	void (*done)(void *context);
	void *context;
};

/* Where the response of an exchange stands. */
enum response_state {
	RESPONSE_HEAD,
	RESPONSE_ASK, /* the verdict on it is awaited */
	RESPONSE_BODY,
	RESPONSE_DONE,
};

struct review;

/**
 * struct exchange - one request or tunnel and its answer
 * @head, @headers: what @request borrows from; freed once decided
 * @socks: the negotiation of a SOCKS client, until decided; @socks_version:
 *	what its replies are written in, 0 for HTTP
 * @body: reads the client's body
 * @forward: the head to send upstream, kept while it may be sent again
 * @announced: names of the trailer fields that may go up; @trailers: what
 *	came of them; @answer_trailers: those of the response
 * @host: canonical, from the verdict; owned
 * @answer, @scan: read the response; @interim: 1xx seen
 * @chunk_down: the response's body goes out as chunks
 * @until_close: it goes out bare, so its end is the connection's
 * @started: some of the final response went to the client
 * @reusable: the upstream connection may serve another request
 * @reused: it has served one; @idempotent: the method is
 * @json: refusals are told in JSON
 * @tunnel: counts among the proxy's tunnels
 * @close_after: the client connection ends with this exchange
 * @raw: the client speaks no HTTP: nothing but the tunnel's bytes goes to it
 * @redirected: a raw one that was on its way to the request's host
 * @opener: of a raw one that needs no verdict
 * @inner: borrowed; the tunnel of the client that the request came in
 * @terminate, @inspect, @refuse_opaque: from the verdict on a tunnel
 * @granted: the client was told that its tunnel is there
 * @terminated: counts among the tunnels that are
 * @via: the proxy to leave by, from the verdict; owned; NULL for none
 * @fill, @scrub: what is replaced in the bodies, up and down; no set for
 *	nothing
 * @by_parent: @up leads to that proxy, which gets the absolute form
 * @sent, @got: of the request's and the response's body, before a verdict
 * @reviewed: the response is asked about; @token belongs to that; then @head
 *	is kept until there is an answer
 * @review: the response meanwhile
 * @continued: we have told the client to send its body
 * @discard: the client's body goes nowhere
 * @no_trailers: those of the response don't pass
 */
struct exchange {
	struct proxy_ask ask;
	struct proxy_question question;
	struct http1_request request;
	char *head;
	struct proxy_header *headers;
	struct socks *socks;
	struct pbuf forward;
	struct pbuf announced;
	struct pbuf trailers;
	struct pbuf answer_trailers;
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
	bool reusable;
	bool reused;
	bool idempotent;
	bool tunnel;
	bool json;
	bool close_after;
	bool raw;
	bool redirected;
	bool by_parent;
	bool terminate;
	bool inspect;
	bool refuse_opaque;
	bool granted;
	bool terminated;
	struct collected sent;
	struct collected got;
	struct review *review;
	int token;
	bool reviewed;
	bool continued;
	bool discard;
	bool no_trailers;
	struct proxy_opener opener;
	const struct inner *inner;
	struct proxy_via *via;
	struct substitute_stream fill;
	struct substitute_stream scrub;
};

/**
 * struct inner - a tunnel whose requests are read
 * @host: canonical, from the verdict; @spelled: as the client did; both owned
 * @origin: "https://host:port", for logs and denials; owned
 * @via: as of the verdict; owned
 * @sni: "" for none
 * @protocol: by which the tunnel was asked for
 * @spare: connected to the host and not used yet, or NULL
 * @counts_tls: among the tunnels that are terminated
 */
struct inner {
	char *host;
	char *spelled;
	char *origin;
	struct proxy_via *via;
	const char *protocol;
	struct stream *spare;
	uint16_t port;
	bool tls;
	bool counts_tls;
	char sni[256];
};

enum client_state {
	CLIENT_HEAD,  /* reading a request head, or idle */
	CLIENT_SOCKS, /* negotiating */
	CLIENT_DNS,   /* asking our resolver */
	CLIENT_ASK,   /* waiting for the verdict */
	CLIENT_DIAL,
	CLIENT_PEEK,	 /* in a tunnel: who speaks first, and what */
	CLIENT_SHAKE,	 /* our TLS handshake with the client */
	CLIENT_SHAKE_UP, /* and with the server */
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
 * @inner: the tunnel that its requests come in; owned; NULL for none
 * @fresh: nothing was read yet
 * @pumping, @again: keep client_pump() from recursing
 * @reset: CLIENT_LINGER ends by RST; @ended: our end is out
 * @finite: all that is still to be read is here, with its end
 * @authz: it asks about requests of others
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
	struct inner *inner;
	size_t drained;
	unsigned int blanks;
	unsigned int handles;
	bool fresh;
	bool pumping;
	bool again;
	bool reset;
	bool ended;
	bool finite;
	bool authz;
	void *kept; /* owned; of proxy_ends() */
};

/* client.c: the life of a connection */

/**
 * client_accept() - serve a connected socket; takes @fd in any case
 * @to: where all go, or NULL for HTTP
 */
void client_accept(struct proxy *proxy, int fd, const struct fixed *to);

/** client_enter() - change the state */
void client_enter(struct client *client, enum client_state state);

/** client_tunnel() - from now on bytes both ways, unread */
void client_tunnel(struct client *client);

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

/** exchange_ask() - have what is in the exchange's request decided */
void exchange_ask(struct client *client);

void exchange_free(struct exchange *exchange);

/** exchange_cancel() - whoever was asked need not answer any more */
void exchange_cancel(struct exchange *exchange);

/** exchange_check_body() - look at the body bytes held, without using them */
enum http1_step exchange_check_body(const struct client *client,
				    const char **reason);

/** exchange_forget() - free what only the question needed */
void exchange_forget(struct exchange *exchange);

/** exchange_check_early() - refuse a body that is bad as far as it is here */
bool exchange_check_early(struct client *client);

/* decision.c: what follows from a verdict */

/** decision_ends() - must the connection end behind an answer of our own? */
bool decision_ends(const struct client *client);

/** decision_deny(), decision_answer() - what the client gets instead */
void decision_deny(struct client *client, const struct proxy_verdict *verdict);
void decision_answer(struct client *client,
		     const struct proxy_verdict *verdict);

/** decision_unusable() - fail closed: 502 */
void decision_unusable(struct client *client, const char *wrong);

/* collect.c: bodies that are read before the verdict */

/** collect_request() - move on; true when something changed */
bool collect_request(struct client *client);

/** collect_response() - the same for upstream's */
bool collect_response(struct client *client);

/** collect_end() - free all that was collected; no one is told any more */
void collect_end(struct exchange *exchange);

/* upstream.c: the other side of an exchange */

/** upstream_open() - take a kept connection or dial, then go on */
void upstream_open(struct client *client);

/** upstream_dial() - a new connection, whatever is kept */
void upstream_dial(struct client *client);

/** upstream_take() - a connection becomes the other side of the exchange */
void upstream_take(struct client *client, struct stream *up);

/** upstream_begin() - the connection is ready: the request goes up */
void upstream_begin(struct client *client);

/**
 * upstream_retry() - a kept connection ended: once more on a new one?
 *
 * Only where not one byte of a response had come, and the request may be made
 * twice (RFC 9110 9.2.2, RFC 9112 9.3.1). False changes nothing.
 */
bool upstream_retry(struct client *client);

/** upstream_release() - the response is complete: keep the connection or not */
void upstream_release(struct client *client);

/** upstream_drop() - close the connection without a word to the client */
void upstream_drop(struct exchange *exchange);

/* peek.c: tunnels that are not to stay unread */

/** peek_begin() - the tunnel is there: look at what comes first */
void peek_begin(struct client *client);
bool peek_step(struct client *client);
void peek_expire(struct client *client);

/** peek_deadline() - loop time at which it has taken too long; 0 for never */
uint64_t peek_deadline(const struct client *client);

/* inner.c: tunnels whose requests are read */

/**
 * inner_begin() - the exchange, a tunnel, becomes the client's inner one
 * @sni: of TLS, "" for none; NULL where it is plain HTTP
 */
void inner_begin(struct client *client, const char *sni);
void inner_free(struct inner *inner);

/** inner_spare() - the connection that was made with the tunnel, if it fits */
struct stream *inner_spare(struct client *client);

/* shake.c: handshakes of TLS */

/** shake_begin() - be the client's TLS server */
void shake_begin(struct client *client);
bool shake_step(struct client *client);
void shake_expire(struct client *client);

/** shake_up_begin() - be the TLS client of the server */
void shake_up_begin(struct client *client);
bool shake_up_step(struct client *client);
void shake_up_expire(struct client *client);

/** shake_fail() - an alert in clear text, before there is TLS; then the end */
void shake_fail(struct client *client, unsigned char alert, const char *cause);

/* forward_head.c: what goes up first */

/** forward_head() - build the head for upstream; NULL or what is wrong */
const char *forward_head(struct exchange *exchange,
			 const struct proxy_verdict *verdict);

/** forward_check_edits() - NULL, or why such headers cannot be set */
const char *forward_check_edits(const struct proxy_verdict *verdict);

/** forward_edited() - is the field set or removed by the verdict? */
bool forward_edited(const struct proxy_verdict *verdict,
		    struct proxy_text name);

/** forward_of_body() - a field that is about the very bytes of a body */
bool forward_of_body(struct proxy_text name);

/** head_add() - a header line; head_add_framing() - those of the body */
void head_add(struct pbuf *out, const struct proxy_header *header);
void head_add_framing(struct pbuf *out, enum http1_framing framing,
		      uint64_t length);

/* forward.c: a plain request under way */

bool forward_step(struct client *client);
void forward_expire(struct client *client);

/** forward_fail() - an upstream failure, told where that is still possible */
void forward_fail(struct client *client, unsigned int status,
		  const char *cause);

/** forward_piece() - bytes of a body, as a chunk where @chunked */
void forward_piece(struct stream *to, bool chunked, struct proxy_text piece);

/** forward_listed() - is a name in a comma list? */
bool forward_listed(const struct pbuf *list, struct proxy_text name);

/**
 * forward_begun() - add to the head what goes up with it: a new body, or as
 * much of the client's as was read
 */
void forward_begun(struct exchange *exchange, struct proxy_text body);

/**
 * forward_end() - what ends a chunked body
 * @trailers: the section as it came, freed
 * @announced: the only names that may pass, or NULL for all that may trail and
 *	are not in
 * @strip: a comma list
 */
void forward_end(struct pbuf *out, bool chunked, struct pbuf *trailers,
		 const struct pbuf *announced, const struct pbuf *strip);

/* response.c: the way down */

bool response_step(struct client *client);

/* response_head.c: what goes down first */

/**
 * response_begin() - send the head of a final response, and a new body
 * @edits: NULL for none
 */
void response_begin(struct client *client,
		    const struct http1_response *response,
		    const struct proxy_verdict *edits);

/** response_interim() - pass a 1xx on, or become a tunnel (101) */
void response_interim(struct client *client,
		      const struct http1_response *response,
		      const struct proxy_verdict *edits);

/** response_framing() - how the body comes in; first of all */
void response_framing(struct exchange *exchange,
		      const struct http1_response *response);

/* review.c: responses that are asked about */

/**
 * review_begin() - keep a response until there is a verdict on it
 * @head: copied; was read as a response already, with @fields fields
 */
void review_begin(struct client *client, struct proxy_text head, size_t fields);

bool review_step(struct client *client);
void review_answer(struct client *client, const struct proxy_verdict *verdict);

/** review_end() - no review any more: free it, forget the token */
void review_end(struct exchange *exchange);

/** review_reads() - does upstream's connection have to be read? */
bool review_reads(const struct exchange *exchange);

/* scrub.c: values that are put in going up, and taken out coming down */

/** scrub_begin() - what the verdict asks for, done to the head that is built */
void scrub_begin(struct exchange *exchange,
		 const struct proxy_verdict *verdict);

/** scrub_check() - NULL, or why the response can't be passed on */
const char *scrub_check(const struct exchange *exchange,
			const struct http1_response *response);

/** scrub_text() - look through bytes of the answer */
void scrub_text(const struct exchange *exchange, char *data, size_t size);

/** scrub_replaced() - replace in what was added to @out behind @from */
void scrub_replaced(const struct substitute_stream *by, struct pbuf *out,
		    size_t from);

/**
 * scrub_ready() - what of @piece, and of what came before, may be sent on now
 *
 * Borrowed until scrub_sent() says how much of it was.
 */
struct proxy_text scrub_ready(struct substitute_stream *through,
			      struct proxy_text piece, bool last);
void scrub_sent(struct substitute_stream *through, size_t size);

/** scrub_added() - scrub_replaced() in an answer */
void scrub_added(const struct exchange *exchange, struct pbuf *out,
		 size_t from);

/**
 * scrub_piece() - forward_piece() of what is sure; @last: nothing follows
 * Return: false without memory: then the connection has to be cut.
 */
bool scrub_piece(struct substitute_stream *through, struct stream *to,
		 bool chunked, struct proxy_text piece, bool last);

/** scrub_frames() - what a WebSocket's server sent; false without memory */
bool scrub_frames(const struct exchange *exchange, struct stream *to,
		  struct proxy_text data);

/* relay.c: tunnels */

bool relay_step(struct client *client);

/* fixed.c: clients that speak no proxy protocol */

/** fixed_begin() - the client is new; it may be closed when this returns */
void fixed_begin(struct client *client, const struct fixed *to);

/* socks_client.c: clients that speak SOCKS */

bool socks_begin(struct client *client);
bool socks_step(struct client *client);

/** reply_is_denial() - by the policy, or is it trouble on the way? */
bool reply_is_denial(const struct reply *reply);

/** socks_granted() - queue the reply that opens the tunnel */
void socks_granted(struct client *client);

/* passage.c: clients handed to a proxy of the user's own */

void passage_begin(struct client *client, uint16_t port);

/* redirected.c: clients that were on their way elsewhere */

void redirected_begin(struct client *client);

/** redirected_from() - where a redirected client was on its way to, if it is */
bool redirected_from(int fd, struct sockaddr *out, socklen_t size);

/** redirected_answer() - the SSH client is told why, any other one reset */
void redirected_answer(struct client *client, const struct reply *reply);

/* resolver.c: DNS inside */

bool resolver_step(struct client *client);

/** resolver_name() - the name that an address was made up for, or NULL */
const char *resolver_name(const struct resolver *resolver,
			  const struct sockaddr *address);

/** resolver_origin() - of a client that the kernel did not redirect */
bool resolver_origin(const struct resolver *resolver,
		     const struct sockaddr *peer, struct sockaddr_storage *to);

void resolver_close(struct proxy *proxy);

/* reply.c: answers of our own */

/**
 * struct reply - an answer
 * @phrase: reason phrase, cleaned before use; NULL for the standard one
 * @code: X-Proxy-Error; NULL for none
 * @reason: of a refusal; with @title, @denied, @rule and @advice (each may be
 *	NULL) it makes the body, unless @body has data
 * @json: the client would rather read JSON
 * @error: of upstream-failure: what the system said, negative
 */
struct reply {
	unsigned int status;
	int error;
	const char *phrase;
	const char *code;
	const char *reason;
	const char *title;
	const char *denied;
	const char *rule;
	const char *advice;
	struct proxy_text body;
	const struct proxy_header *set;
	size_t set_count;
	bool json;
};

/* denial.c: refusals that say why */

/** denial_wants_json() - does Accept prefer application/json to text? */
bool denial_wants_json(const struct proxy_header *headers, size_t count);

/** denial_target() - method and target without its query, as a C string */
void denial_target(struct pbuf *out, const struct http1_request *request);

/** denial_body() - the body of a reply that has a reason and none of its own */
void denial_body(struct pbuf *out, const struct reply *reply);

/** reply_phrase() - the standard one of a status */
const char *reply_phrase(unsigned int status);

/** reply_add_phrase() - what ends a status line; control bytes are left out */
void reply_add_phrase(struct pbuf *out, const char *phrase);

/**
 * reply_send() - queue an answer and leave the exchange; a raw client is reset
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
