/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive descent over bytes, with a bound on its depth. */
#include "core/windows/json.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16 };

struct reader {
	const char *at, *end;
	unsigned depth;
};

static int value_at(struct reader *in, struct json **out);

static void skip_space(struct reader *in)
{
	while (in->at < in->end && strchr(" \t\r\n", *in->at) && *in->at)
		in->at++;
}

static bool take(struct reader *in, char wanted)
{
	skip_space(in);
	if (in->at == in->end || *in->at != wanted)
		return false;
	in->at++;
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool hex4(struct reader *in, uint32_t *out)
{
	*out = 0;
	if (in->end - in->at < 4)
		return false;
	for (int i = 0; i < 4; i++) {
		int digit = hex_digit(*in->at++);

		if (digit < 0)
			return false;
		*out = *out << 4 | (uint32_t)digit;
	}
	return true;
}

/* A character of \u escapes; one half of a pair alone is none. */
static bool unicode(struct reader *in, uint32_t *out)
{
	uint32_t low;

	if (!hex4(in, out) || (*out >= 0xdc00 && *out < 0xe000) || !*out)
		return false;
	if (*out < 0xd800 || *out >= 0xe000)
		return true;
	if (in->end - in->at < 2 || in->at[0] != '\\' || in->at[1] != 'u')
		return false;
	in->at += 2;
	if (!hex4(in, &low) || low < 0xdc00 || low >= 0xe000)
		return false;
	*out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
	return true;
}

static char *utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (c & 0x3f));
	return to;
}

static bool escaped(struct reader *in, char **to)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *name;
	uint32_t c;

	if (in->at == in->end)
		return false;
	if (*in->at == 'u') {
		in->at++;
		if (!unicode(in, &c))
			return false;
		*to = utf8(*to, c);
		return true;
	}
	name = *in->at ? strchr(names, *in->at) : NULL;
	if (!name)
		return false;
	*(*to)++ = bytes[name - names];
	in->at++;
	return true;
}

/* How long a string is with its escapes, which never make it shorter. */
static size_t string_size(const struct reader *in)
{
	const char *at = in->at;

	while (at < in->end && *at != '"')
		at += *at == '\\' && in->end - at > 1 ? 2 : 1;
	return (size_t)(at - in->at);
}

/* Behind the opening quote. */
static int string_at(struct reader *in, char **out)
{
	char *text = malloc(string_size(in) + 1), *to = text;
	bool good = true;

	if (!text)
		return -ENOMEM;
	while (good && in->at < in->end && *in->at != '"') {
		unsigned char c = (unsigned char)*in->at++;

		good = c >= 0x20 && (c != '\\' || escaped(in, &to));
		if (c != '\\')
			*to++ = (char)c;
	}
	if (!good || in->at == in->end) {
		free(text);
		return -EINVAL;
	}
	in->at++;
	*to = '\0';
	*out = text;
	return 0;
}

static int integer_at(struct reader *in, long long *out)
{
	bool negative = in->at < in->end && *in->at == '-';
	const char *first = in->at += negative;

	for (*out = 0; in->at < in->end && *in->at >= '0' && *in->at <= '9';)
		if (in->at - first < 18)
			*out = *out * 10 + (*in->at++ - '0');
		else
			return -EINVAL;
	if (in->at == first || (*first == '0' && in->at - first > 1))
		return -EINVAL;
	if (in->at < in->end && strchr(".eE", *in->at) && *in->at)
		return -EINVAL;
	if (negative)
		*out = -*out;
	return 0;
}

static bool word_at(struct reader *in, const char *word)
{
	size_t size = strlen(word);

	if ((size_t)(in->end - in->at) < size ||
	    memcmp(in->at, word, size) != 0)
		return false;
	in->at += size;
	return true;
}

static int member(struct reader *in, const struct json *object, char **key)
{
	int error = take(in, '"') ? string_at(in, key) : -EINVAL;

	if (error)
		return error;
	return json_get(object, *key) || !take(in, ':') ? -EINVAL : 0;
}

static int items(struct reader *in, struct json *out, char close)
{
	struct json **last = &out->child;

	if (take(in, close))
		return 0;
	for (;;) {
		char *key = NULL;
		int error = close == '}' ? member(in, out, &key) : 0;

		if (!error)
			error = value_at(in, last);
		if (error) {
			free(key);
			return error;
		}
		(*last)->key = key;
		last = &(*last)->next;
		if (take(in, close))
			return 0;
		if (!take(in, ','))
			return -EINVAL;
	}
}

static int plain(struct reader *in, struct json *value)
{
	static const char *const words[] = {
		[JSON_NULL] = "null",
		[JSON_FALSE] = "false",
		[JSON_TRUE] = "true",
	};

	for (enum json_type i = JSON_NULL; i <= JSON_TRUE; i++) {
		value->type = i;
		if (word_at(in, words[i]))
			return 0;
	}
	value->type = JSON_INTEGER;
	return integer_at(in, &value->integer);
}

static int fill(struct reader *in, struct json *value)
{
	if (take(in, '"')) {
		value->type = JSON_STRING;
		return string_at(in, &value->text);
	}
	if (take(in, '[')) {
		value->type = JSON_ARRAY;
		return items(in, value, ']');
	}
	if (take(in, '{')) {
		value->type = JSON_OBJECT;
		return items(in, value, '}');
	}
	return plain(in, value);
}

static int value_at(struct reader *in, struct json **out)
{
	struct json *value = calloc(1, sizeof(*value));
	int error;

	if (!value)
		return -ENOMEM;
	error = in->depth < MOST_DEPTH ? 0 : -EINVAL;
	in->depth++;
	if (!error)
		error = fill(in, value);
	in->depth--;
	if (error)
		json_free(value);
	else
		*out = value;
	return error;
}

int json_parse(const char *text, size_t size, struct json **out)
{
	struct reader in = { .at = text, .end = text + size };
	int error = value_at(&in, out);

	if (error)
		return error;
	skip_space(&in);
	if (in.at == in.end)
		return 0;
	json_free(*out);
	*out = NULL;
	return -EINVAL;
}

void json_free(struct json *value)
{
	while (value) {
		struct json *next = value->next;

		json_free(value->child);
		free(value->key);
		free(value->text);
		free(value);
		value = next;
	}
}

const struct json *json_get(const struct json *object, const char *key)
{
	if (!object || object->type != JSON_OBJECT)
		return NULL;
	for (const struct json *at = object->child; at; at = at->next)
		if (at->key && strcmp(at->key, key) == 0)
			return at;
	return NULL;
}

const char *json_text(const struct json *object, const char *key)
{
	const struct json *value = json_get(object, key);

	return value && value->type == JSON_STRING ? value->text : NULL;
}

bool json_integer(const struct json *object, const char *key, long long low,
		  long long high, long long *out)
{
	const struct json *value = json_get(object, key);

	if (!value || value->type != JSON_INTEGER || value->integer < low ||
	    value->integer > high)
		return false;
	*out = value->integer;
	return true;
}

bool json_true(const struct json *object, const char *key)
{
	const struct json *value = json_get(object, key);

	return value && value->type == JSON_TRUE;
}
