/* SPDX-License-Identifier: Apache-2.0 */
/* A strict reader of JSON, for plans: no library of Debian's has one for
 * MinGW, and nothing else of ours reads JSON in C without Lua. Pure.
 */
#ifndef SRT_WINDOWS_JSON_H
#define SRT_WINDOWS_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_INTEGER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/** struct json - a value, and with @next the rest of what it stands in */
struct json {
	enum json_type type;
	long long integer;
	char *text;	    /* owned; UTF-8, without NUL bytes */
	char *key;	    /* owned; in an object */
	struct json *child; /* owned; the first one */
	struct json *next;  /* owned */
};

/**
 * json_parse() - read one value and nothing behind it
 * @text: @size bytes, need not end with a NUL
 * @out: owned by the caller, freed by json_free()
 * Return: 0; -EINVAL for what is no JSON, or has numbers that are no integers,
 * repeated keys, NUL characters or more than 16 levels; -ENOMEM.
 */
int json_parse(const char *text, size_t size, struct json **out);

/** json_free() - free a value with all that is in it; NULL is fine */
void json_free(struct json *value);

/**
 * json_get() - the value of a key
 * Return: NULL where @object is no object or has no such key
 */
const struct json *json_get(const struct json *object, const char *key);

/** json_text() - the string of a key, or NULL */
const char *json_text(const struct json *object, const char *key);

/** json_integer() - the integer of a key; false unless it is in the range */
bool json_integer(const struct json *object, const char *key, long long low,
		  long long high, long long *out);

/** json_true() - is the value of a key true? */
bool json_true(const struct json *object, const char *key);

static inline void json_freep(struct json **value)
{
	json_free(*value);
}

#define owned_json __attribute__((cleanup(json_freep)))

#endif
