/* SPDX-License-Identifier: Apache-2.0 */
/* Read-only objects of the box: a callback's subject, srt, an answer. */
#ifndef SRT_LUA_BOX_VIEW_H
#define SRT_LUA_BOX_VIEW_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

struct body_source;
struct process_source;

enum box_view_flags {
	BOX_VIEW_STRICT = 1,  /* a field that is not there is an error */
	BOX_VIEW_HEADERS = 2, /* names in any case */
	BOX_VIEW_METHODS = 4, /* has header(), values(), fields(), body() */
	BOX_VIEW_ENDS = 8,    /* with the run; tables in it are views too */
	BOX_VIEW_FACTS = 16,  /* true for user: looked up when it is read */
};

/** box_views_open - make the metatable; in the box's set-up */
void box_views_open(lua_State *B);

/**
 * box_view_new - replace the table on top by a read-only view of it
 * @name: for messages, static storage, or NULL
 * @known: NULL-terminated names that may be absent (read as nil) in a strict
 *	view; static storage, or NULL
 */
void box_view_new(lua_State *B, const char *name, unsigned int flags,
		  const char *const *known);

/**
 * box_view_push - push the table behind a view
 * @ended: also where the view is over
 *
 * Return: false, with nothing pushed, where the value at @index is no view.
 * Never throws; the caller has three stack slots free.
 */
bool box_view_push(lua_State *B, int index, bool ended);

/**
 * box_view_attach - what the view on top reads its body from
 * box_view_source - the same, later: NULL where there is none
 *
 * The latter throws where the value is no view, or over.
 */
void box_view_attach(lua_State *B, struct body_source *source);
struct body_source *box_view_source(lua_State *B, int index);

/** box_view_attach_process - whose the view on top is, found when it is read */
void box_view_attach_process(lua_State *B, const struct process_source *source);

/**
 * box_view_list - the table on top, {name, value, name, value ...} as on the
 * wire, belongs to the view of headers below it
 */
void box_view_list(lua_State *B);

/** box_view_next - next(view, key) as a function of the box */
int box_view_next(lua_State *B);

/**
 * box_nearest - the name most like @name, or NULL where none is close
 * @index: of a table whose string keys are candidates
 * @known: more of them, or NULL
 */
const char *box_nearest(lua_State *B, int index, const char *const *known,
			const char *name);

#endif
