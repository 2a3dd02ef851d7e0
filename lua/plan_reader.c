/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a plan table into plain structs. */
#include "lua/plan_reader.h"

#include <lauxlib.h>
#include <string.h>

#include "core/util.h"

/* One element more than asked for, so that lists end with zeros. */
static void *array(struct plan_reader *r, size_t count, size_t size)
{
	void *memory = shared_alloc(r->shared, (count + 1) * size);

	if (!memory)
		luaL_error(r->L, "the plan is too large");
	return memory;
}

static const char *copy_text(struct plan_reader *r, int index)
{
	size_t size;
	const char *text = lua_tolstring(r->L, index, &size);
	char *copy;

	if (lua_type(r->L, index) != LUA_TSTRING || strlen(text) != size)
		luaL_error(r->L, "plan: string without NUL bytes expected");
	copy = array(r, size, 1);
	memcpy(copy, text, size);
	return copy;
}

static const char *text_field(struct plan_reader *r, int table,
			      const char *name, bool needed)
{
	const char *text = NULL;

	if (lua_getfield(r->L, table, name) != LUA_TNIL)
		text = copy_text(r, -1);
	else if (needed)
		luaL_error(r->L, "plan.%s: string expected", name);
	lua_pop(r->L, 1);
	return text;
}

static lua_Integer integer_at(struct plan_reader *r, int table,
			      const char *name)
{
	lua_Integer value;
	int is_integer;

	lua_getfield(r->L, table, name);
	value = lua_tointegerx(r->L, -1, &is_integer);
	if (!is_integer)
		luaL_error(r->L, "plan.%s: integer expected", name);
	lua_pop(r->L, 1);
	return value;
}

static bool flag_at(struct plan_reader *r, int table, const char *name)
{
	bool value;

	lua_getfield(r->L, table, name);
	value = lua_toboolean(r->L, -1);
	lua_pop(r->L, 1);
	return value;
}

/* Reads the element at stack @index to @out, which is zeroed. */
typedef void read_element(struct plan_reader *r, int index, void *out);

/* The list at stack @index, or an empty one where that is nil. */
static void *read_list(struct plan_reader *r, int index, read_element *read,
		       size_t size, size_t *count)
{
	bool absent = lua_isnoneornil(r->L, index);
	char *list;

	if (!absent && !lua_istable(r->L, index))
		luaL_error(r->L, "plan: list expected");
	luaL_checkstack(r->L, 8, "plan too deep");
	*count = absent ? 0 : (size_t)lua_rawlen(r->L, index);
	list = array(r, *count, size);
	for (size_t i = 0; i < *count; i++) {
		lua_rawgeti(r->L, index, (lua_Integer)i + 1);
		read(r, lua_gettop(r->L), list + i * size);
		lua_pop(r->L, 1);
	}
	return list;
}

static void *list_field(struct plan_reader *r, int table, const char *name,
			read_element *read, size_t size, size_t *count)
{
	void *list;

	lua_getfield(r->L, table, name);
	list = read_list(r, lua_gettop(r->L), read, size, count);
	lua_pop(r->L, 1);
	return list;
}

static void read_string(struct plan_reader *r, int index, void *out)
{
	*(const char **)out = copy_text(r, index);
}

static const char **strings_field(struct plan_reader *r, int table,
				  const char *name, size_t *count)
{
	return list_field(r, table, name, read_string, sizeof(char *), count);
}

static void read_slot(struct plan_reader *r, int index, void *out)
{
	struct mount_slot *slot = out;

	slot->path = text_field(r, index, "path", true);
	slot->link = text_field(r, index, "link", false);
	slot->directory = flag_at(r, index, "directory");
}

/* What the plan's files may come to in all. */
#define CONTENT_MAX (16U << 20)

/* Files that show one string share one copy, which goes from @r->copies. */
static const char *content_of(struct plan_reader *r, const char *bytes,
			      size_t size)
{
	size_t last = ARRAY_SIZE(r->copies) - 1;
	char *copy;

	for (size_t i = 0; i <= last; i++)
		if (r->copies[i].from == bytes && bytes)
			return r->copies[i].to;
	if (size > CONTENT_MAX - r->content)
		luaL_error(r->L, "plan: the files' content is too large");
	r->content += size;
	copy = array(r, size, 1);
	memcpy(copy, bytes, size);
	memmove(&r->copies[1], &r->copies[0], last * sizeof(r->copies[0]));
	r->copies[0].from = bytes;
	r->copies[0].to = copy;
	return copy;
}

static void read_content(struct plan_reader *r, int index,
			 struct mount_content *out)
{
	const char *bytes;

	lua_getfield(r->L, index, "content");
	bytes = lua_tolstring(r->L, -1, &out->size);
	if (lua_type(r->L, -1) != LUA_TSTRING)
		luaL_error(r->L, "plan: content expected");
	out->bytes = content_of(r, bytes, out->size);
	lua_pop(r->L, 1);
	out->mode = (mode_t)integer_at(r, index, "mode") & 0777;
	out->owned = lua_getfield(r->L, index, "uid") != LUA_TNIL;
	lua_pop(r->L, 1);
	if (out->owned) {
		out->uid = (uid_t)integer_at(r, index, "uid");
		out->gid = (gid_t)integer_at(r, index, "gid");
	}
}

static void read_file(struct plan_reader *r, int index, void *out)
{
	struct plan_file *file = out;

	file->name = text_field(r, index, "name", true);
	if (!*file->name || *file->name == '.' || strchr(file->name, '/'))
		luaL_error(r->L, "plan.files: a plain name expected");
	read_content(r, index, &file->content);
}

static void read_step(struct plan_reader *r, int index, void *out)
{
	static const char *const kinds[] = { "bind", "mask", "scaffold",
					     "content", NULL };
	struct mount_step *step = out;

	if (lua_type(r->L, index) == LUA_TSTRING) {
		step->kind = MOUNT_MASK;
		step->target = copy_text(r, index);
		return;
	}
	lua_getfield(r->L, index, "op");
	step->kind = (enum mount_kind)luaL_checkoption(r->L, -1, NULL, kinds);
	lua_pop(r->L, 1);
	step->target = text_field(r, index, "target", true);
	if (step->kind == MOUNT_BIND)
		step->source = text_field(r, index, "source", true);
	step->directory = flag_at(r, index, "directory");
	step->read_only = flag_at(r, index, "readOnly");
	if (step->kind == MOUNT_SCAFFOLD)
		step->slots =
			list_field(r, index, "slots", read_slot,
				   sizeof(*step->slots), &step->slot_count);
	if (step->kind == MOUNT_CONTENT) {
		struct mount_content *content = array(r, 1, sizeof(*content));

		read_content(r, index, content);
		step->content = content;
	}
}

static void read_arg(struct plan_reader *r, int index, void *out)
{
	struct seccomp_arg *arg = out;

	arg->index = (unsigned int)integer_at(r, index, "index");
	arg->value = (uint64_t)integer_at(r, index, "value");
	arg->above = flag_at(r, index, "above");
	arg->differs = flag_at(r, index, "differs");
	if (!arg->above && !arg->differs)
		arg->mask = (uint64_t)integer_at(r, index, "mask");
}

static void read_rule(struct plan_reader *r, int index, void *out)
{
	struct seccomp_rule *rule = out;
	const struct seccomp_arg *args;

	rule->call = text_field(r, index, "call", true);
	rule->notify = flag_at(r, index, "notify");
	if (!rule->notify || flag_at(r, index, "errno"))
		rule->error = (int)integer_at(r, index, "errno");
	args = list_field(r, index, "args", read_arg, sizeof(*args),
			  &rule->arg_count);
	if (rule->arg_count > ARRAY_SIZE(rule->args))
		luaL_error(r->L, "plan.seccomp: too many arguments");
	memcpy(rule->args, args, rule->arg_count * sizeof(*args));
}

struct seccomp_rule *plan_read_rules(struct plan_reader *r, int index,
				     size_t *count)
{
	return read_list(r, index, read_rule, sizeof(struct seccomp_rule),
			 count);
}

static void read_glob(struct plan_reader *r, int index, void *out)
{
	struct guard_glob *glob = out;

	glob->pattern = text_field(r, index, "pattern", true);
	glob->top = text_field(r, index, "top", true);
	glob->floating = flag_at(r, index, "floating");
}

static void read_name(struct plan_reader *r, int index, void *out)
{
	struct guard_name *name = out;

	name->name = text_field(r, index, "name", true);
	name->top = text_field(r, index, "top", false);
	name->depth = (unsigned int)integer_at(r, index, "depth");
}

void plan_read_guard(struct plan_reader *r, int index,
		     struct guard_table *guard)
{
	guard->on = true;
	guard->free = text_field(r, index, "free", false);
	guard->skip = strings_field(r, index, "skip", &guard->skip_count);
	guard->paths = strings_field(r, index, "paths", &guard->path_count);
	guard->globs = list_field(r, index, "globs", read_glob,
				  sizeof(*guard->globs), &guard->glob_count);
	guard->names = list_field(r, index, "names", read_name,
				  sizeof(*guard->names), &guard->name_count);
}

static void read_area(struct plan_reader *r, int index, struct area_table *area)
{
	area->on = true;
	area->tops = strings_field(r, index, "tops", &area->top_count);
	area->again = strings_field(r, index, "again", &area->again_count);
	area->held = strings_field(r, index, "held", &area->held_count);
}

static void read_socket_glob(struct plan_reader *r, int index, void *out)
{
	struct socket_glob *glob = out;

	glob->pattern = text_field(r, index, "pattern", true);
	glob->top = text_field(r, index, "top", true);
}

void plan_read_sockets(struct plan_reader *r, int index,
		       struct socket_table *sockets)
{
	sockets->on = true;
	sockets->paths = strings_field(r, index, "paths", &sockets->path_count);
	sockets->hidden =
		strings_field(r, index, "hidden", &sockets->hidden_count);
	sockets->shown =
		strings_field(r, index, "shown", &sockets->shown_count);
	sockets->globs =
		list_field(r, index, "globs", read_socket_glob,
			   sizeof(*sockets->globs), &sockets->glob_count);
}

static void read_listen(struct plan_reader *r, int index, void *out)
{
	struct listen_point *listen = out;

	listen->address = text_field(r, index, "address", true);
	listen->port = (uint16_t)integer_at(r, index, "port");
	listen->datagrams = flag_at(r, index, "datagrams");
	listen->owners = flag_at(r, index, "owners");
}

static void read_publish(struct plan_reader *r, int index, void *out)
{
	struct publish_point *publish = out;

	publish->address = text_field(r, index, "address", true);
	publish->port = (uint16_t)integer_at(r, index, "hostPort");
	publish->inside = (uint16_t)integer_at(r, index, "port");
}

static void read_notified(struct plan_reader *r, int index,
			  struct notified *notified)
{
	notified->key = text_field(r, index, "notifyFilter", false);
	if (!notified->key)
		notified->rules =
			list_field(r, index, "notify", read_rule,
				   sizeof(*notified->rules), &notified->count);
}

static void read_redirect(struct plan_reader *r, int index,
			  struct redirect *redirect)
{
	redirect->port = (uint16_t)integer_at(r, index, "port");
	redirect->eager = flag_at(r, index, "eager");
	redirect->needed = flag_at(r, index, "needed");
	redirect->v4 = text_field(r, index, "v4", true);
	redirect->v6 = text_field(r, index, "v6", true);
}

static void read_network(struct plan_reader *r, int index,
			 struct shared *shared)
{
	struct plan *plan = &shared->plan;

	if (lua_getfield(r->L, index, "redirect") != LUA_TNIL &&
	    !shared->redirected)
		read_redirect(r, lua_gettop(r->L), &plan->redirect);
	lua_pop(r->L, 1);
	plan->listen = list_field(r, index, "listen", read_listen,
				  sizeof(*plan->listen), &plan->listen_count);
	if (plan->listen_count > PLAN_LISTEN_MAX)
		luaL_error(r->L, "plan.listen: too many ports");
}

static void read_watch(struct plan_reader *r, int index,
		       struct watch_table *watch)
{
	watch->on = true;
	watch->reads = flag_at(r, index, "reads");
	watch->asks = flag_at(r, index, "asks");
	watch->connects = flag_at(r, index, "connects");
	watch->learns = flag_at(r, index, "learns");
	watch->needed = flag_at(r, index, "needed");
}

static void read_path(struct plan_reader *r, int index, void *out)
{
	struct landlock_path *rule = out;

	rule->path = text_field(r, index, "path", true);
	rule->access = text_field(r, index, "access", true);
}

static void read_bwrap(struct plan_reader *r, int index,
		       struct plan_bwrap *bwrap)
{
	bwrap->program = text_field(r, index, "program", true);
	bwrap->masks = text_field(r, index, "masks", true);
	bwrap->arguments = strings_field(r, index, "argv", &bwrap->count);
	bwrap->rules = list_field(r, index, "seccomp", read_rule,
				  sizeof(*bwrap->rules), &bwrap->rule_count);
}

static void read_fd(struct plan_reader *r, int index, void *out)
{
	*(int *)out = (int)luaL_checkinteger(r->L, index);
}

void plan_read_redirect(lua_State *L, int index, struct shared *shared)
{
	struct plan_reader reader = { .L = L, .shared = shared };

	read_redirect(&reader, index, &shared->plan.redirect);
}

void plan_read_network(lua_State *L, int index, struct shared *shared)
{
	struct plan_reader reader = { .L = L, .shared = shared };

	read_network(&reader, index, shared);
}

/* All but what the command is. */
static void read_sandbox(struct plan_reader *r, int index,
			 struct shared *shared)
{
	struct plan *plan = &shared->plan;
	lua_State *L = r->L;

	plan->cwd = text_field(r, index, "cwd", true);
	plan->temp_dir = text_field(r, index, "tempDir", false);
	plan->state = text_field(r, index, "state", false);
	plan->transient = flag_at(r, index, "transient");
	plan->waits = flag_at(r, index, "waits");
	plan->root_read_only = flag_at(r, index, "rootReadOnly");
	plan->landlock = flag_at(r, index, "landlock");
	plan->scope_signals = flag_at(r, index, "scopeSignals");
	plan->all_sockets = flag_at(r, index, "allSockets");
	plan->paths = list_field(r, index, "paths", read_path,
				 sizeof(*plan->paths), &plan->path_count);
	plan->writable =
		strings_field(r, index, "writable", &plan->writable_count);
	plan->placeholders = strings_field(r, index, "placeholders",
					   &plan->placeholder_count);
	plan->steps = list_field(r, index, "mounts", read_step,
				 sizeof(*plan->steps), &plan->step_count);
	plan->files = list_field(r, index, "files", read_file,
				 sizeof(*plan->files), &plan->file_count);
	plan->filter = text_field(r, index, "filter", false);
	if (!plan->filter)
		plan->rules =
			list_field(r, index, "seccomp", read_rule,
				   sizeof(*plan->rules), &plan->rule_count);
	if (lua_getfield(L, index, "guard") != LUA_TNIL)
		plan_read_guard(r, lua_gettop(L), &plan->guard);
	lua_pop(L, 1);
	if (lua_getfield(L, index, "area") != LUA_TNIL)
		read_area(r, lua_gettop(L), &plan->area);
	lua_pop(L, 1);
	if (lua_getfield(L, index, "sockets") != LUA_TNIL)
		plan_read_sockets(r, lua_gettop(L), &plan->sockets);
	lua_pop(L, 1);
	if (lua_getfield(L, index, "watch") != LUA_TNIL)
		read_watch(r, lua_gettop(L), &plan->watch);
	lua_pop(L, 1);
	read_notified(r, index, &plan->notified);
	if (!shared->network)
		read_network(r, index, shared);
	plan->publish =
		list_field(r, index, "publish", read_publish,
			   sizeof(*plan->publish), &plan->publish_count);
	if (lua_getfield(L, index, "redirect") != LUA_TNIL)
		read_notified(r, lua_gettop(L), &plan->redirect.notified);
	lua_pop(L, 1);
	if (lua_getfield(L, index, "bwrap") != LUA_TNIL)
		read_bwrap(r, lua_gettop(L), &plan->bwrap);
	lua_pop(L, 1);
	plan->keep_fds = list_field(r, index, "keepFds", read_fd,
				    sizeof(*plan->keep_fds), &plan->keep_count);
}

void plan_read_sandbox(lua_State *L, int index, struct shared *shared)
{
	struct plan_reader reader = { .L = L, .shared = shared };

	read_sandbox(&reader, index, shared);
}

void plan_read(lua_State *L, int index, struct shared *shared)
{
	struct plan_reader reader = { .L = L, .shared = shared }, *r = &reader;
	struct plan *plan = &shared->plan;
	size_t unused;

	plan->argv = strings_field(r, index, "argv", &unused);
	plan->env = strings_field(r, index, "env", &unused);
	plan->program = text_field(r, index, "program", false);
	if (!plan->argv[0])
		luaL_error(L, "plan.argv: empty");
	if (!shared->built)
		read_sandbox(r, index, shared);
}
