/* SPDX-License-Identifier: Apache-2.0 */
/* What else a session is asked: other policies, and what was denied. */
#include <stdlib.h>
#include <string.h>

#include "lib/private.h"

static struct srtlua_updated *updated_of(const json_t *answer)
{
	const json_t *held = json_object_get(answer, "held");
	size_t count = json_array_size(held), size = 0;
	struct srtlua_updated *updated;
	struct packed packed;

	for (size_t i = 0; i < count; i++)
		size += pack_size(json_array_get(held, i));
	updated = calloc(1, sizeof(*updated) + count * sizeof(char *) + size);
	if (!updated)
		return NULL;
	packed = (struct packed){ (char *)&updated->held[count], size };
	updated->commands =
		(size_t)json_integer_value(json_object_get(answer, "commands"));
	updated->cut =
		(size_t)json_integer_value(json_object_get(answer, "cut"));
	updated->held_count = count;
	for (size_t i = 0; i < count; i++)
		updated->held[i] = pack(&packed, json_array_get(held, i));
	return updated;
}

static int update(struct srtlua_session *session, json_t *message,
		  struct srtlua_updated **out, struct srtlua_error *error)
{
	json_t *answer;
	int code;

	if (out)
		*out = NULL;
	code = link_call(session, message, &answer, error);
	if (code)
		return code;
	if (!are_strings(json_object_get(answer, "held"), 0))
		code = fail_answer(error);
	else if (out && !(*out = updated_of(answer)))
		code = fail(error, SRTLUA_SYSTEM, "out of memory");
	json_decref(answer);
	return code;
}

int srtlua_update_json(struct srtlua_session *session, const char *text,
		       struct srtlua_updated **out, struct srtlua_error *error)
{
	int code = SRTLUA_OK;
	json_t *settings = read_settings(text, &code, error);

	if (out)
		*out = NULL;
	if (!settings)
		return code;
	return update(
		session,
		json_pack("{s:s,s:o}", "op", "update", "settings", settings),
		out, error);
}

int srtlua_update_file(struct srtlua_session *session, const char *path,
		       struct srtlua_updated **out, struct srtlua_error *error)
{
	return update(session,
		      json_pack("{s:s,s:s*}", "op", "update", "file", path),
		      out, error);
}

static const char *const keys[] = { "kind",    "target",    "rule",
				    "reason",  "origin",    "advice",
				    "command", "commandId", "line" };

static size_t size_of(const json_t *one)
{
	const json_t *process = json_object_get(one, "process");
	size_t size = pack_size(json_object_get(process, "exe"));

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		size += pack_size(json_object_get(one, keys[i]));
	return size;
}

static struct srtlua_violation violation_of(struct packed *packed,
					    const json_t *one)
{
	const json_t *count = json_object_get(one, "count");
	const json_t *process = json_object_get(one, "process");

	return (struct srtlua_violation){
		.time = json_number_value(json_object_get(one, "time")),
		.kind = pack(packed, json_object_get(one, "kind")),
		.target = pack(packed, json_object_get(one, "target")),
		.rule = pack(packed, json_object_get(one, "rule")),
		.reason = pack(packed, json_object_get(one, "reason")),
		.origin = pack(packed, json_object_get(one, "origin")),
		.advice = pack(packed, json_object_get(one, "advice")),
		.command = pack(packed, json_object_get(one, "command")),
		.id = pack(packed, json_object_get(one, "commandId")),
		.program = pack(packed, json_object_get(process, "exe")),
		.line = pack(packed, json_object_get(one, "line")),
		.count = count ? (unsigned long)json_integer_value(count) : 1,
	};
}

static struct srtlua_violations *violations_of(const json_t *list)
{
	size_t count = json_array_size(list), size = 0;
	struct srtlua_violations *out;
	struct packed packed;

	for (size_t i = 0; i < count; i++)
		size += size_of(json_array_get(list, i));
	out = calloc(1, sizeof(*out) + count * sizeof(*out->list) + size);
	if (!out)
		return NULL;
	packed = (struct packed){ (char *)&out->list[count], size };
	out->count = count;
	for (size_t i = 0; i < count; i++)
		out->list[i] = violation_of(&packed, json_array_get(list, i));
	return out;
}

int srtlua_violations(struct srtlua_session *session, const char *id,
		      const char *text, struct srtlua_violations **out,
		      struct srtlua_error *error)
{
	const json_t *list;
	json_t *answer;
	int code;

	*out = NULL;
	code = link_call(session,
			 json_pack("{s:s,s:s*,s:s*}", "op", "violations", "id",
				   id, "text", text),
			 &answer, error);
	if (code)
		return code;
	list = json_object_get(answer, "violations");
	if (!json_is_array(list))
		code = fail_answer(error);
	else if (!(*out = violations_of(list)))
		code = fail(error, SRTLUA_SYSTEM, "out of memory");
	json_decref(answer);
	return code;
}

int srtlua_annotate(struct srtlua_session *session, const char *id,
		    const char *text, char **out, struct srtlua_error *error)
{
	const char *full;
	json_t *answer;
	int code;

	*out = NULL;
	code = link_call(session,
			 json_pack("{s:s,s:s,s:s}", "op", "annotate", "id", id,
				   "stderr", text),
			 &answer, error);
	if (code)
		return code;
	full = json_string_value(json_object_get(answer, "stderr"));
	if (!full)
		code = fail_answer(error);
	else if (!(*out = strdup(full)))
		code = fail(error, SRTLUA_SYSTEM, "out of memory");
	json_decref(answer);
	return code;
}

int srtlua_reset(struct srtlua_session *session, struct srtlua_error *error)
{
	json_t *answer = NULL;
	int code = link_call(session, json_pack("{s:s}", "op", "reset"),
			     &answer, error);

	json_decref(answer);
	return code;
}
