/* SPDX-License-Identifier: Apache-2.0 */
/* Clients that were on their way elsewhere, and do not know that we are here.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

#include "proxy/internal.h"
#include "proxy/ssh.h"

union destination {
	struct sockaddr_storage storage;
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Of one that was led here by a process, and not by the kernel. */
static bool ask_origin(const struct client *client, int fd,
		       union destination *out)
{
	struct sockaddr_storage peer;
	socklen_t size = sizeof(peer);

	return !getpeername(fd, (struct sockaddr *)&peer, &size) &&
	       resolver_origin(client->proxy->resolver,
			       (struct sockaddr *)&peer, &out->storage);
}

/* Where it was on its way to. One that asked for us is none of these. */
static bool read_destination(const struct client *client, int fd,
			     union destination *out)
{
	union destination own = { 0 };
	socklen_t size = sizeof(own);

	*out = (union destination){ 0 };
	if (ask_origin(client, fd, out))
		return true;
	if (getsockname(fd, &own.any, &size) ||
	    !redirected_from(fd, &out->any, sizeof(*out)))
		return false;
	return own.any.sa_family == AF_INET6
		       ? memcmp(&out->v6.sin6_addr, &own.v6.sin6_addr,
				sizeof(own.v6.sin6_addr)) != 0
		       : out->v4.sin_addr.s_addr != own.v4.sin_addr.s_addr;
}

/* As CONNECT spells it: the name that the address stands for, or the address.
 */
static bool name_destination(struct client *client, const union destination *to)
{
	bool v6 = to->any.sa_family == AF_INET6;
	struct exchange *exchange = client->exchange;
	struct http1_request *request = &exchange->request;
	const char *host = resolver_name(client->proxy->resolver, &to->any);
	char text[INET6_ADDRSTRLEN];
	bool brackets = !host && v6;

	if (!host)
		host = inet_ntop(to->any.sa_family,
				 v6 ? (const void *)&to->v6.sin6_addr
				    : (const void *)&to->v4.sin_addr,
				 text, sizeof(text));
	request->port = ntohs(to->v4.sin_port);
	if (!host || asprintf(&exchange->head, "%s%s%s:%u", brackets ? "[" : "",
			      host, brackets ? "]" : "", request->port) < 0) {
		exchange->head = NULL;
		return false;
	}
	request->method = proxy_text_of("TRANSPARENT");
	request->target = proxy_text_of(exchange->head);
	request->host.data = exchange->head + brackets;
	request->host.size = strlen(host);
	return true;
}

void redirected_begin(struct client *client)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange));
	union destination to;
	uv_os_fd_t fd;

	client->exchange = exchange;
	if (!exchange || uv_fileno((uv_handle_t *)&client->stream.tcp, &fd)) {
		client_close(client, true);
		return;
	}
	exchange->raw = true;
	exchange->redirected = true;
	exchange->close_after = true;
	exchange->request.connect = true;
	http1_body_start(&exchange->body, HTTP1_NONE, 0);
	if (!read_destination(client, fd, &to)) {
		proxy_log(client->proxy, "refuse a client that was on its way "
					 "to nowhere else");
		client_close(client, true);
	} else if (name_destination(client, &to)) {
		exchange_ask(client);
	} else {
		client_close(client, true);
	}
}

void redirected_answer(struct client *client, const struct reply *reply)
{
	struct exchange *exchange = client->exchange;

	if (exchange->request.port != SSH_PORT || !reply_is_denial(reply)) {
		client_close(client, true);
		return;
	}
	ssh_refuse(&client->stream.out,
		   reply->reason ? reply->reason : "denied");
	client_next(client);
}
