/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view is a userdata, not a proxy table: rawset, next and the table
 * library can't reach behind it.
 */
#include "lua/box_view.h"

#include <ctype.h>
#include <lauxlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/nss.h"
#include "lua/box_state.h"
#include "lua/box_wait.h"
#include "lua/process.h"

#define NAME_MAX_NEAR 40

/*
 * The first user value is the table; the second, of headers, what they were
 * made of. @serial: 0, or the run it ends with. @source: of its body; @process:
 * whose it is
 */
struct view {
	uint64_t serial;
	unsigned int flags;
	const char *name;
	const char *const *known;
	struct body_source *source;
	const struct process_source *process;
};

static struct view *test_view(lua_State *B, int index)
{
	struct view *view = NULL;

	index = lua_absindex(B, index);
	if (lua_type(B, index) != LUA_TUSERDATA || !lua_getmetatable(B, index))
		return NULL;
	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_views);
	if (lua_rawequal(B, -1, -2))
		view = lua_touserdata(B, index);
	lua_pop(B, 2);
	return view;
}

static bool is_over(lua_State *B, const struct view *view)
{
	return view->serial && view->serial != box_of(B)->live;
}

/* Pushes the table. */
static struct view *check_view(lua_State *B, int index)
{
	struct view *view = test_view(B, index);

	if (!view)
		luaL_argerror(B, index, "no object of srt");
	if (is_over(B, view))
		luaL_error(B, "request is over");
	lua_getiuservalue(B, index, 1);
	return view;
}

bool box_view_push(lua_State *B, int index, bool ended)
{
	struct view *view = test_view(B, index);

	if (!view || (!ended && is_over(B, view)))
		return false;
	lua_getiuservalue(B, index, 1);
	return true;
}

static struct view *new_view(lua_State *B, int values)
{
	struct view *view = lua_newuserdatauv(B, sizeof(*view), values);

	*view = (struct view){ 0 };
	lua_rawgetp(B, LUA_REGISTRYINDEX, &box_key_views);
	lua_setmetatable(B, -2);
	lua_insert(B, -2);
	lua_setiuservalue(B, -2, 1);
	return view;
}

void box_view_new(lua_State *B, const char *name, unsigned int flags,
		  const char *const *known)
{
	struct view *view = new_view(B, flags & BOX_VIEW_HEADERS ? 2 : 1);

	view->name = name;
	view->flags = flags;
	view->known = known;
	if (flags & BOX_VIEW_ENDS)
		view->serial = box_of(B)->live;
}

void box_view_attach(lua_State *B, struct body_source *source)
{
	struct view *view = lua_touserdata(B, -1);

	view->source = source;
}

void box_view_attach_process(lua_State *B, const struct process_source *source)
{
	struct view *view = lua_touserdata(B, -1);

	view->process = source;
}

struct body_source *box_view_source(lua_State *B, int index)
{
	const struct view *view = check_view(B, index);

	lua_pop(B, 1);
	return view->source;
}

void box_view_list(lua_State *B)
{
	lua_setiuservalue(B, -2, 2);
}

/* Levenshtein's distance, rows of at most NAME_MAX_NEAR. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_NEAR + 1], size = strlen(b);

	if (size > NAME_MAX_NEAR || strlen(a) > NAME_MAX_NEAR)
		return NAME_MAX_NEAR;
	for (size_t j = 0; j <= size; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= size; j++) {
			size_t above = row[j];
			size_t best = corner + (a[i - 1] != b[j - 1]);

			best = above + 1 < best ? above + 1 : best;
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			corner = above;
			row[j] = best;
		}
	}
	return row[size];
}

static void nearer(const char **best, size_t *least, const char *candidate,
		   const char *name)
{
	size_t d = distance(name, candidate);

	if (d < *least) {
		*least = d;
		*best = candidate;
	}
}

const char *box_nearest(lua_State *B, int index, const char *const *known,
			const char *name)
{
	const char *best = NULL;
	size_t least = strlen(name) < 4 ? 2 : 3;

	index = lua_absindex(B, index);
	for (; known && *known; known++)
		nearer(&best, &least, *known, name);
	lua_pushnil(B);
	while (lua_next(B, index)) {
		if (lua_type(B, -2) == LUA_TSTRING)
			nearer(&best, &least, lua_tostring(B, -2), name);
		lua_pop(B, 1);
	}
	return best;
}

static bool is_known(const struct view *view, const char *key)
{
	for (const char *const *k = view->known; k && *k; k++)
		if (strcmp(*k, key) == 0)
			return true;
	return false;
}

static int no_field(lua_State *B, const struct view *view)
{
	const char *key = luaL_tolstring(B, 2, NULL);
	const char *name = view->name ? view->name : "object";
	const char *near;

	near = box_nearest(B, 3, view->known, key);
	if (near)
		return luaL_error(B, "no field %s.%s; did you mean %s?", name,
				  key, near);
	return luaL_error(B, "no field %s.%s", name, key);
}

/* Replaces the string on top. */
static void to_lower(lua_State *B)
{
	size_t size;
	const char *s = lua_tolstring(B, -1, &size);
	luaL_Buffer buffer;
	char *out;

	box_charge_bytes(B, size);
	out = luaL_buffinitsize(B, &buffer, size);
	for (size_t i = 0; i < size; i++)
		out[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] + 32) : s[i];
	luaL_pushresultsize(&buffer, size);
	lua_remove(B, -2);
}

/* req:header(name) */
static int view_header(lua_State *B)
{
	luaL_checkstring(B, 2);
	check_view(B, 1);
	lua_pushliteral(B, "headers");
	lua_rawget(B, -2);
	if (!box_view_push(B, -1, false))
		return 0;
	lua_pushvalue(B, 2);
	to_lower(B);
	lua_rawget(B, -2);
	return 1;
}

/* Pushes what the headers of the view at 1 were made of; 0 for none. */
static lua_Integer push_wire(lua_State *B)
{
	lua_Integer size;

	check_view(B, 1);
	lua_pushliteral(B, "headers");
	lua_rawget(B, -2);
	if (lua_type(B, -1) != LUA_TUSERDATA ||
	    lua_getiuservalue(B, -1, 2) != LUA_TTABLE)
		return 0;
	size = (lua_Integer)lua_rawlen(B, -1);
	box_charge(B, (uint64_t)size);
	return size;
}

/* Are the strings at these indexes one but for the case of ASCII letters? */
static bool same_name(lua_State *B, int a, int b)
{
	size_t size, other;
	const char *s = lua_tolstring(B, a, &size);
	const char *t = lua_tolstring(B, b, &other);

	return size == other && strncasecmp(s, t, size) == 0;
}

/* req:values(name): all values of that name, as they came */
static int view_values(lua_State *B)
{
	lua_Integer size, found = 0;
	int wire, list;

	luaL_checktype(B, 2, LUA_TSTRING);
	size = push_wire(B);
	wire = lua_gettop(B);
	lua_newtable(B);
	list = wire + 1;
	for (lua_Integer i = 1; i < size; i += 2) {
		lua_rawgeti(B, wire, i);
		if (same_name(B, 2, -1)) {
			lua_rawgeti(B, wire, i + 1);
			lua_rawseti(B, list, ++found);
		}
		lua_settop(B, list);
	}
	return 1;
}

/* req:fields(): list of {name=, value=}, as they came */
static int view_fields(lua_State *B)
{
	lua_Integer size = push_wire(B);
	int wire = lua_gettop(B);

	lua_createtable(B, (int)(size / 2), 0);
	for (lua_Integer i = 1; i < size; i += 2) {
		lua_createtable(B, 0, 2);
		lua_rawgeti(B, wire, i);
		lua_setfield(B, -2, "name");
		lua_rawgeti(B, wire, i + 1);
		lua_setfield(B, -2, "value");
		lua_rawseti(B, -2, i / 2 + 1);
	}
	return 1;
}

static bool push_method(lua_State *B, const char *key)
{
	static const luaL_Reg methods[] = {
		{ "body", box_body },
		{ "fields", view_fields },
		{ "header", view_header },
		{ "values", view_values },
		{ NULL, NULL },
	};

	for (const luaL_Reg *method = methods; method->name; method++) {
		if (strcmp(key, method->name) == 0) {
			lua_pushcfunction(B, method->func);
			return true;
		}
	}
	return false;
}

static bool is_key(lua_State *B, int index, const char *name)
{
	return lua_type(B, index) == LUA_TSTRING &&
	       strcmp(lua_tostring(B, index), name) == 0;
}

/* The caller's name in place of the value on top, or its number. */
static void find_user(lua_State *B, int table)
{
	struct account account;

	lua_pop(B, 1);
	if (nss_account(NULL, geteuid(), &account))
		lua_pushstring(B, account.name);
	else
		lua_pushfstring(B, "%d", (int)geteuid());
	lua_pushliteral(B, "user");
	lua_pushvalue(B, -2);
	lua_rawset(B, table);
}

/*
 * A table in what ends with the run is shown as a view too, and kept so: it
 * is equal to itself. The value is on top.
 */
static void show(lua_State *B, const struct view *outer, int table, int key)
{
	struct view *inner;

	if (outer->flags & BOX_VIEW_FACTS && lua_isboolean(B, -1) &&
	    is_key(B, key, "user"))
		return find_user(B, table);
	if (!(outer->flags & BOX_VIEW_ENDS) || !lua_istable(B, -1))
		return;
	inner = new_view(B, 1);
	inner->serial = outer->serial;
	inner->flags = BOX_VIEW_ENDS;
	/* A request's connection is its client's. */
	if (is_key(B, key, "conn"))
		inner->process = outer->process;
	lua_pushvalue(B, key);
	lua_pushvalue(B, -2);
	lua_rawset(B, table);
}

/* Looks for it when it is read for the first time. */
static void find_process(lua_State *B, const struct view *view, int table)
{
	lua_pushliteral(B, "process");
	lua_pushvalue(B, -1);
	if (lua_rawget(B, table) == LUA_TNIL) {
		lua_pop(B, 1);
		process_push(B, view->process);
		lua_rawset(B, table);
	} else {
		lua_pop(B, 2);
	}
}

static int view_index(lua_State *B)
{
	struct view *view = check_view(B, 1);
	const char *key =
		lua_type(B, 2) == LUA_TSTRING ? lua_tostring(B, 2) : NULL;

	if (key && view->process && strcmp(key, "process") == 0)
		find_process(B, view, 3);
	lua_pushvalue(B, 2);
	if (key && view->flags & BOX_VIEW_HEADERS)
		to_lower(B);
	lua_rawget(B, 3);
	show(B, view, 3, 2);
	if (!lua_isnil(B, 4))
		return 1;
	if (key && view->flags & BOX_VIEW_METHODS && push_method(B, key))
		return 1;
	if (!(view->flags & BOX_VIEW_STRICT) || (key && is_known(view, key)))
		return 1;
	return no_field(B, view);
}

static int view_newindex(lua_State *B)
{
	struct view *view = test_view(B, 1);

	return luaL_error(B, "%s is read-only",
			  view && view->name ? view->name : "this object");
}

static int view_len(lua_State *B)
{
	check_view(B, 1);
	lua_pushinteger(B, (lua_Integer)lua_rawlen(B, -1));
	return 1;
}

int box_view_next(lua_State *B)
{
	struct view *view;

	lua_settop(B, 2);
	view = check_view(B, 1);
	lua_insert(B, 2); /* view, table, key */
	if (!lua_next(B, 2)) {
		lua_pushnil(B);
		return 1;
	}
	show(B, view, 2, 3);
	return 2;
}

static int view_pairs(lua_State *B)
{
	check_view(B, 1);
	lua_pushcfunction(B, box_view_next);
	lua_pushvalue(B, 1);
	lua_pushnil(B);
	return 3;
}

void box_views_open(lua_State *B)
{
	static const luaL_Reg methods[] = {
		{ "__index", view_index },
		{ "__newindex", view_newindex },
		{ "__len", view_len },
		{ "__pairs", view_pairs },
		{ NULL, NULL },
	};

	luaL_newlib(B, methods);
	lua_pushboolean(B, 0);
	lua_setfield(B, -2, "__metatable");
	lua_pushliteral(B, "srt object");
	lua_setfield(B, -2, "__name");
	lua_rawsetp(B, LUA_REGISTRYINDEX, &box_key_views);
}
