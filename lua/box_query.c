/* SPDX-License-Identifier: Apache-2.0 */
/* srt.query(target, line, seconds): a line to a decider, and its answer. */
#include <errno.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "lua/box_host.h"
#include "lua/box_lookup.h"
#include "lua/box_path.h"
#include "lua/box_state.h"
#include "lua/box_wait.h"

enum {
	QUERY_LINE = 65536, /* question and answer, each */
	QUERY_ADDRESSES = 8,
	QUERY_SECONDS = 10,
	QUERY_HOST = 256,
};

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct query;

/* One connection, tried or in use; it outlives its query until closed. */
struct link {
	union {
		uv_handle_t any;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	} handle;
	uv_connect_t connect;
	uv_write_t write;
	struct query *query;
	size_t size;
	char line[];
};

/**
 * struct query - @over: the outcome is known: @answered, or @problem, or
 * wait->error
 */
struct query {
	struct box_wait *wait;
	struct lookup *lookup;
	struct link *link;
	union address addresses[QUERY_ADDRESSES];
	size_t count, next;
	unsigned int port;
	bool over, answered;
	const char *problem;
	size_t line_size, size;
	char *line;
	char answer[QUERY_LINE];
};

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void drop_link(struct query *query)
{
	struct link *link = query->link;

	query->link = NULL;
	if (!link)
		return;
	link->query = NULL;
	uv_close(&link->handle.any, on_closed);
}

static void finish(struct query *query, int error, const char *problem)
{
	if (query->over)
		return;
	query->over = true;
	query->problem = problem;
	query->wait->error = error;
	drop_link(query);
	box_wait_done(query->wait);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
	struct link *link = handle->data;
	struct query *query = link->query;

	(void)wanted;
	*buffer = query ? uv_buf_init(query->answer + query->size,
				      (unsigned int)(QUERY_LINE - query->size))
			: uv_buf_init(NULL, 0);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct link *link = stream->data;
	struct query *query = link->query;
	const char *end;

	(void)buffer;
	if (!query || size == 0)
		return;
	if (size < 0) {
		/* What has no end may be the half of another answer. */
		finish(query, size == UV_EOF ? 0 : (int)size,
		       "the answer has no end of line");
		return;
	}
	end = memchr(query->answer + query->size, '\n', (size_t)size);
	query->size += (size_t)size;
	if (end) {
		query->size = (size_t)(end - query->answer);
		query->answered = true;
		finish(query, 0, NULL);
	} else if (query->size == QUERY_LINE) {
		finish(query, 0, "the answer is longer than 64 KiB");
	}
}

static void on_written(uv_write_t *request, int status)
{
	struct link *link = request->data;

	if (status < 0 && link->query)
		finish(link->query, status, NULL);
}

static void try_next(struct query *query, int error);

static void on_connect(uv_connect_t *request, int status)
{
	struct link *link = request->data;
	struct query *query = link->query;
	uv_buf_t buffer;

	if (!query)
		return;
	if (status < 0) {
		drop_link(query);
		try_next(query, status);
		return;
	}
	buffer = uv_buf_init(link->line, (unsigned int)link->size);
	link->write.data = link;
	status = uv_write(&link->write, &link->handle.stream, &buffer, 1,
			  on_written);
	if (!status)
		status = uv_read_start(&link->handle.stream, on_alloc, on_read);
	if (status)
		finish(query, status, NULL);
}

static struct link *new_link(struct query *query)
{
	struct link *link = calloc(1, sizeof(*link) + query->line_size);

	if (!link)
		return NULL;
	link->query = query;
	link->connect.data = link;
	link->size = query->line_size;
	memcpy(link->line, query->line, query->line_size);
	return link;
}

static int connect_tcp(struct query *query, const union address *address)
{
	struct link *link = new_link(query);
	int error;

	if (!link)
		return UV_ENOMEM;
	error = uv_tcp_init(query->wait->loop, &link->handle.tcp);
	if (error) {
		free(link);
		return error;
	}
	link->handle.any.data = link;
	query->link = link;
	error = uv_tcp_connect(&link->connect, &link->handle.tcp, &address->any,
			       on_connect);
	if (error)
		drop_link(query);
	return error;
}

/* @error: of the address before, or of there being none */
static void try_next(struct query *query, int error)
{
	while (query->next < query->count) {
		error = connect_tcp(query, &query->addresses[query->next++]);
		if (!error)
			return;
	}
	finish(query, error, NULL);
}

static int connect_pipe(struct query *query, const char *path)
{
	struct link *link = new_link(query);
	int error;

	if (!link)
		return UV_ENOMEM;
	error = uv_pipe_init(query->wait->loop, &link->handle.pipe, 0);
	if (error) {
		free(link);
		return error;
	}
	link->handle.any.data = link;
	query->link = link;
	/* Its failure is told from the loop. */
	uv_pipe_connect(&link->connect, &link->handle.pipe, path, on_connect);
	return 0;
}

static void on_found(void *owner, int status, const struct addrinfo *found)
{
	struct query *query = owner;

	query->lookup = NULL;
	for (; found && query->count < QUERY_ADDRESSES;
	     found = found->ai_next) {
		union address *address = &query->addresses[query->count];

		if (found->ai_addrlen > sizeof(*address))
			continue;
		memcpy(address, found->ai_addr, found->ai_addrlen);
		/* The two families keep their port at the same place. */
		address->v4.sin_port = htons((uint16_t)query->port);
		query->count++;
	}
	try_next(query, status ? status : UV_EAI_NONAME);
}

static void stop(struct box_wait *wait)
{
	struct query *query = wait->state;

	if (query->lookup)
		lookup_drop(query->lookup);
	drop_link(query);
	free(query->line);
	free(query);
}

/* Arguments: path, or host and port; then line and milliseconds. */
static int begin(struct box_wait *wait, lua_State *co, int first)
{
	struct query *query = calloc(1, sizeof(*query));
	const char *line = lua_tolstring(co, first + 2, NULL);

	if (!query)
		return UV_ENOMEM;
	wait->state = query;
	query->wait = wait;
	wait->ms = (uint64_t)lua_tointeger(co, first + 3);
	query->line_size = lua_rawlen(co, first + 2);
	query->line = malloc(query->line_size);
	if (!query->line)
		return UV_ENOMEM;
	memcpy(query->line, line, query->line_size);
	query->port = (unsigned int)lua_tointeger(co, first + 1);
	if (query->port == 0)
		return connect_pipe(query, lua_tostring(co, first));
	return lookup_start(&query->lookup, wait->loop, lua_tostring(co, first),
			    on_found, query);
}

static int push(struct box_wait *wait, lua_State *B)
{
	const struct query *query = wait->state;
	size_t size;

	if (query && query->answered) {
		size = query->size;
		if (size && query->answer[size - 1] == '\r')
			size--;
		lua_pushlstring(B, query->answer, size);
		return 1;
	}
	lua_pushnil(B);
	lua_pushstring(B, wait->error	   ? uv_strerror(wait->error)
			  : query->problem ? query->problem
					   : "timed out");
	return 2;
}

/* Replaces "host:port" or "[address]:port" at 1 by the two. */
static void split_target(lua_State *B)
{
	size_t size;
	const char *target = lua_tolstring(B, 1, &size);
	const char *colon = strrchr(target, ':'), *host = target, *end = colon;
	char *rest = NULL;
	long port = 0;

	if (colon && colon[1] >= '1' && colon[1] <= '9')
		port = strtol(colon + 1, &rest, 10);
	if (end && *host == '[' && end[-1] == ']') {
		host++;
		end--;
	} else if (end && memchr(host, ':', (size_t)(end - host))) {
		end = host;
	}
	luaL_argcheck(B,
		      port > 0 && port < 65536 && !*rest && end > host &&
			      end - host < QUERY_HOST && strlen(target) == size,
		      1, "write \"host:port\" or the path of a Unix socket");
	lua_pushlstring(B, host, (size_t)(end - host));
	lua_replace(B, 1);
	lua_pushinteger(B, port);
	lua_insert(B, 2);
}

static void take_target(lua_State *B)
{
	const char *target = luaL_checkstring(B, 1);

	if (!strchr(target, '/')) {
		split_target(B);
		return;
	}
	box_push_path(B, 1);
	/* sun_path; libuv would cut it without a word. */
	luaL_argcheck(B, lua_rawlen(B, -1) < 108, 1,
		      "the path of a Unix socket has 107 bytes at most");
	lua_replace(B, 1);
	lua_pushinteger(B, 0);
	lua_insert(B, 2);
}

/* srt.query(target, line, seconds): the answer, or nil and a message */
int box_query(lua_State *B)
{
	static const struct box_op op = {
		.name = "srt.query", .begin = begin, .push = push, .stop = stop
	};
	size_t size;
	const char *line = luaL_checklstring(B, 2, &size);
	lua_Number seconds = luaL_optnumber(B, 3, QUERY_SECONDS);

	luaL_argcheck(B, size < QUERY_LINE, 2, "longer than 64 KiB");
	luaL_argcheck(B, !memchr(line, '\n', size), 2, "more than one line");
	luaL_argcheck(B, seconds > 0 && seconds <= 3600, 3,
		      "must be more than 0, and 3600 at most");
	box_charge_bytes(B, size);
	lua_settop(B, 2);
	if (box_host_asked(B))
		return box_host_instead(B, op.name);
	take_target(B);
	lua_pushliteral(B, "\n");
	lua_concat(B, 2);
	lua_pushinteger(B, (lua_Integer)(seconds * 1000 + 0.999));
	return box_wait(B, &op);
}
