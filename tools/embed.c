/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Lua files into one C source: embed OUT NAME=PATH ... */
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char *name;
	const char *path;
};

static int by_name(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	return strcmp(left->name, right->name);
}

static int write_bytes(lua_State *L, const void *p, size_t size, void *out)
{
	const unsigned char *bytes = p;

	(void)L;
	for (size_t i = 0; i < size; i++)
		fprintf(out, "%u,%s", bytes[i], i % 24 == 23 ? "\n" : "");
	return 0;
}

static char *read_file(const char *path, size_t *size)
{
	FILE *in = fopen(path, "rb");
	char *text = NULL;
	long end;

	if (!in || fseek(in, 0, SEEK_END) || (end = ftell(in)) < 0)
		goto fail;
	rewind(in);
	text = malloc((size_t)end + 1);
	if (!text || fread(text, 1, (size_t)end, in) != (size_t)end)
		goto fail;
	fclose(in);
	*size = (size_t)end;
	return text;
fail:
	perror(path);
	exit(1);
}

/* Paths in messages are relative to the source tree. */
static const char *short_path(const char *path)
{
	static const char *const tops[] = { "/lua/srt/", "/lua/box/",
					    "/backends/", "/policies/" };

	for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++) {
		const char *at = strstr(path, tops[i]);

		if (at)
			return at + 1;
	}
	return path;
}

static void write_entry(FILE *out, size_t index, const struct entry *e)
{
	bool text = strncmp(e->name, "text:", 5) == 0;
	size_t size;
	char *source = read_file(e->path, &size);
	char chunk[512];
	lua_State *L = luaL_newstate();

	fprintf(out, "static const unsigned char file_%zu[] = {\n", index);
	if (text) {
		write_bytes(L, source, size, out);
	} else {
		snprintf(chunk, sizeof(chunk), "@%s", short_path(e->path));
		if (luaL_loadbufferx(L, source, size, chunk, "t")) {
			fprintf(stderr, "%s\n", lua_tostring(L, -1));
			exit(1);
		}
		/* Without line numbers, which cost start-up time and memory;
		 * SRT_LUA_PATH brings them back. */
		lua_dump(L, write_bytes, out, 1);
	}
	fprintf(out, "0};\n");
	lua_close(L);
	free(source);
}

int main(int argc, char **argv)
{
	size_t count = argc < 2 ? 0 : (size_t)argc - 2;
	struct entry *entries = calloc(count + 1, sizeof(*entries));
	FILE *out = argc < 2 ? NULL : fopen(argv[1], "w");

	if (!out || !entries) {
		fprintf(stderr, "usage: embed OUT NAME=PATH ...\n");
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		char *equals = strchr(argv[i + 2], '=');

		if (!equals)
			return 1;
		*equals = '\0';
		entries[i] = (struct entry){ argv[i + 2], equals + 1 };
	}
	qsort(entries, count, sizeof(*entries), by_name);
	fprintf(out, "#include \"lua/embedded.h\"\n");
	for (size_t i = 0; i < count; i++)
		write_entry(out, i, &entries[i]);
	fprintf(out, "const struct embedded embedded_files[] = {\n");
	for (size_t i = 0; i < count; i++)
		fprintf(out,
			"{ \"%s\", \"%s\", file_%zu, sizeof(file_%zu) - 1 },\n",
			entries[i].name, short_path(entries[i].path), i, i);
	fprintf(out, "{ 0, 0, 0, 0 } };\nconst size_t embedded_count = %zu;\n",
		count);
	free(entries);
	return fclose(out) ? 1 : 0;
}
