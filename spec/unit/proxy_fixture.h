/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of the proxy share: a loop, a scripted origin, raw clients. */
#ifndef SRT_SPEC_PROXY_FIXTURE_H
#define SRT_SPEC_PROXY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "proxy/proxy.h"

/*
 * Everything happens in one thread: whenever a test waits for bytes it turns
 * the loop, so hooks, timers and sockets move on in between.
 */

enum { PATIENCE_MS = 5000, QUIET_MS = 60 };

enum answer { ANSWER_ALLOW, ANSWER_GIVEN, ANSWER_HELD };

struct fixture {
	uv_loop_t loop;
	struct proxy *proxy;
	int port;
	int origin;
	int origin_port;
	enum answer answer;
	struct proxy_verdict verdict;
	struct proxy_ask *held;
	unsigned int decided;
	unsigned int cancelled;
	unsigned int forgotten; /* tokens */
	unsigned int checked;
	const char *refused_address;
	const char *host; /* canonical, where not as asked */
	char asked[256];  /* the last question */
	char address[64]; /* the last address checked */
	char log[256];	  /* the last line */
};

/* Where the origin listens, for requests: "http://127.0.0.1:PORT". */
extern char base[64], authority[32];

/*
 * put() sends formatted text, put_get() a GET request for @path at the origin;
 * want() demands exactly these bytes next, want_quiet() neither bytes nor an
 * end for a while; get_head() reads byte by byte so that nothing behind is
 * taken.
 */
void on_decide(void *context, struct proxy_ask *ask,
	       const struct proxy_question *q);
const char *on_check(void *context, const char *host, uint16_t port,
		     const char *address);
void spin(struct fixture *f);
uint64_t now_ms(void);
void pass_time(struct fixture *f, unsigned int ms);
int listen_on(int backlog, int *port);
void start_proxy(struct fixture *f, const struct proxy_limits *limits);
void stop_proxy(struct fixture *f);
int set_up(void **state);
int tear_down(void **state);
void restart_with(struct fixture *f, const struct proxy_limits *limits);
int connect_to(int port);
int accept_origin(struct fixture *f);
void no_origin(struct fixture *f);
void put_bytes(struct fixture *f, int fd, const char *data, size_t size);
void put(struct fixture *f, int fd, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void put_get(struct fixture *f, int fd, const char *path, const char *fields);
ssize_t get_some(struct fixture *f, int fd, char *data, size_t size);
void want_bytes(struct fixture *f, int fd, const char *text, size_t size);
void want(struct fixture *f, int fd, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const char *get_head(struct fixture *f, int fd);
void want_in(const char *text, const char *part);
void want_out(const char *text, const char *part);
void want_end(struct fixture *f, int fd);
void want_reset(struct fixture *f, int fd);
void want_quiet(struct fixture *f, int fd);
void reset(int fd);
void leave(struct fixture *f, int fd);

#endif
