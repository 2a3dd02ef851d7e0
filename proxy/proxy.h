/* SPDX-License-Identifier: Apache-2.0 */
/* The egress proxy: mechanism only. Every verdict is asked for. */
#ifndef SRT_PROXY_H
#define SRT_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include "proxy/login.h"
#include "proxy/substitute.h"
#include "proxy/text.h"

struct authority;
struct proxy;
struct proxy_ask;
struct trust;

enum proxy_ask_kind {
	PROXY_ASK_CONNECT,  /* an opaque tunnel: CONNECT or SOCKS */
	PROXY_ASK_REQUEST,  /* an HTTP request, plain or in a tunnel */
	PROXY_ASK_FORWARD,  /* a client of proxy_forward(): an opaque tunnel */
	PROXY_ASK_RESPONSE, /* to a request whose verdict said @review */
	PROXY_ASK_AUTHZ,    /* of a client of proxy_authorize() */
};

/**
 * struct proxy_question - what is asked; valid until the ask is answered
 * @protocol: "connect", "socks5", "socks4a" (SOCKS4, too), "http",
 *	"transparent" (of proxy_redirected()), or "loopback" (PROXY_ASK_FORWARD)
 * @host: as the client spelled it, without brackets; only bytes that the
 *	parser lets pass for a host. Canonical form is the hook's business.
 * @port: 1-65535; 80 when an http URL names none
 * @inside: PROXY_ASK_REQUEST within a tunnel that was allowed: @host and
 *	@port are those of its verdict, @protocol is the tunnel's
 * @tls: that tunnel's TLS is terminated here, so the scheme is https
 * @sni: the server name that the client asked TLS for; data NULL for none
 * @method, @target, @path, @query: PROXY_ASK_REQUEST only. @target is the
 *	request target as spelled, @path starts with '/', @query is without
 *	its '?' and has data NULL when there is none.
 * @headers: in wire order, hop-by-hop ones included
 * @status, @token: PROXY_ASK_RESPONSE only: 101 or 200-599, and the verdict's
 *	token. @host, @port and @method are those of the request, @headers the
 *	response's; target, path and query are not there.
 */
struct proxy_question {
	enum proxy_ask_kind kind;
	const char *protocol;
	struct proxy_text host;
	uint16_t port;
	struct proxy_text method;
	struct proxy_text target;
	struct proxy_text path;
	struct proxy_text query;
	const struct proxy_header *headers;
	size_t header_count;
	struct proxy_text sni;
	bool inside;
	bool tls;
	unsigned int status;
	int token;
};

/**
 * struct proxy_via - another proxy to leave by
 * @host, @port: where it listens; or
 * @socket: the path of its Unix socket
 * @authorization: value of Proxy-Authorization or NULL; never logged or told
 *
 * Tunnels, and WebSockets, are asked of it with CONNECT, requests in absolute
 * form. It resolves the name, so @check_address is asked about a destination
 * that is an address only.
 */
struct proxy_via {
	const char *host;
	uint16_t port;
	const char *socket;
	const char *authorization;
};

/**
 * struct proxy_verdict - the answer; everything is copied by the proxy
 * @allow: false unless said otherwise: a zeroed verdict denies
 * @host: where allowed, the canonical host to resolve and dial: a name, an
 *	IPv4 or a bare IPv6 address. It is also what the forwarded Host names.
 * @port: where allowed, of the host; 0: as asked
 * @path: where allowed, the path to ask for instead; data NULL: as asked
 * @target: the same, path and query; it goes before @path
 * @via: where allowed: the proxy to leave by, NULL for none
 * @terminate: of a tunnel: where the client speaks TLS in it, be its server
 * @inspect: of a tunnel: where the client speaks HTTP in it, ask about each
 *	request
 * @refuse_opaque: of a tunnel: end it where neither comes true
 * @status: of a denial (400-599, else 403) or an answer (200-599)
 * @code: X-Proxy-Error token of a denial; NULL: "blocked-by-policy"
 * @reason: of a denial: goes to the client in the body (and, for CONNECT, as
 *	reason phrase with control bytes removed). Never NULL on a denial. SOCKS
 *	has room for a code only; but for port 22 the client is let in and told
 *	the reason as an SSH server would.
 * @rule: of a denial: what decided it, with file and line where known; the
 *	body then also says what was denied
 * @advice: of a denial: what to do instead
 * @title: of a denial: a first line for its plain body
 * @respond: the answer is @status, @set and @body, not a denial. A CONNECT
 *	cannot be answered so.
 * @set: headers to set on the forwarded request (replacing all of that
 *	name), or those of the answer or denial
 * @remove: names of headers to take out of the forwarded request
 * @body: of an answer or denial; data NULL means one made of @title, @reason,
 *	@rule and @advice: lines, or JSON where Accept prefers that. Where
 *	allowed: to send instead of the message's own, which is read and
 *	dropped; Content-Encoding and digests go with it.
 * @fill: of an allowed request: what is replaced in its head and body; the
 *	proxy takes a reference. Or NULL, as:
 * @scrub: likewise in all that comes back. The answer is asked for without
 *	compression then, and one that is compressed all the same is refused.
 * @review: of an allowed request: ask about the response, too
 * @token: of the asker: for that question, then for @forget
 *
 * Of a PROXY_ASK_RESPONSE, @allow passes the response on with @set, @remove,
 * @body and @status (0: as it came); @respond replaces it; else it is a denial
 * (502 unless @status says more). @host is not looked at.
 *
 * An unusable verdict (no valid @host or @via; malformed headers or such that
 * framing or routing rest on: Host, Content-Length, Expect, Connection and the
 * other hop-by-hop ones) fails closed: 502 with X-Proxy-Error: bad-verdict.
 */
struct proxy_verdict {
	bool allow;
	bool respond;
	bool terminate;
	bool inspect;
	bool refuse_opaque;
	unsigned int status;
	bool review;
	int token;
	const char *host;
	uint16_t port;
	struct proxy_text path;
	struct proxy_text target;
	const struct proxy_via *via;
	const char *code;
	const char *reason;
	const char *rule;
	const char *advice;
	const char *title;
	const struct proxy_header *set;
	size_t set_count;
	const struct proxy_text *remove;
	size_t remove_count;
	struct proxy_text body;
	struct substitute *fill;
	struct substitute *scrub;
};

/**
 * struct proxy_hooks - who decides
 * @context: handed back to every hook; borrowed
 * @decide: asked once per tunnel and once per plain request, before anything
 *	is resolved or dialled; and once about a response that is reviewed,
 *	when its head is there (1xx are passed on unasked: 100, or none). Must
 *lead to exactly one proxy_answer(), at once or later; @question is valid until
 *then. If the client goes away first, @cancelled is called and no answer may
 *follow. A client that merely ends its side behind a whole request still gets
 *its answer.
 * @cancelled: may be NULL
 * @forget: the verdict's @token (where it said @review) is of no more use, be
 *	there a response or not; may be NULL
 * @check_address: may the (canonical) @host on @port be reached at @address
 *	(numeric text)? NULL for yes, else the reason; called for each
 *	resolved address, the address that passed is the one that is dialled.
 *	The text is borrowed until the next call.
 * @address_code: X-Proxy-Error where it refused every address, a token that
 *	outlives the proxy; NULL: "blocked-by-policy"
 * @refused: the policy kept from an allowed destination: what it resolved to
 *	("address"), or a tunnel that nobody can read ("tunnel"); or the TLS
 *	handshake failed, since the client did not take our certificate, say
 *	("tls-client"), or the server's can't be trusted ("tls-server"), @reason
 *	then says what they did; for reports, may be NULL.
 *	The client is answered whatever becomes of it.
 * @log: one readable line for --debug; NULL when nobody listens
 *
 * Refusals of the proxy's own carry X-Proxy-Error: bad-request (the client's
 * bytes), bad-verdict (the hook's), upstream-failure, or @address_code.
 */
struct proxy_hooks {
	void *context;
	void (*decide)(void *context, struct proxy_ask *ask,
		       const struct proxy_question *question);
	void (*cancelled)(void *context, struct proxy_ask *ask);
	void (*forget)(void *context, int token);
	const char *(*check_address)(void *context, const char *host,
				     uint16_t port, const char *address);
	const char *address_code;
	void (*refused)(void *context, const char *what, const char *host,
			uint16_t port, const char *reason);
	void (*log)(void *context, const char *line);
};

/**
 * struct proxy_limits - budgets; zero takes the default
 * @header_bytes: of a header section and its start line (65536)
 * @idle_ms: a connection with nothing moving (300000)
 * @header_ms: from first byte of a head to its end (30000)
 * @connect_ms: dialling one destination, all addresses (30000)
 * @answer_ms: for an origin to begin its response (300000)
 * @buffer_bytes: of bytes held for all connections together; beyond the half
 *	less is read at once, beyond it long heads are refused (134217728)
 * @connections: client connections at once; more wait in the backlog (10000);
 *	at most half as many as there may be descriptors
 * @tunnels: CONNECT tunnels at once; more are refused with 503 (10000)
 * @idle_upstreams: connections to origins kept for reuse (256)
 * @idle_upstreams_per_host: of them to one host and port (64)
 * @upstream_idle_ms: how long one is kept (30000)
 */
struct proxy_limits {
	size_t header_bytes;
	unsigned int idle_ms;
	unsigned int header_ms;
	unsigned int connect_ms;
	unsigned int answer_ms;
	size_t buffer_bytes;
	unsigned int connections;
	unsigned int tunnels;
	unsigned int idle_upstreams;
	unsigned int idle_upstreams_per_host;
	unsigned int upstream_idle_ms;
};

/**
 * proxy_new() - make a proxy on a loop
 * @out: on success owned by the caller, freed by proxy_close()
 * @loop: borrowed, must outlive the proxy
 * @hooks, @limits: copied; @limits may be NULL; decide and check_address not
 *
 * The process must ignore SIGPIPE: libuv writes without MSG_NOSIGNAL.
 * Return: 0 or -errno.
 */
int proxy_new(struct proxy **out, uv_loop_t *loop,
	      const struct proxy_hooks *hooks,
	      const struct proxy_limits *limits);

/**
 * struct proxy_tls - what termination of TLS needs
 * @authority: makes certificates; @trust: judges those of servers; both
 *	borrowed, until the loop has run the proxy's close callbacks
 * @tunnels: that may be terminated at once; more are refused with 503 (256)
 * @handshake_ms: for a handshake, and for a client to begin it (10000)
 */
struct proxy_tls {
	struct authority *authority;
	struct trust *trust;
	unsigned int tunnels;
	unsigned int handshake_ms;
};

/**
 * proxy_terminate() - from now on verdicts may ask for termination
 *
 * Without it, those that do are unusable. Once, before clients come.
 * Return: 0, or -ENOMEM.
 */
int proxy_terminate(struct proxy *proxy, const struct proxy_tls *with);

/**
 * proxy_limit_tls() - other limits for terminated tunnels, from now on
 * @tunnels, @handshake_ms: as of &struct proxy_tls, but not 0
 *
 * Tunnels that are there stay. Nothing where proxy_terminate() was not called.
 */
void proxy_limit_tls(struct proxy *proxy, unsigned int tunnels,
		     unsigned int handshake_ms);

/**
 * proxy_admit() - let in only whom @admit knows; all others are closed at once
 *
 * For listeners that others can reach as well. Once, before clients come.
 * @context: handed back; must live as long as the proxy
 */
void proxy_admit(struct proxy *proxy,
		 bool (*admit)(void *context, const struct sockaddr *peer),
		 void *context);

/**
 * proxy_listen() - accept clients on a listening socket
 * @listener: a bound, listening TCP socket (it may live in another network
 *	namespace); taken over on success and on failure
 *
 * A client's first byte tells SOCKS from HTTP, so each listener serves both.
 * Return: 0 or -errno.
 */
int proxy_listen(struct proxy *proxy, int listener);

/**
 * proxy_forward() - accept clients that speak no proxy protocol, as tunnels to
 * one destination
 *
 * Each client is asked about (PROXY_ASK_FORWARD); a denial or a failure resets
 * it. There is no idle limit: both ends are told when the other goes.
 * @listener: as for proxy_listen()
 * @host: as the question will name it; copied
 * Return: 0 or -errno.
 */
int proxy_forward(struct proxy *proxy, int listener, const char *host,
		  uint16_t port);

/**
 * proxy_authorize() - accept clients that ask about requests of others
 *
 * They speak HTTP as to a server, and no SOCKS: each request is asked about
 * (PROXY_ASK_AUTHZ, @host and @port are those of its Host) and has to be
 * answered or denied, for it leads nowhere. Its body is read and dropped. With
 * proxy_login() those without it get 401.
 * @listener: as for proxy_listen()
 * Return: 0 or -errno.
 */
int proxy_authorize(struct proxy *proxy, int listener);

/**
 * struct proxy_opener - who connects the clients of a published port
 * @context: handed back; must live as long as the proxy
 * @open: must lead to exactly one proxy_opened(), at once or later
 * @cancelled: the client went away first; no proxy_opened() may follow
 */
struct proxy_opener {
	void *context;
	void (*open)(void *context, struct proxy_ask *ask);
	void (*cancelled)(void *context, struct proxy_ask *ask);
};

/**
 * proxy_publish() - accept clients, as tunnels to what @opener connects
 *
 * No verdict is asked for: that the port is published is the decision.
 * @listener: as for proxy_listen()
 * Return: 0 or -errno.
 */
int proxy_publish(struct proxy *proxy, int listener,
		  const struct proxy_opener *opener);

/**
 * proxy_opened() - the answer to @open
 * @fd: connected TCP socket, taken over, or -errno
 */
void proxy_opened(struct proxy_ask *ask, int fd);

/**
 * proxy_hand_over() - accept clients, and hand them to a proxy of the user's
 * @listener: as above
 * @port: where that proxy listens, on the host's loopback (127.0.0.1)
 *
 * Byte for byte: no hook is asked, nothing is decided here.
 */
int proxy_hand_over(struct proxy *proxy, int listener, uint16_t port);

/**
 * struct proxy_asker - who asks for a name, by the two ends of its socket
 * @datagrams: it is one of UDP, and may be connected to nobody
 */
struct proxy_asker {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	bool datagrams;
};

/**
 * struct proxy_resolver - what answers DNS inside, and knows its own answers
 * @context: handed back; must live as long as the proxy
 * @refuse: may nobody reach this name on any port? The reason, borrowed until
 *	the next call, or NULL. Names are canonical. Nothing is looked up. The
 *	asker waits meanwhile, as it has no answer
 * @prepare: the first query is there: have clients redirected, then call
 *	proxy_led(), at once or later; queries wait for it
 * @origin: where a client was on its way to that the kernel knows nothing of,
 *	by its end of the connection; false where nobody does. May be NULL
 * @v4, @v6: numeric; addresses of names are these with a number in the end
 */
struct proxy_resolver {
	void *context;
	const char *(*refuse)(void *context, const char *name,
			      const struct proxy_asker *asker);
	void (*prepare)(void *context);
	bool (*origin)(void *context, const struct sockaddr *peer,
		       struct sockaddr_storage *to);
	const char *v4;
	const char *v6;
};

/**
 * proxy_resolve() - begin to answer DNS
 *
 * A and AAAA of a name that might be reached are made up, and stay the name's
 * for the run; of another name there is none, and it has no records (NXDOMAIN).
 * PTR records of made up addresses lead back. All else has no data. Nothing is
 * asked of any other server.
 * @with: copied
 * @socket: UDP, taken over in any case
 * Return: 0 or -errno. Once.
 */
int proxy_resolve(struct proxy *proxy, int socket,
		  const struct proxy_resolver *with);

/**
 * proxy_led() - the answer to @prepare
 * @error: 0, or -errno: names that might be reached fail (SERVFAIL)
 */
void proxy_led(struct proxy *proxy, int error);

/**
 * proxy_resolve_streams() - accept clients that ask DNS by TCP
 * @listener: as for proxy_listen(), after proxy_resolve()
 */
int proxy_resolve_streams(struct proxy *proxy, int listener);

/**
 * proxy_redirected() - accept clients that were on their way elsewhere
 *
 * Their destination is asked of the kernel (SO_ORIGINAL_DST); where it is an
 * address that was made up for a name, it is that name. Asked about like a
 * CONNECT; a denial or a failure resets, but for SSH (port 22), as with SOCKS.
 * @listener: as for proxy_listen(), after proxy_resolve()
 */
int proxy_redirected(struct proxy *proxy, int listener);

/**
 * struct proxy_ends - a client's connection, as the client has it
 * @local: its own end; @remote: what it connected to, or was on its way to
 * @kept: what the asker found out by these, NULL at first; set to memory of
 *	malloc(3) it goes with the client
 */
struct proxy_ends {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	void **kept;
};

/**
 * proxy_ends() - by which connection did an open ask come?
 * Return: false where that can't be told any more.
 */
bool proxy_ends(struct proxy_ask *ask, struct proxy_ends *out);

/**
 * proxy_answer() - answer an ask, exactly once; the ask is gone afterwards
 */
void proxy_answer(struct proxy_ask *ask, const struct proxy_verdict *verdict);

/*
 * Whoever is asked about a request or response may have its body first:
 * proxy_body() begins to read it; where that takes time, proxy_body_watch()
 * tells when it is over; then proxy_body_take(). All are for an open ask, and
 * may be called again, also with another @max. What was read goes on with the
 * message as it came; a client that expects it gets 100 (Continue).
 */

/**
 * proxy_body() - read the body of what @ask is about
 * @max: bytes of it to keep; they count for @buffer_bytes
 * Return: true where it is over already, be it well or not. Not for tunnels.
 */
bool proxy_body(struct proxy_ask *ask, size_t max);

/**
 * proxy_body_watch() - be told, once and from the loop, when it is over
 * @done: NULL: not any more. Where the message turns out broken, or its sender
 *	goes away, @cancelled is called instead.
 */
void proxy_body_watch(struct proxy_ask *ask, void (*done)(void *context),
		      void *context);

/** proxy_body_go_on() - after proxy_body_watch(), behind all else of the turn
 */
void proxy_body_go_on(struct proxy_ask *ask);

/**
 * proxy_body_take() - a body that is over, without its content coding
 * @max: bytes that it, and each coding, may come to
 * @out: borrowed until the next call, or the answer
 * Return: NULL, or why it can't be had, static text; decode_too_long (decode.h)
 * where it is more than @max.
 */
const char *proxy_body_take(struct proxy_ask *ask, size_t max,
			    struct proxy_text *out);

/**
 * proxy_login() - hear only who knows a user and a password
 * @login: copied
 *
 * For listeners of clients that choose where they go: the others
 * (proxy_forward() and the like) ask for none. HTTP without it gets 407, SOCKS
 * a refusal. Return: -ENOMEM or 0.
 */
int proxy_login(struct proxy *proxy, const struct proxy_login *login);

/**
 * proxy_strip() - take header fields out of all responses, and trailers
 * @name: one more; -ENOMEM or 0
 */
int proxy_strip(struct proxy *proxy, const char *name);

/**
 * struct proxy_gone - who tells which connections may not stay
 * @gone: may nobody be connected to @host (canonical) on @port any more?
 */
struct proxy_gone {
	void *context;
	bool (*gone)(void *context, const char *host, uint16_t port);
};

/**
 * proxy_revise() - the hooks decide by another policy from now on
 *
 * Connections for which a verdict was given, and that @gone says are, are
 * reset; those that still are asked about are not. None that was kept for a
 * next request is used again, since the addresses were judged by the old one.
 * Not from within a hook.
 * Return: how many were reset.
 */
size_t proxy_revise(struct proxy *proxy, const struct proxy_gone *gone);

/**
 * proxy_close() - close all connections and listeners and free the proxy
 *
 * The memory goes when the loop has run the close callbacks. Outstanding asks
 * get @cancelled, and tokens @forget. No hook is called after that.
 */
void proxy_close(struct proxy *proxy);

#endif
