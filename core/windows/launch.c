/* SPDX-License-Identifier: Apache-2.0 */
/* The first hop, as the user: a listener that the fence must keep the account
 * from, and the runner in a job that dies with us.
 */
#include "core/windows/launch.h"

#include <errno.h>
#include <stdio.h>

#include "core/windows/account.h"
#include "core/windows/process.h"
#include "core/windows/trust.h"
#include "core/windows/variables.h"

static struct variables environment_of(const struct win_plan *plan, int *error)
{
	struct variables out = { 0 };
	int count = 0;
	wchar_t *block = GetEnvironmentStringsW();
	char **caller;

	for (wchar_t *at = block; *at; at += wcslen(at) + 1)
		count++;
	caller = calloc((size_t)count + 1, sizeof(*caller));
	count = 0;
	for (wchar_t *at = block; caller && *at; at += wcslen(at) + 1) {
		caller[count] = narrow(at);
		count += caller[count] != NULL;
	}
	*error = caller ? variables_plan(&out, caller, plan) : -ENOMEM;
	while (count > 0)
		free(caller[--count]);
	free(caller);
	FreeEnvironmentStringsW(block);
	return out;
}

/* A listener on a port that the fence does not let through. */
static SOCKET probe_listen(struct port_range range, unsigned *port)
{
	SOCKET out = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = { .sin_family = AF_INET };
	int size = sizeof(at);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (out == INVALID_SOCKET || bind(out, (void *)&at, sizeof(at)) ||
	    listen(out, 1) || getsockname(out, (void *)&at, &size))
		return INVALID_SOCKET;
	*port = ntohs(at.sin_port);
	return *port < range.low || *port > range.high ? out : INVALID_SOCKET;
}

/* The words of the second hop; the command's are borrowed. */
static char *runner_line(const struct win_plan *plan, char **argv,
			 unsigned port, const char *fingerprint)
{
	char numbers[3][16];
	char *head[] = { "srt-win",  "--srt-win",	 "--runner",
			 "--keep",   numbers[0],	 "--restrict",
			 numbers[1], "--probe",		 numbers[2],
			 "--ca",     (char *)fingerprint };
	size_t words = 0, used = ARRAY_SIZE(head) - (fingerprint ? 0 : 2);
	owned_ptr char **all = NULL;

	snprintf(numbers[0], sizeof(numbers[0]), "%u", plan->keep_groups);
	snprintf(numbers[1], sizeof(numbers[1]), "%u", plan->restricting);
	snprintf(numbers[2], sizeof(numbers[2]), "%u", port);
	while (argv[words])
		words++;
	all = calloc(used + words + 2, sizeof(*all));
	if (!all)
		return NULL;
	memcpy(all, head, used * sizeof(*all));
	all[used] = (char *)"--";
	memcpy(all + used + 1, argv, words * sizeof(*all));
	return command_line(all);
}

static bool start_as(const struct win_plan *plan, wchar_t *password,
		     wchar_t *line, wchar_t *block, PROCESS_INFORMATION *out)
{
	owned_ptr wchar_t *who = wide(plan->account), *cwd = wide(plan->cwd);
	wchar_t ourselves[MAX_PATH];
	STARTUPINFOW start = process_start_info();

	if (!who || !cwd ||
	    !GetModuleFileNameW(NULL, ourselves, ARRAY_SIZE(ourselves)))
		return false;
	return CreateProcessWithLogonW(
		who, L".", password, LOGON_WITH_PROFILE, ourselves, line,
		CREATE_UNICODE_ENVIRONMENT | CREATE_SUSPENDED, block, cwd,
		&start, out);
}

static int start(const struct win_plan *plan, const char *words,
		 PROCESS_INFORMATION *out, struct failure *failure)
{
	int error = 0;
	struct variables variables = environment_of(plan, &error);
	owned_ptr wchar_t *block = process_block(&variables);
	owned_ptr wchar_t *line = wide(words);
	wchar_t password[PASSWORD_SIZE];

	variables_free(&variables);
	if (error || !block || !line)
		return failure_set(failure, ENOMEM, "starting the runner");
	error = account_password(plan->account, password, failure);
	if (error)
		return error;
	if (!start_as(plan, password, line, block, out))
		error = win_failed(failure, GetLastError(),
				   "nothing can be started as %s",
				   plan->account);
	SecureZeroMemory(password, sizeof(password));
	return error;
}

static int fingerprint_of(const struct win_plan *plan,
			  char out[FINGERPRINT_SIZE], struct failure *failure)
{
	return plan->ca ? trust_fingerprint(plan->ca, out, failure) : 0;
}

static int broker(const struct win_plan *plan, char **argv, unsigned port,
		  DWORD *status, struct failure *failure)
{
	char fingerprint[FINGERPRINT_SIZE];
	PROCESS_INFORMATION started;
	owned_ptr char *line = NULL;
	int error = fingerprint_of(plan, fingerprint, failure);

	if (error)
		return error;
	line = runner_line(plan, argv, port, plan->ca ? fingerprint : NULL);
	if (!line)
		return failure_set(failure, ENOMEM, "starting the runner");
	error = start(plan, line, &started, failure);
	return error ? error : process_run(&started, status, failure);
}

int launch_broker(const struct win_plan *plan, char **argv, DWORD *status,
		  struct failure *failure)
{
	WSADATA sockets;
	unsigned port = 0;
	SOCKET probe;
	int error;

	*status = EXIT_OURS;
	if (WSAStartup(MAKEWORD(2, 2), &sockets))
		return failure_set(failure, 0, "there are no sockets");
	probe = probe_listen(plan->range, &port);
	error = probe == INVALID_SOCKET
			? failure_set(failure, 0, "no port to try the fence on")
			: broker(plan, argv, port, status, failure);
	if (probe != INVALID_SOCKET)
		closesocket(probe);
	WSACleanup();
	return error;
}
