/* SPDX-License-Identifier: Apache-2.0 */
/* The second hop, as the account: what must be there is tried, not asked for,
 * since whoever asks needs rights that neither user has.
 */
#include <errno.h>

#include "core/windows/launch.h"
#include "core/windows/process.h"
#include "core/windows/trust.h"

#include <sddl.h>
#include <userenv.h>

enum { GROUPS_MOST = 32, RESTRICTING_MOST = 3, PROBE_SECONDS = 3 };

/* Groups of a token that are not kept are for denying only from then on. */
struct groups {
	TOKEN_GROUPS *list; /* owned */
	SID_AND_ATTRIBUTES drop[GROUPS_MOST];
	DWORD dropped;
	SID *logon; /* borrowed from @list */
};

static void *token_information(HANDLE token, TOKEN_INFORMATION_CLASS what)
{
	DWORD size = 0;
	void *out;

	GetTokenInformation(token, what, NULL, 0, &size);
	out = calloc(1, size ? size : 1);
	if (out && GetTokenInformation(token, what, out, size, &size))
		return out;
	free(out);
	return NULL;
}

static bool is_kept(const SID_AND_ATTRIBUTES *group, unsigned keep)
{
	if (group->Attributes & SE_GROUP_INTEGRITY)
		return true;
	if ((group->Attributes & SE_GROUP_LOGON_ID) == SE_GROUP_LOGON_ID)
		return keep & GROUP_LOGON;
	if (IsWellKnownSid(group->Sid, WinWorldSid))
		return keep & GROUP_EVERYONE;
	return IsWellKnownSid(group->Sid, WinBuiltinUsersSid) &&
	       keep & GROUP_USERS;
}

static bool read_groups(HANDLE token, unsigned keep, struct groups *out)
{
	*out = (struct groups){ .list = token_information(token, TokenGroups) };
	if (!out->list)
		return false;
	for (DWORD i = 0; i < out->list->GroupCount; i++) {
		SID_AND_ATTRIBUTES *group = &out->list->Groups[i];

		if ((group->Attributes & SE_GROUP_LOGON_ID) ==
		    SE_GROUP_LOGON_ID)
			out->logon = group->Sid;
		if (is_kept(group, keep))
			continue;
		/* One that is left out would be one too many. */
		if (out->dropped == GROUPS_MOST)
			return false;
		out->drop[out->dropped++].Sid = group->Sid;
	}
	return true;
}

static bool restricted(HANDLE token, const struct win_options *options,
		       const struct groups *groups, TOKEN_USER *user,
		       HANDLE *out)
{
	BYTE world[SECURITY_MAX_SID_SIZE];
	DWORD size = sizeof(world), count = 0;
	SID_AND_ATTRIBUTES restricting[RESTRICTING_MOST] = { 0 };

	if (!CreateWellKnownSid(WinWorldSid, NULL, world, &size))
		return false;
	if (options->restricting & GROUP_ACCOUNT)
		restricting[count++].Sid = user->User.Sid;
	if (options->restricting & GROUP_EVERYONE)
		restricting[count++].Sid = world;
	if (options->restricting & GROUP_LOGON && groups->logon)
		restricting[count++].Sid = groups->logon;
	/* Without any of these nothing would be restricted. */
	return count && CreateRestrictedToken(
				token, DISABLE_MAX_PRIVILEGE | WRITE_RESTRICTED,
				groups->dropped, (void *)groups->drop, 0, NULL,
				count, restricting, out);
}

static bool make_token(const struct win_options *options, HANDLE *out)
{
	owned_handle HANDLE token = NULL;
	owned_ptr TOKEN_USER *user = NULL;
	struct groups groups;
	bool done;

	if (!OpenProcessToken(GetCurrentProcess(),
			      TOKEN_QUERY | TOKEN_DUPLICATE |
				      TOKEN_ASSIGN_PRIMARY,
			      &token))
		return false;
	user = token_information(token, TokenUser);
	done = user && read_groups(token, options->keep_groups, &groups) &&
	       restricted(token, options, &groups, user, out);
	free(groups.list);
	return done;
}

/* Nobody answers behind the fence: it refuses at once. */
static bool reaches(unsigned port)
{
	SOCKET to = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((u_short)port) };
	struct timeval wait = { .tv_sec = PROBE_SECONDS };
	u_long at_once = 1;
	fd_set ready;
	bool out;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (to == INVALID_SOCKET || ioctlsocket(to, FIONBIO, &at_once))
		return true;
	FD_ZERO(&ready);
	FD_SET(to, &ready);
	out = connect(to, (void *)&at, sizeof(at)) == 0 ||
	      (WSAGetLastError() == WSAEWOULDBLOCK &&
	       select(0, NULL, &ready, NULL, &wait) == 1);
	closesocket(to);
	return out;
}

static int checks(const struct win_options *options, struct failure *failure)
{
	WSADATA sockets;
	bool open =
		WSAStartup(MAKEWORD(2, 2), &sockets) || reaches(options->probe);

	if (open)
		return failure_set(failure, 0,
				   "the fence is not there: the account "
				   "reaches a port outside of its range; run "
				   "srt-win windows-install, elevated");
	if (options->ca && !trust_has(options->ca))
		return failure_set(failure, 0,
				   "the account does not trust the CA of the "
				   "plan, SHA-256 %s; run srt-win trust-ca, "
				   "elevated",
				   options->ca);
	return 0;
}

/* The account's own environment, and over it what the first hop handed us. */
static int put_block(struct variables *out, wchar_t *block)
{
	int error = 0;

	for (wchar_t *at = block; at && !error && *at; at += wcslen(at) + 1) {
		owned_ptr char *text = narrow(at);

		error = text ? variables_put(out, text) : 0;
	}
	return error;
}

static wchar_t *environment(HANDLE token)
{
	struct variables variables = { 0 };
	void *own = NULL;
	wchar_t *given = GetEnvironmentStringsW(), *out = NULL;

	if (CreateEnvironmentBlock(&own, token, FALSE) &&
	    put_block(&variables, own) == 0 &&
	    put_block(&variables, given) == 0)
		out = process_block(&variables);
	variables_free(&variables);
	FreeEnvironmentStringsW(given);
	if (own)
		DestroyEnvironmentBlock(own);
	return out;
}

static int start(const struct win_options *options, HANDLE token,
		 PROCESS_INFORMATION *out, DWORD *status,
		 struct failure *failure)
{
	owned_ptr char *words = command_line(options->argv);
	owned_ptr wchar_t *line = words ? wide(words) : NULL;
	owned_ptr wchar_t *block = environment(token);
	STARTUPINFOW info = process_start_info();
	DWORD code;

	if (!line || !block)
		return failure_set(failure, ENOMEM, "starting the command");
	if (CreateProcessAsUserW(token, NULL, line, NULL, NULL, TRUE,
				 CREATE_UNICODE_ENVIRONMENT | CREATE_SUSPENDED,
				 block, NULL, &info, out))
		return 0;
	code = GetLastError();
	*status = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND
			  ? EXIT_NOT_FOUND
			  : EXIT_NOT_EXECUTABLE;
	return win_failed(failure, code, "%s", options->argv[0]);
}

int launch_runner(const struct win_options *options, DWORD *status,
		  struct failure *failure)
{
	owned_handle HANDLE token = NULL;
	PROCESS_INFORMATION started;
	int error = checks(options, failure);

	*status = EXIT_OURS;
	if (error)
		return error;
	if (!make_token(options, &token))
		return win_failed(failure, GetLastError(),
				  "no token with less can be made");
	error = start(options, token, &started, status, failure);
	return error ? error : process_run(&started, status, failure);
}
