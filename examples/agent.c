/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs commands for somebody it does not trust, a model say:
 *
 *	cc agent.c $(pkg-config --cflags --libs srtlua) -o agent
 *	./agent 'echo hello >note; cat note' 'curl https://example.com'
 */
#include <srtlua.h>
#include <stdio.h>

static const char policy[] =
	"return {\n"
	"  filesystem = { allowWrite = { '.' }, denyRead = { '~/.ssh' } },\n"
	"  network = { allowedDomains = { 'deb.debian.org' } },\n"
	"}\n";

/* What the policy does not decide is decided here. */
static int ask(void *context, const struct srtlua_question *question,
	       char *reason, size_t size)
{
	const char *trusted = context;

	printf("asked: %s:%u for %s\n", question->host, question->port,
	       question->id);
	for (size_t i = 0; trusted[i] == question->host[i]; i++)
		if (!trusted[i])
			return 1;
	snprintf(reason, size, "only %s is trusted here", trusted);
	return 0;
}

static int run(struct srtlua_session *session, const char *text)
{
	struct srtlua_command command = { .size = sizeof(command),
					  .shell = text };
	struct srtlua_violations *found = NULL;
	struct srtlua_error error;
	char *id = NULL;
	int status = 0;
	pid_t pid;

	if (srtlua_spawn(session, &command, NULL, &pid, &id, &error) ||
	    srtlua_wait(pid, &status, &error) ||
	    srtlua_violations(session, id, NULL, &found, &error)) {
		fprintf(stderr, "agent: %s\n", error.text);
		srtlua_free(id);
		return 1;
	}
	printf("%s: exit %d, %zu denied\n", text, status, found->count);
	for (size_t i = 0; i < found->count; i++)
		printf("  %s\n", found->list[i].line);
	srtlua_free(found);
	srtlua_free(id);
	return 0;
}

int main(int argc, char **argv)
{
	static char trusted[] = "example.org";
	struct srtlua_options options = { .size = sizeof(options),
					  .ask = ask,
					  .context = trusted };
	struct srtlua_session *session;
	struct srtlua_error error;
	int failed = 0;

	if (srtlua_open_lua(&session, policy, &options, &error)) {
		fprintf(stderr, "agent: %s\n", error.text);
		return 1;
	}
	for (int i = 1; i < argc && !failed; i++)
		failed = run(session, argv[i]);
	srtlua_close(session);
	return failed;
}
