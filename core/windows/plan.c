/* SPDX-License-Identifier: Apache-2.0 */
/* Reads plans strictly: what one side means and the other does not know is a
 * sandbox that holds less than its policy says.
 */
#include "core/windows/plan.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	unsigned bit;
} groups[] = {
	{ "account", GROUP_ACCOUNT },
	{ "users", GROUP_USERS },
	{ "everyone", GROUP_EVERYONE },
	{ "logon", GROUP_LOGON },
};

static int refuse(struct failure *failure, const char *what)
{
	return failure_set(failure, 0, "the plan can't be used: %s", what);
}

static bool group_bits(const struct json *list, unsigned *out)
{
	if (!list || list->type != JSON_ARRAY)
		return false;
	for (const struct json *at = list->child; at; at = at->next) {
		size_t i = 0;

		while (i < ARRAY_SIZE(groups) &&
		       (!at->text || strcmp(at->text, groups[i].name) != 0))
			i++;
		if (i == ARRAY_SIZE(groups))
			return false;
		*out |= groups[i].bit;
	}
	return true;
}

/* Is it a list of these words, in this order? */
static bool words_are(const struct json *list, const char *const *words,
		      size_t count)
{
	const struct json *at = list ? list->child : NULL;

	for (size_t i = 0; i < count; i++, at = at->next)
		if (!at || !at->text || strcmp(at->text, words[i]) != 0)
			return false;
	return list && !at;
}

/* Settings that launch.c has one way to make. */
static bool fixed_settings(const struct json *root)
{
	static const char *const privileges[] = { "SeChangeNotifyPrivilege" };
	static const char *const ui[] = {
		"desktop",	    "displaySettings", "exitWindows",
		"globalAtoms",	    "handles",	       "readClipboard",
		"systemParameters", "writeClipboard",
	};
	const struct json *token = json_get(root, "token");
	const struct json *job = json_get(root, "job");
	const struct json *away = json_get(job, "breakaway");

	return json_true(token, "writeRestricted") &&
	       words_are(json_get(token, "keepPrivileges"), privileges,
			 ARRAY_SIZE(privileges)) &&
	       json_true(job, "killOnClose") && away &&
	       away->type == JSON_FALSE &&
	       json_true(job, "dieOnUnhandledException") &&
	       words_are(json_get(job, "ui"), ui, ARRAY_SIZE(ui));
}

static bool field_is(const struct json *condition, const char *field)
{
	const char *text = json_text(condition, "field");

	return text && strcmp(text, field) == 0;
}

/* The conditions of a filter, in the order in which plans have them. */
static bool conditions_are(const struct json *at,
			   const struct fence_filter *filter)
{
	long long value, low, high;
	const char *text = at ? json_text(at, "value") : NULL;

	if (!text || !field_is(at, "user") || strcmp(text, "account") != 0)
		return false;
	at = at->next;
	if (!filter->protocol)
		return !at;
	if (!field_is(at, "protocol") ||
	    !json_integer(at, "value", filter->protocol, filter->protocol,
			  &value))
		return false;
	at = at->next;
	text = at ? json_text(at, "value") : NULL;
	if (!text || !field_is(at, "remoteAddress") ||
	    strcmp(text, "127.0.0.1") != 0)
		return false;
	at = at->next;
	return field_is(at, "remotePort") && !at->next &&
	       json_integer(at, "low", filter->low, filter->low, &low) &&
	       json_integer(at, "high", filter->high, filter->high, &high);
}

static bool filter_is(const struct json *at, const struct fence_filter *filter)
{
	const char *layer = json_text(at, "layer");
	const char *action = json_text(at, "action");
	const struct json *conditions = json_get(at, "conditions");
	long long weight;

	return layer && action && conditions &&
	       strcmp(layer, fence_layer_name(filter->layer)) == 0 &&
	       strcmp(action, filter->permit ? "permit" : "block") == 0 &&
	       json_integer(at, "weight", filter->weight, filter->weight,
			    &weight) &&
	       conditions_are(conditions->child, filter);
}

static bool read_network(struct win_plan *out, const struct json *network)
{
	const struct json *range = json_get(network, "proxyPortRange");
	const struct json *low = range ? range->child : NULL;
	const struct json *high = low ? low->next : NULL;
	const struct json *at = json_get(network, "filters");
	struct fence_filter wanted[FENCE_FILTERS];

	if (!high || high->next || low->integer < 1 || high->integer < 1 ||
	    low->integer > UINT16_MAX || high->integer > UINT16_MAX || !at)
		return false;
	out->range = (struct port_range){ (uint16_t)low->integer,
					  (uint16_t)high->integer };
	out->sublayer = json_text(network, "sublayerGuid");
	if (!port_range_good(out->range) || !out->sublayer)
		return false;
	fence_filters(out->range, wanted);
	at = at->child;
	for (unsigned i = 0; i < FENCE_FILTERS; i++, at = at->next)
		if (!at || !filter_is(at, &wanted[i]))
			return false;
	return !at;
}

static bool read_rule(struct rule *out, const struct json *at)
{
	const char *type = json_text(at, "type"), *sid = json_text(at, "sid");
	long long mask, flags;

	if (!type || !sid || !json_integer(at, "mask", 1, 0x1fffff, &mask) ||
	    !json_integer(at, "flags", 0, 3, &flags))
		return false;
	out->deny = strcmp(type, "deny") == 0;
	out->trustee = strcmp(sid, "account") == 0 ? TRUSTEE_ACCOUNT
						   : TRUSTEE_OWNER_RIGHTS;
	out->mask = (uint32_t)mask;
	out->flags = (uint8_t)flags;
	return (out->deny || strcmp(type, "allow") == 0) &&
	       (out->trustee == TRUSTEE_ACCOUNT ||
		strcmp(sid, "owner-rights") == 0);
}

/* A path on a drive, from its root; nothing that leads elsewhere. */
static bool local_path(const char *path)
{
	if (!path || path[0] < 'A' || path[0] > 'Z' || path[1] != ':' ||
	    path[2] != '\\')
		return false;
	for (const char *at = path + 2; at; at = strchr(at + 1, '\\'))
		if (at[1] == '.' && (!at[2] || at[2] == '\\' || at[2] == '.'))
			return false;
	return !strpbrk(path + 3, "/:*?\"<>|");
}

static bool read_path(struct plan_path *out, const struct json *at)
{
	const struct json *rules = json_get(at, "aces");
	const struct json *rule = rules ? rules->child : NULL;

	out->path = json_text(at, "path");
	out->make = json_true(at, "make");
	for (; rule; rule = rule->next)
		if (out->count == RULES_MOST ||
		    !read_rule(&out->rules[out->count++], rule))
			return false;
	return out->count && local_path(out->path);
}

static int read_paths(struct win_plan *out, const struct json *list,
		      struct failure *failure)
{
	if (!list || list->type != JSON_ARRAY)
		return refuse(failure, "it has no acl");
	for (const struct json *at = list->child; at; at = at->next)
		out->path_count++;
	out->paths = calloc(out->path_count + 1, sizeof(*out->paths));
	if (!out->paths)
		return failure_set(failure, ENOMEM, "reading the plan");
	out->path_count = 0;
	for (const struct json *at = list->child; at; at = at->next)
		if (!read_path(&out->paths[out->path_count++], at))
			return refuse(failure, "an entry of acl is unknown");
	return 0;
}

static bool read_heads(struct win_plan *out)
{
	const struct json *account = json_get(out->root, "account");
	const struct json *environment = json_get(out->root, "environment");
	const struct json *checks = json_get(out->root, "checks");

	out->account = json_text(account, "name");
	out->group = json_text(account, "group");
	out->cwd = json_text(out->root, "cwd");
	out->ca = json_text(checks, "ca");
	out->set = json_get(environment, "set");
	out->unset = json_get(environment, "unset");
	out->pass = json_get(environment, "pass");
	out->account_names = json_get(environment, "account");
	return out->account && out->group && local_path(out->cwd) &&
	       json_true(checks, "account") && json_true(checks, "fence") &&
	       out->set && out->unset && out->account_names;
}

int win_plan_read(struct win_plan *out, const char *text, size_t size,
		  struct failure *failure)
{
	const struct json *token;
	long long version;
	int error;

	*out = (struct win_plan){ 0 };
	error = json_parse(text, size, &out->root);
	if (error)
		return failure_set(failure, -error, "the plan is no JSON");
	token = json_get(out->root, "token");
	if (!json_integer(out->root, "version", 1, 1, &version))
		error = refuse(failure, "its version is not 1");
	else if (!read_heads(out))
		error = refuse(failure, "something is missing in it");
	else if (!read_network(out, json_get(out->root, "network")))
		error = refuse(failure, "it has other filters than are known");
	else if (!fixed_settings(out->root) ||
		 !group_bits(json_get(token, "keepGroups"),
			     &out->keep_groups) ||
		 !group_bits(json_get(token, "restricting"), &out->restricting))
		error = refuse(failure, "it has unknown token or job settings");
	else
		error = read_paths(out, json_get(out->root, "acl"), failure);
	if (error)
		win_plan_free(out);
	return error;
}

void win_plan_free(struct win_plan *plan)
{
	free(plan->paths);
	json_free(plan->root);
	*plan = (struct win_plan){ 0 };
}
