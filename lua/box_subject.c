/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a callback is given. It is made for every request, so known fields are
 * taken by name, with strings that both states keep: nothing is interned.
 */
#include "lua/box_subject.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/box_copy.h"
#include "lua/box_state.h"
#include "lua/box_view.h"

/* Fields that there may be; those of a shape end with NULL. */
static const char *const names[] = {
	"host",	   "port",   "protocol", "command", "commandId", "process",
	NULL,	   "method", "scheme",	 "host",    "port",	 "path",
	"query",   "url",    "target",	 "sni",	    "process",	 "conn",
	"headers", NULL,     "status",	 "headers", NULL,	 "body",
	"name",	   "value",
};

enum {
	OF_CONN = 0,
	OF_REQUEST = 7,
	OF_RESPONSE = 20,
	BODY = 23,
	NAME,
	VALUE,
	NAME_COUNT,
};

/* Where they stand in the host's stack and in the box's. */
struct crossing {
	lua_State *B, *H;
	int in_box, in_host;
};

_Static_assert(sizeof(names) / sizeof(names[0]) == NAME_COUNT, "names");

void box_subject_names(lua_State *L)
{
	lua_createtable(L, NAME_COUNT, 0);
	for (int i = 0; i < NAME_COUNT; i++) {
		lua_pushstring(L, names[i] ? names[i] : "");
		lua_rawseti(L, -2, i + 1);
	}
}

/* Pushes that field of the host's table at @index; its type. */
static int host_field(const struct crossing *c, int index, int name)
{
	lua_rawgeti(c->H, c->in_host, name + 1);
	return lua_rawget(c->H, index);
}

static void push_lower(lua_State *B, const char *s, size_t size)
{
	char small[64];
	luaL_Buffer buffer;
	char *out = size <= sizeof(small) ? small
					  : luaL_buffinitsize(B, &buffer, size);

	for (size_t i = 0; i < size; i++)
		out[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] + 32) : s[i];
	if (out == small)
		lua_pushlstring(B, small, size);
	else
		luaL_pushresultsize(&buffer, size);
}

/*
 * The pair {name=, value=} on top of the host goes into the table on top, and
 * to @at and behind of the list below it.
 */
static void add_header(const struct crossing *c, lua_Integer at)
{
	lua_State *B = c->B, *H = c->H;
	int pair = lua_gettop(H);
	const char *name, *value;
	size_t name_size, value_size;

	if (!lua_istable(H, pair) || host_field(c, pair, NAME) != LUA_TSTRING ||
	    host_field(c, pair, VALUE) != LUA_TSTRING)
		luaL_error(B, "the host's headers are no list of pairs");
	name = lua_tolstring(H, -2, &name_size);
	value = lua_tolstring(H, -1, &value_size);
	lua_pushlstring(B, name, name_size);
	lua_rawseti(B, -3, at);
	push_lower(B, name, name_size);
	lua_pushlstring(B, value, value_size);
	lua_pushvalue(B, -1);
	lua_rawseti(B, -5, at + 1);
	lua_pushvalue(B, -2);
	if (lua_rawget(B, -4) == LUA_TNIL) {
		lua_pop(B, 1);
	} else {
		lua_insert(B, -2);
		lua_pushliteral(B, ", ");
		lua_insert(B, -2);
		lua_concat(B, 3);
	}
	lua_rawset(B, -3);
	lua_settop(H, pair);
}

static void in_headers(const struct crossing *c, int index)
{
	lua_State *B = c->B;
	lua_Integer n = (lua_Integer)lua_rawlen(c->H, index);

	lua_createtable(B, (int)n * 2, 0);
	lua_createtable(B, 0, (int)n);
	for (lua_Integer i = 1; i <= n; i++) {
		lua_rawgeti(c->H, index, i);
		add_header(c, 2 * i - 1);
		lua_pop(c->H, 1);
	}
	box_view_new(B, "headers", BOX_VIEW_HEADERS | BOX_VIEW_ENDS, NULL);
	lua_insert(B, -2);
	box_view_list(B);
}

/* Pushes a table with the fields of a shape, up to its NULL. */
static void in_fields(const struct crossing *c, int index, int first)
{
	int count = 0;

	while (names[first + count])
		count++;
	lua_createtable(c->B, 0, count);
	for (int name = first; name < first + count; name++) {
		int type = host_field(c, index, name);
		int top = lua_gettop(c->H);

		if (type != LUA_TNIL) {
			lua_rawgeti(c->B, c->in_box, name + 1);
			if (type == LUA_TTABLE && !strcmp(names[name], "conn"))
				in_fields(c, top, OF_CONN);
			else if (type == LUA_TTABLE &&
				 !strcmp(names[name], "headers"))
				in_headers(c, top);
			else
				box_copy_in(c->B, c->H, top);
			lua_rawset(c->B, -3);
		}
		lua_pop(c->H, 1);
	}
}

static struct body_source *source_of(const struct crossing *c, int index)
{
	struct body_source *source = NULL;

	if (host_field(c, index, BODY) == LUA_TLIGHTUSERDATA)
		source = lua_touserdata(c->H, -1);
	lua_pop(c->H, 1);
	return source;
}

static void in_shape(const struct crossing *c, int index, enum box_shape shape)
{
	static const struct {
		const char *name;
		unsigned int flags;
		int first;
	} shapes[] = {
		[BOX_CONN] = { "conn", BOX_VIEW_STRICT, OF_CONN },
		[BOX_REQUEST] = { "req", BOX_VIEW_STRICT | BOX_VIEW_METHODS,
				  OF_REQUEST },
		[BOX_RESPONSE] = { "res", BOX_VIEW_STRICT | BOX_VIEW_METHODS,
				   OF_RESPONSE },
	};

	in_fields(c, index, shapes[shape].first);
	box_view_new(c->B, shapes[shape].name,
		     shapes[shape].flags | BOX_VIEW_ENDS,
		     &names[shapes[shape].first]);
	box_view_attach(c->B, source_of(c, index));
}

void box_copy_subject(lua_State *B, lua_State *H, int index,
		      enum box_shape shape)
{
	struct crossing c = { .B = B, .H = H };

	luaL_checkstack(B, 16, NULL);
	if (!lua_istable(H, index) || shape == BOX_PLAIN) {
		box_copy_in(B, H, index);
		if (lua_istable(B, -1))
			box_view_new(B, NULL, BOX_VIEW_ENDS, NULL);
		return;
	}
	if (!lua_checkstack(H, 10))
		luaL_error(B, "the host's stack is full");
	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_names);
	c.in_box = lua_gettop(B);
	lua_getiuservalue(H, 1, BOX_UV_NAMES);
	c.in_host = lua_gettop(H);
	if (shape == BOX_HEADERS)
		in_headers(&c, index);
	else
		in_shape(&c, index, shape);
	lua_remove(B, c.in_box);
	lua_pop(H, 1);
}
